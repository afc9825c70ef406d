import type { ObjectId } from '../git/object-id.ts';
import type { Repository } from '../git/repository.ts';
import type { ContextStep } from './agent-context.ts';
import { readChain } from './chain.ts';
import { readCarriedCompaction, readWaitingCompaction } from './compaction.ts';
import { statusOf } from './meta-status.ts';
import { readTextAt } from './thread-commit.ts';
import type { ThreadId } from './thread-id.ts';
import type { StepEntry, ThreadState } from './thread-state.ts';

/** What an agent can be told of a thread's steps: those since it was last compacted, and what stands for the others. */
export type ContextHistory = {
  /** Absent where the thread was never compacted. */
  compact?: {
    /** What stands for the first `steps` steps. */
    summary: string;
    steps: number;
  };
  /** Oldest first. */
  steps: ContextStep[];
};

/** Cuts the history out of a thread that has been read. */
export async function historyOf(repository: Repository, state: ThreadState): Promise<ContextHistory> {
  const { steps } = state;
  const waiting = await readWaitingCompaction(repository, state.id, steps.at(-1)?.commit.hash);
  if (waiting !== undefined) return { compact: { summary: waiting, steps: steps.length }, steps: [] };
  const from = steps.findLastIndex(({ commit }) => commit.node.compact !== null);
  const carrier = steps[from]?.commit;
  const summary = carrier && (await readCarriedCompaction(repository, carrier));
  return {
    ...(summary !== undefined && { compact: { summary, steps: from } }),
    steps: steps.slice(Math.max(from, 0)).map(toContextStep),
  };
}

/** Reads the history from a thread's head back to where it was last compacted, and nothing behind that. */
export async function readHistory(repository: Repository, thread: ThreadId, head: ObjectId): Promise<ContextHistory> {
  const steps: ContextStep[] = [];
  for await (const commit of readChain(repository, head)) {
    if (commit.kind !== 'step') continue;
    const { number } = commit.node;
    if (steps.length === 0) {
      const waiting = await readWaitingCompaction(repository, thread, commit.hash);
      if (waiting !== undefined) return { compact: { summary: waiting, steps: number }, steps };
    }
    steps.unshift(toContextStep({ commit, text: await readTextAt(repository, commit, 'output.md') }));
    const summary = await readCarriedCompaction(repository, commit);
    if (summary !== undefined) return { compact: { summary, steps: number - 1 }, steps };
  }
  return { steps };
}

/** A step as an agent is told of it: what it reported beside its status (hashes, for instance), then what it said. */
export function toContextStep({ commit: { node }, text }: StepEntry): ContextStep {
  const { $status: _status, ...reported } = node.meta;
  const report = Object.keys(reported).length === 0 ? '' : `Reported: ${JSON.stringify(reported)}\n\n`;
  return { number: node.number, role: node.role, status: statusOf(node.meta), text: report + text };
}
