import type { Repository } from '../../git/repository.ts';
import type { ContextHistory, ContextStep } from './agent-context.ts';
import { readChain } from '../read/read-chain.ts';
import { readCarriedCompaction, readWaitingCompaction } from './compaction.ts';
import { readExchange, type ExchangeCommit } from './exchange.ts';
import { readTextAt, statusOf, type ThreadCommit } from '../format/thread-commit.ts';
import type { CommitOf, StepEntry, ThreadState } from '../read/thread-state.ts';

/** For whom the history is read. */
export type ContextListener = {
  role: string;
  /** The commit that a session of the role's agent saw last. */
  seen: string | undefined;
};

/** What a history is made from. */
type HistorySource = {
  /** The newest first, back to the start; as many are taken as the listener needs. */
  commits: Iterable<ThreadCommit> | AsyncIterable<ThreadCommit>;
  textOf: (step: CommitOf<'step'>) => string | Promise<string>;
};

type Place = Pick<ThreadState, 'id' | 'start'>;

/** The history of a thread that has been read; without a listener, without the exchange with people. */
export async function historyOf(
  repository: Repository,
  { id, start, chain, steps }: ThreadState,
  listener?: ContextListener,
): Promise<ContextHistory> {
  const textOf = ({ node }: CommitOf<'step'>): string => steps[node.number - 1]?.text ?? '';
  return gatherHistory(repository, { id, start }, { commits: chain.toReversed(), textOf }, listener);
}

/** Reads the history from a thread's head back, as far as the listener needs it. */
export async function readHistory(
  repository: Repository,
  place: Pick<ThreadState, 'id' | 'start' | 'head'>,
  listener: ContextListener,
): Promise<ContextHistory> {
  const textOf = (step: CommitOf<'step'>): Promise<string> => readTextAt(repository, step, 'output.md');
  return gatherHistory(repository, place, { commits: readChain(repository, place.head.id), textOf }, listener);
}

async function gatherHistory(
  repository: Repository,
  place: Place,
  source: HistorySource,
  listener: ContextListener | undefined,
): Promise<ContextHistory> {
  const { commits, compact } = await collect(repository, place, source, listener);
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
        const text = source.textOf(commit);
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

/** Takes the commits that the listener needs, oldest first, and finds the summary of the others. */
async function collect(
  repository: Repository,
  { id, start }: Place,
  source: HistorySource,
  listener: ContextListener | undefined,
): Promise<{ commits: ThreadCommit[]; compact: ContextHistory['compact'] }> {
  const commits: ThreadCommit[] = [];
  let compact: ContextHistory['compact'];
  let isNewest = true;
  let isSeenMet = listener?.seen === undefined;
  let isOwnStepMet = listener === undefined;
  // A thread that was resumed after its end has another id than its start.
  const mayBeReopened = id !== start.node.id;
  for await (const commit of source.commits) {
    commits.push(commit);
    isSeenMet ||= commit.id === listener?.seen;
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
    isOwnStepMet ||= role === listener?.role;
    if (compact !== undefined && isOwnStepMet && isSeenMet && !mayBeReopened) break;
  }
  return { commits: commits.toReversed(), compact };
}

/** A step in a prompt: what it reported beside its status (hashes, for instance), then its text. */
export function toContextStep({ commit: { node }, text }: StepEntry): ContextStep {
  const { $status: _status, ...reported } = node.meta;
  const report = Object.keys(reported).length === 0 ? '' : `Reported: ${JSON.stringify(reported)}\n\n`;
  return { number: node.number, role: node.role, status: statusOf(node.meta), text: report + text };
}
