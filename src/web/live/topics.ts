import { createHash, randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { describeThread } from '../../engine/describe/describe.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import { findRunning } from '../../engine/leases/find-lease.ts';
import { CLOCK_STEP_MS, refTimes } from '../../git/stores/disk/read-refs.ts';
import type { Repository } from '../../git/repository.ts';
import { orElse } from '../../or-else.ts';
import { ACTIVE_PREFIX, HISTORY_PREFIX, isThreadId } from '../../thread/thread-id.ts';

/** Tells whether a text is a topic that {@link stateOf} knows. */
export function isTopic(text: string): boolean {
  const threads = text.split('..');
  return text === 'threads' || (threads.length <= 2 && threads.every(isThreadId));
}

/** A state in which nothing is: it differs from every other. */
const GONE = 'gone';

/**
 * The state of what a page shows, as a short text. Two equal states mean that the page would be the same.
 *
 * The server keeps no history of changes: a browser says which state it shows, and is told when that is another.
 * @param topic `threads` for lists; the id of a thread; for two threads beside each other `<thread>..<thread>`
 */
export async function stateOf(engine: EngineContext, topic: string): Promise<string> {
  try {
    if (topic === 'threads') return await stateOfRefs(engine.repository);
    const [one = '', other] = topic.split('..');
    if (other !== undefined) return `${await stateOf(engine, one)}-${await stateOf(engine, other)}`;
    return stateOfText(JSON.stringify(await describeThread(engine, topic)));
  } catch {
    return GONE;
  }
}

async function stateOfRefs(repository: Repository): Promise<string> {
  const running = findRunning(repository).join(' ');
  return stateOfText(`${(await settledTimes(repository)) ?? randomBytes(8).toString('hex')} ${running}`);
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

/** A state of a text: equal texts have equal ones. */
export function stateOfText(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 20);
}
