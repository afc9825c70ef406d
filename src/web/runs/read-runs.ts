import { findFacts, type ThreadFacts } from '../../engine/describe/facts.ts';
import { eachThread, type ListOptions, type ThreadSummary } from '../../engine/describe/list-threads.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import { threadStatuses } from '../../thread/read/thread-status.ts';

/** A thread with what it used; `facts` is absent where it cannot be read, or was not read yet. */
export type Run = { summary: ThreadSummary; facts: ThreadFacts | undefined };

/** The newest threads of a kind. */
export type Runs = {
  runs: Run[];
  /** Whether there are older ones. */
  hasOlder: boolean;
  /** How many of them have no facts. */
  unread: number;
};

/** So many threads are summed up. */
export const MAX_RUNS = 1_000;
/** Of so many threads the chains are read at a visit; what is read is remembered for the next one. */
const MAX_GATHERED = 100;

/** Reads the newest threads of a kind with what they used, from what this machine remembers of them where it can. */
export async function readRuns(engine: EngineContext, wanted: ListOptions): Promise<Runs> {
  const runs: Run[] = [];
  let [gathered, hasOlder] = [0, false];
  for await (const summary of eachThread(engine, { ...wanted, statuses: threadStatuses })) {
    if (runs.length === MAX_RUNS) {
      hasOlder = true;
      break;
    }
    const { thread: id, head } = summary;
    let facts = head === null ? undefined : findFacts(engine.repository, id, head);
    if (facts === undefined && head !== null && gathered < MAX_GATHERED) {
      gathered += 1;
      const { gatherFacts } = await import('../../engine/describe/gather-facts.ts');
      // What cannot be read is listed as such.
      facts = await gatherFacts(engine, { id, head }).catch(() => undefined);
    }
    runs.push({ summary, facts });
  }
  return { runs, hasOlder, unread: runs.filter(({ facts }) => facts === undefined).length };
}
