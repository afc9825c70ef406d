import type { Repository } from '../git/repository.ts';
import type { ContextStep } from './agent-context.ts';
import { readChain } from './chain.ts';
import { readCarriedCompaction, readWaitingCompaction } from './compaction.ts';
import { readExchange, type ExchangeCommit, type Exchanged } from './exchange.ts';
import { statusOf } from './meta-status.ts';
import { readTextAt, type ThreadCommit } from './thread-commit.ts';
import type { CommitOf, StepEntry, ThreadState } from './thread-state.ts';

/** What an agent can be told of a thread: its steps since it was last compacted, and what passed with people. */
export type ContextHistory = {
  /** Absent where the thread was never compacted. */
  compact?: {
    /** What stands for the first `steps` steps. */
    summary: string;
    steps: number;
  };
  /** Oldest first. */
  steps: ContextStep[];
  /** What passed between the role and people since its last step, oldest first. */
  exchange: readonly Exchanged[];
  /** What people said when they took the thread up again after it had ended, oldest first. */
  reopenings: readonly Exchanged[];
  /** What the session has seen; absent where there is none, or what it saw is not on this thread's chain. */
  seen?: SeenPart;
};

/** How far a session has followed a thread: the thread's first steps, and the first parts of the role's exchange. */
export type SeenPart = { steps: number; exchange: number };

/** Who is to be told. */
export type ContextListener = {
  role: string;
  /** The commit that a session of the role's agent saw last. */
  seen: string | undefined;
};

/** What a history is told from. */
type HistorySource = {
  /** Oldest first, beginning with the start or a step; none is missing up to the head. */
  commits: readonly ThreadCommit[];
  compact: ContextHistory['compact'];
  textOf: (step: CommitOf<'step'>) => string | Promise<string>;
};

/** Cuts the history out of a thread that has been read; without a listener, nothing that passed with people. */
export async function historyOf(
  repository: Repository,
  { id, chain, steps }: ThreadState,
  listener?: ContextListener,
): Promise<ContextHistory> {
  const compact = await findCompaction(repository, { id, steps });
  const textOf = ({ node }: CommitOf<'step'>): string => steps[node.number - 1]?.text ?? '';
  return gatherHistory(repository, { commits: chain, compact, textOf }, listener);
}

async function findCompaction(
  repository: Repository,
  { id, steps }: Pick<ThreadState, 'id' | 'steps'>,
): Promise<ContextHistory['compact']> {
  const waiting = await readWaitingCompaction(repository, id, steps.at(-1)?.commit.hash);
  if (waiting !== undefined) return { summary: waiting, steps: steps.length };
  const carrier = steps.findLast(({ commit }) => commit.node.compact !== null)?.commit;
  const summary = carrier && (await readCarriedCompaction(repository, carrier));
  return carrier && summary !== undefined ? { summary, steps: carrier.node.number - 1 } : undefined;
}

/** Reads the history from a thread's head back as far as the listener has to be told of it, and nothing behind that. */
export async function readHistory(
  repository: Repository,
  place: Pick<ThreadState, 'id' | 'start' | 'head'>,
  listener: ContextListener,
): Promise<ContextHistory> {
  const textOf = (step: CommitOf<'step'>): Promise<string> => readTextAt(repository, step, 'output.md');
  return gatherHistory(repository, { ...(await collect(repository, place, listener)), textOf }, listener);
}

async function gatherHistory(
  repository: Repository,
  { commits, compact, textOf }: HistorySource,
  listener: ContextListener | undefined,
): Promise<ContextHistory> {
  const steps: ContextStep[] = [];
  const reopenings: ExchangeCommit[] = [];
  let exchange: (ExchangeCommit & { isSeen: boolean })[] = [];
  let after = 0;
  let stepsSeen: number | undefined;
  for (const [i, commit] of commits.entries()) {
    if (commit.kind === 'step') {
      after = commit.node.number;
      if (commit.node.role === listener?.role) exchange = [];
      if (after > (compact?.steps ?? 0)) {
        const text = textOf(commit);
        // Waiting for each of thousands of texts that are here would take longer than telling them.
        steps.push(toContextStep({ commit, text: typeof text === 'string' ? text : await text }));
      }
    } else if (listener && (commit.kind === 'suspend' || commit.kind === 'resume')) {
      const suspension = commit.kind === 'suspend' ? commit : commits[i - 1];
      if (suspension?.kind !== 'suspend') reopenings.push({ commit, after });
      else if (suspension.node.role === listener.role) exchange.push({ commit, after, isSeen: false });
    }
    if (commit.id !== listener?.seen) continue;
    stepsSeen = after;
    for (const part of exchange) part.isSeen = true;
  }
  const exchangeSeen = exchange.filter(({ isSeen }) => isSeen).length;
  return {
    ...(compact && { compact }),
    steps,
    exchange: await readExchange(repository, exchange),
    reopenings: await readExchange(repository, reopenings),
    ...(stepsSeen !== undefined && { seen: { steps: stepsSeen, exchange: exchangeSeen } }),
  };
}

/** Reads the commits that have to be looked at, and what stands for others. */
async function collect(
  repository: Repository,
  { id, start, head }: Pick<ThreadState, 'id' | 'start' | 'head'>,
  listener: ContextListener,
): Promise<Pick<HistorySource, 'commits' | 'compact'>> {
  const commits: ThreadCommit[] = [];
  let compact: ContextHistory['compact'];
  let isNewest = true;
  let isSeenMet = listener.seen === undefined;
  let isOwnStepMet = false;
  // Only under an id of its own a thread goes on after its end.
  const mayBeReopened = id !== start.node.id;
  for await (const commit of readChain(repository, head.id)) {
    commits.push(commit);
    isSeenMet ||= commit.id === listener.seen;
    if (commit.kind !== 'step') continue;
    const { number, role } = commit.node;
    if (isNewest) {
      const waiting = await readWaitingCompaction(repository, id, commit.hash);
      if (waiting !== undefined) compact = { summary: waiting, steps: number };
    }
    isNewest = false;
    if (compact === undefined) {
      const summary = await readCarriedCompaction(repository, commit);
      if (summary !== undefined) compact = { summary, steps: number - 1 };
    }
    isOwnStepMet ||= role === listener.role;
    if (compact !== undefined && isOwnStepMet && isSeenMet && !mayBeReopened) break;
  }
  return { commits: commits.toReversed(), compact };
}

/** A step as an agent is told of it: what it reported beside its status (hashes, for instance), then what it said. */
export function toContextStep({ commit: { node }, text }: StepEntry): ContextStep {
  const { $status: _status, ...reported } = node.meta;
  const report = Object.keys(reported).length === 0 ? '' : `Reported: ${JSON.stringify(reported)}\n\n`;
  return { number: node.number, role: node.role, status: statusOf(node.meta), text: report + text };
}
