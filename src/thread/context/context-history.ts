import type { Repository } from '../../git/repository.ts';
import { readTextAt, readThreadCommit, statusOf } from '../format/thread-commit.ts';
import { readChain } from '../read/read-chain.ts';
import { replyOf } from '../read/reply-of.ts';
import { NO_TURN, type RoleTally } from '../read/tally.ts';
import type { CommitOf, StepEntry, ThreadState } from '../read/thread-state.ts';
import { CorruptThread } from '../thread-errors.ts';
import { MAX_FOR_PERSON, MAX_PROGRESS_LINES, type ContextHistory, type ContextStep } from './agent-context.ts';
import { readCarriedCompaction, readWaitingCompaction } from './compaction.ts';
import { readExchange, type ExchangeCommit } from './exchange.ts';

/** For whom the history is read. */
export type ContextListener = {
  role: string;
  /** The commit that a session of the role's agent saw last. */
  seen: string | undefined;
  /** How many characters of replies the listener can be told. */
  maxCharacters: number;
};

/** The part of a thread's state that its history is read from. */
export type HistoryPlace = Pick<ThreadState, 'id' | 'head' | 'start' | 'last' | 'tally'>;

/** A partial clone fetches the texts of so many steps in one connection. */
const STEPS_AT_ONCE = 16;

/**
 * Reads what a listener is told of a thread: the newest steps, as far as there is room to tell them, and what passed between
 * the listener and people since its last step. What it costs does not depend on how long the thread is.
 */
export async function readHistory(
  repository: Repository,
  place: HistoryPlace,
  { role, seen, maxCharacters }: ContextListener,
): Promise<ContextHistory> {
  const { head, tally } = place;
  const own = tally.roles.get(role) ?? NO_TURN;
  const exchange = await findExchange(repository, place, role, own);
  // A person is told less, but not in fewer characters than an agent has room for.
  const told = await readStepsToTell(repository, place, Math.max(maxCharacters, MAX_FOR_PERSON));
  const passed = exchange.findIndex(({ commit }) => commit.id === seen);
  const seenSteps =
    seen === head.id ? tally.steps : (exchange[passed]?.after ?? told.places.get(seen ?? '') ?? placeOf(own, seen));
  const seenParts = seen === head.id ? exchange.length : passed + 1;
  return {
    total: tally.steps,
    own: { visits: own.visits, last: own.last?.number ?? 0 },
    ...(told.compact && { compact: told.compact }),
    steps: told.steps,
    exchange: await readExchange(repository, exchange),
    reopenings: await readExchange(repository, await readReopenings(repository, place)),
    ...(seenSteps !== undefined && { seen: { steps: seenSteps, exchange: seenParts } }),
  };
}

function placeOf({ last }: RoleTally, seen: string | undefined): number | undefined {
  return last !== null && last.commit === seen ? last.number : undefined;
}

/** Steps for a prompt, and the compaction that stands for those before them. */
export type StepsToTell = Pick<ContextHistory, 'steps' | 'compact'> & {
  /** The numbers of the steps that were passed, by their commits. */
  places: ReadonlyMap<string, number>;
};

/**
 * Reads the newest steps since the last compaction: as many as have more than `maxCharacters` together, and some more without
 * their texts, for the list of steps.
 */
export async function readStepsToTell(
  repository: Repository,
  place: HistoryPlace,
  maxCharacters: number = Infinity,
): Promise<StepsToTell> {
  const compact = await readCompaction(repository, place);
  const before = compact?.steps ?? 0;
  const places = new Map<string, number>();
  const steps: ContextStep[] = [];
  let room = maxCharacters;
  let untold: CommitOf<'step'>[] = [];
  const tell = async (): Promise<void> => {
    if (room >= 0) await repository.objects.prefetch?.(untold.flatMap(replyOf));
    for (const commit of untold) {
      const text = room < 0 ? '' : await readTextAt(repository, commit, 'output.md');
      const step = toContextStep({ commit, text });
      if (room >= 0) room -= step.text.trim().length;
      steps.push(step);
    }
    untold = [];
  };
  if (place.tally.steps > before) {
    for await (const commit of readChain(repository, (place.last ?? place.start).id)) {
      if (commit.kind !== 'step') continue;
      const { number } = commit.node;
      places.set(commit.id, number);
      untold.push(commit);
      if (untold.length >= STEPS_AT_ONCE || number - 1 <= before) await tell();
      if (number - 1 <= before || (room < 0 && steps.length >= MAX_PROGRESS_LINES)) break;
    }
  }
  return { steps: steps.toReversed(), ...(compact && { compact }), places };
}

/** Reads the summary that stands for the oldest steps: one that waits for the next step, or the one of the newest step that has one. */
async function readCompaction(
  repository: Repository,
  { id, last, tally }: HistoryPlace,
): Promise<ContextHistory['compact']> {
  const waiting = await readWaitingCompaction(repository, id, last?.hash);
  if (waiting !== undefined) return { summary: waiting, steps: tally.steps };
  if (tally.compacted === null) return undefined;
  const step = await readThreadCommit(repository, tally.compacted.commit);
  const summary = step.kind === 'step' ? await readCarriedCompaction(repository, step) : undefined;
  if (summary === undefined) throw new CorruptThread(step.id, 'it has no summary');
  return { summary, steps: tally.compacted.number - 1 };
}

/** Finds the turns of a role that were suspended since its last step, and their resumptions, oldest first. */
async function findExchange(
  repository: Repository,
  { head }: HistoryPlace,
  role: string,
  { waits }: RoleTally,
): Promise<ExchangeCommit[]> {
  if (waits === 0) return [];
  const found: ExchangeCommit[] = [];
  let left = waits;
  let resumption: CommitOf<'resume'> | undefined;
  const pending: ExchangeCommit['commit'][] = [];
  for await (const commit of readChain(repository, head.id)) {
    if (commit.kind === 'suspend' && commit.node.role === role && left > 0) {
      left -= 1;
      if (resumption !== undefined) pending.push(resumption);
      pending.push(commit);
    }
    resumption = commit.kind === 'resume' ? commit : undefined;
    if (commit.kind === 'step' || commit.kind === 'start') {
      const after = commit.kind === 'step' ? commit.node.number : 0;
      for (const part of pending.splice(0)) found.push({ commit: part, after });
      if (left === 0) break;
    }
  }
  return found.toReversed();
}

/** Reads the commits with which people took the thread up again after an end. */
async function readReopenings(repository: Repository, { tally }: HistoryPlace): Promise<ExchangeCommit[]> {
  const found: ExchangeCommit[] = [];
  for (const { commit: id, number } of tally.reopenings) {
    const commit = await readThreadCommit(repository, id);
    if (commit.kind === 'resume') found.push({ commit, after: number });
  }
  return found;
}

/** A step in a prompt: what it reported beside its status (hashes, for instance), then its text. */
export function toContextStep({ commit: { node }, text }: StepEntry): ContextStep {
  const { $status: _status, ...reported } = node.meta;
  const report = Object.keys(reported).length === 0 ? '' : `Reported: ${JSON.stringify(reported)}\n\n`;
  return { number: node.number, role: node.role, status: statusOf(node.meta), text: report + text };
}
