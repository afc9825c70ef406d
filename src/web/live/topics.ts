import { createHash, randomBytes } from 'node:crypto';
import { describeThread } from '../../engine/describe/describe.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import { findRunning } from '../../engine/leases/find-lease.ts';
import { refTimes } from '../../git/stores/ref-changes.ts';
import type { Repository } from '../../git/repository.ts';
import { ACTIVE_PREFIX, HISTORY_PREFIX } from '../../thread/thread-refs.ts';

/** A state in which nothing is: it differs from every other. */
const GONE = 'gone';

/**
 * The state of what a page shows, as a short text. Two equal states mean that the page would be the same.
 *
 * The server keeps no history of changes: a browser says which state it shows, and is told when that is another.
 * @param topic `threads` for lists; the id of a thread
 */
export async function stateOf(engine: EngineContext, topic: string): Promise<string> {
  if (topic === 'threads') return stateOfRefs(engine.repository);
  try {
    return digest(JSON.stringify(await describeThread(engine, topic)));
  } catch {
    return GONE;
  }
}

function stateOfRefs(repository: Repository): string {
  const { location } = repository;
  const running = findRunning(repository).join(' ');
  // Without a disk there are no times to compare: every look is a change.
  const times = location && refTimes(location.commonDir, [ACTIVE_PREFIX, HISTORY_PREFIX]);
  return digest(`${times ?? randomBytes(8).toString('hex')} ${running}`);
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 20);
}
