import { usageOf, type ThreadUsage } from '../../engine/describe/facts.ts';
import { eachThread, type ListOptions, type ThreadSummary } from '../../engine/describe/list-threads.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import type { NodeHash } from '../../cas/hash.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import { readPlace } from '../../thread/thread-state.ts';
import { threadStatuses } from '../../thread/thread-status.ts';

/** What a thread runs, and what it used. */
export type RunFacts = ThreadUsage & { workflow: string; workflowHash: NodeHash; startCommit: ObjectId };

/** A thread with what it used; `facts` is absent where it cannot be read. */
export type Run = { summary: ThreadSummary; facts: RunFacts | undefined };

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

/** Reads the newest threads of a kind with what they used, which their heads tell. */
export async function readRuns(engine: EngineContext, wanted: ListOptions): Promise<Runs> {
  const runs: Run[] = [];
  let hasOlder = false;
  for await (const summary of eachThread(engine, { ...wanted, statuses: threadStatuses })) {
    if (runs.length === MAX_RUNS) {
      hasOlder = true;
      break;
    }
    // What cannot be read is listed as such.
    runs.push({ summary, facts: await readFacts(engine, summary).catch(() => undefined) });
  }
  return { runs, hasOlder, unread: runs.filter(({ facts }) => facts === undefined).length };
}

async function readFacts({ repository }: EngineContext, summary: ThreadSummary): Promise<RunFacts | undefined> {
  const { head, workflow } = summary;
  if (head === null) return undefined;
  const { start, tally } = await readPlace(repository, head);
  return { ...usageOf(tally), workflow, workflowHash: start.node.workflow, startCommit: start.id };
}
