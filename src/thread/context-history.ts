import type { Repository } from '../git/repository.ts';
import type { RoleTotals } from '../schema/built-in/thread-step.ts';
import { type ContextHistory, type ContextStep, isTold, MAX_FOR_PERSON, MAX_PROGRESS_LINES } from './agent-context.ts';
import { readCarriedCompaction, readWaitingCompaction } from './append-step.ts';
import { type ExchangeCommit, readExchange } from './exchange.ts';
import { toldMeta } from './step-view.ts';
import { findStepByNumber, readChain, readLightChain, readReply } from './thread-chain.ts';
import { readThreadCommit, statusOf } from './thread-commit.ts';
import { CorruptThread } from './thread-errors.ts';
import { type CommitOf, NO_TURN, stateCommit, type ThreadState } from './thread-state.ts';

/** The agent or person that the history is read for. */
type ContextListener = {
  role: string;
  /** The commit that a session of the role's agent saw last. */
  seen: string | undefined;
  /** The most characters of replies for the listener. */
  maxCharacters: number;
};

/** The part of a thread's state that its history is read from. */
type HistoryPlace = Pick<ThreadState, 'id' | 'head' | 'start' | 'last' | 'tally'>;

/**
 * Reads the history of a thread for a listener: the newest steps, as far as there is room for them, and the exchange between
 * the listener and people since its last step. The cost does not depend on the length of the thread.
 */
export async function readHistory(
  repository: Repository,
  place: HistoryPlace,
  { role, seen, maxCharacters }: ContextListener,
): Promise<ContextHistory> {
  const { head, tally } = place;
  const own = tally.roles.get(role) ?? NO_TURN;
  const exchange = await findExchange(repository, place, role, own);
  // The briefing for a person may show more characters than an agent has room for.
  const told = await readStepsToTell(repository, place, {
    maxCharacters: Math.max(maxCharacters, MAX_FOR_PERSON),
    maxSteps: MAX_TOLD,
  });
  const passed = exchange.findIndex(({ commit }) => commit.id === seen);
  const seenSteps =
    seen === head.id
      ? tally.steps
      : (exchange[passed]?.after ?? told.places.get(seen ?? '') ?? (await numberOf(repository, place, own, seen)));
  const seenParts = seen === head.id ? exchange.length : passed + 1;
  return {
    total: tally.steps,
    own: { visits: own.visits, last: own.last ?? 0 },
    ...(told.compact && { compact: told.compact }),
    steps: told.steps,
    exchange: await readExchange(repository, exchange),
    reopenings: await readExchange(repository, await readReopenings(repository, place)),
    ...(seenSteps !== undefined && { seen: { steps: seenSteps, exchange: seenParts } }),
  };
}

/** The number of a role's last step, if that is the commit that was seen. */
async function numberOf(
  repository: Repository,
  { head }: HistoryPlace,
  { last }: RoleTotals,
  seen: string | undefined,
): Promise<number | undefined> {
  if (last === null || seen === undefined) return undefined;
  return (await findStepByNumber(repository, head.id, last))?.id === seen ? last : undefined;
}

/** Steps for a prompt, and the compaction that replaces those before them. */
type StepsToTell = Pick<ContextHistory, 'steps' | 'compact'> & {
  /** The numbers of the steps that were passed, by their commits. */
  places: ReadonlyMap<string, number>;
};

/** The most steps with a text, however short they are: reading more would take longer than the rest of a step. */
const MAX_TOLD = 100;

/**
 * Reads the newest steps since the last compaction: with their texts as far as there is room, and without texts those that
 * only the list of steps names.
 */
export async function readStepsToTell(
  repository: Repository,
  place: HistoryPlace,
  { maxCharacters = Infinity, maxSteps = Infinity }: { maxCharacters?: number; maxSteps?: number } = {},
): Promise<StepsToTell> {
  const compact = await readCompaction(repository, place);
  const before = compact?.steps ?? 0;
  const told: StepsToTell['steps'][number][] = [];
  const places = new Map<string, number>();
  let room = maxCharacters;
  // One that does not fit is cut.
  const hasRoom = (): boolean => room >= 0 && told.length < maxSteps;
  if (place.tally.steps > before) {
    for await (const commit of readLightChain(repository, stateCommit(place).id)) {
      if (commit.kind !== 'step') continue;
      const { number, role, meta } = commit.node;
      const step = hasRoom()
        ? toContextStep(commit.node, await readReply(repository, commit))
        : { number, role, status: statusOf(meta) };
      if (isTold(step)) room -= step.text.trim().length;
      told.push(step);
      places.set(commit.id, number);
      if (number - 1 <= before || (!hasRoom() && told.length >= MAX_PROGRESS_LINES)) break;
    }
  }
  return { steps: told.toReversed(), ...(compact && { compact }), places };
}

/** Reads the summary of the oldest steps: one that waits for the next step, else that of the newest step that has one. */
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
  { waits }: RoleTotals,
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

/** Reads the commits with which people resumed the thread after an end. */
async function readReopenings(repository: Repository, { tally }: HistoryPlace): Promise<ExchangeCommit[]> {
  const found: ExchangeCommit[] = [];
  for (let place = tally.reopened; place !== null;) {
    const commit = await readThreadCommit(repository, place.commit);
    if (commit.kind !== 'resume') throw new CorruptThread(place.commit, 'it is no resumption');
    found.unshift({ commit, after: place.number });
    place = commit.node.totals.reopened;
  }
  return found;
}

/** A step in a prompt: the fields of its meta beside the status (hashes, for instance), then its text. */
export function toContextStep({ number, role, meta }: CommitOf<'step'>['node'], text: string): ContextStep {
  const { $status: _status, ...reported } = toldMeta(meta);
  const report = Object.keys(reported).length === 0 ? '' : `Reported: ${JSON.stringify(reported)}\n\n`;
  return { number, role, status: statusOf(meta), text: report + text };
}
