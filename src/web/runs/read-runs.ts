import type { NodeHash } from '../../cas/hash.ts';
import { type ThreadUsage, usageOf } from '../../engine/describe/facts.ts';
import { eachThread, type ListOptions, type ThreadSummary } from '../../engine/describe/list-threads.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import { addUsage, type Usage } from '../../schema/built-in/schema-parts.ts';
import { readPlace } from '../../thread/thread-state.ts';
import { threadStatuses } from '../../thread/thread-status.ts';

/** What a thread runs, and what it used. */
type RunFacts = ThreadUsage & { workflow: string; workflowHash: NodeHash; startCommit: ObjectId };

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

/** What threads used together, under one name. */
export type UsageRow = { name: string; threads: number; usage: Usage | null };

/** Adds up what threads used, by names such as days or roles. */
export class UsageSums {
  readonly #rows = new Map<string, UsageRow>();

  /** Adds a thread, or a part of it; a thread is counted once for each name that it is added to. */
  add(name: string, usage: Usage | null | undefined): void {
    const row = this.#rows.get(name) ?? { name, threads: 0, usage: null };
    this.#rows.set(name, { name, threads: row.threads + 1, usage: addUsage(row.usage, usage) });
  }

  /** What cost most first; of equal cost what used most. */
  byCost(): UsageRow[] {
    return [...this.#rows.values()].toSorted((a, b) => costOf(b) - costOf(a) || tokensOf(b) - tokensOf(a));
  }

  /** The last name first. */
  byName(): UsageRow[] {
    return [...this.#rows.values()].toSorted((a, b) => (a.name < b.name ? 1 : -1));
  }
}

/** In US dollars; 0 where it is not known. */
export function costOf({ usage }: Pick<UsageRow, 'usage'>): number {
  return usage?.costUsd ?? 0;
}

/** In and out together. */
export function tokensOf({ usage }: Pick<UsageRow, 'usage'>): number {
  return usage === null ? 0 : usage.inputTokens + usage.outputTokens;
}

/** The value that so many of a hundred are not above; `undefined` of none. */
export function percentile(values: readonly number[], percent: number): number | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(Math.ceil((percent / 100) * sorted.length) - 1, 0)];
}
