import { createHash, randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { describeThread } from '../../engine/describe/describe.ts';
import { listThreads } from '../../engine/describe/list-threads.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import { findRunning } from '../../engine/leases/find-lease.ts';
import { CLOCK_STEP_MS, refTimes } from '../../git/stores/ref-changes.ts';
import type { Repository } from '../../git/repository.ts';
import { orElse } from '../../or-else.ts';
import { ACTIVE_PREFIX, HISTORY_PREFIX } from '../../thread/thread-refs.ts';

/** A state in which nothing is: it differs from every other. */
const GONE = 'gone';

/** More threads that wait are not counted. */
const MAX_WAITING = 1_000;

/**
 * The state of what a page shows, as a short text. Two equal states mean that the page would be the same.
 *
 * The server keeps no history of changes: a browser says which state it shows, and is told when that is another.
 * @param topic `threads` for lists; the id of a thread; `waiting` for what waits for a person, whose state begins with the
 * count, such as `2.6f1d`
 */
export async function stateOf(engine: EngineContext, topic: string): Promise<string> {
  try {
    if (topic === 'threads') return await stateOfRefs(engine.repository);
    if (topic === 'waiting') return await stateOfWaiting(engine);
    return digest(JSON.stringify(await describeThread(engine, topic)));
  } catch {
    return GONE;
  }
}

async function stateOfRefs(repository: Repository): Promise<string> {
  const running = findRunning(repository).join(' ');
  return digest(`${(await settledTimes(repository)) ?? randomBytes(8).toString('hex')} ${running}`);
}

/** The times of all refs of threads; `undefined` while they change, or without a disk: then every look is a change. */
async function settledTimes({ location }: Repository): Promise<string | undefined> {
  if (location === undefined) return undefined;
  for (let tries = 0; ; tries += 1) {
    // An error: git removes a folder that became empty while it is listed.
    const times = orElse(() => refTimes(location.commonDir, [ACTIVE_PREFIX, HISTORY_PREFIX]), undefined);
    if (times !== undefined || tries === 2) return times;
    await sleep(CLOCK_STEP_MS);
  }
}

const lastWaiting = new WeakMap<EngineContext, { refs: string; waiting: Promise<string> }>();

/** Read again only when a ref or a lease has changed: words of agents change neither. */
async function stateOfWaiting(engine: EngineContext): Promise<string> {
  const refs = await stateOfRefs(engine.repository);
  const last = lastWaiting.get(engine);
  if (last?.refs === refs) return last.waiting;
  const waiting = readWaiting(engine);
  lastWaiting.set(engine, { refs, waiting });
  return waiting;
}

async function readWaiting(engine: EngineContext): Promise<string> {
  const threads = await listThreads(engine, { statuses: ['suspended'], limit: MAX_WAITING });
  return `${threads.length}.${digest(threads.map(({ thread, head }) => `${thread} ${head}`).join('\n')).slice(0, 8)}`;
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 20);
}
