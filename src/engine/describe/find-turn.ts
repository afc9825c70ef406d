import { isNodeHash } from '../../cas/hash.ts';
import { UwfError } from '../../errors.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import type { ThreadPointer } from '../../thread/find/find-thread.ts';
import { readLightChain } from '../../thread/read/light-chain.ts';
import type { CommitOf } from '../../thread/read/thread-state.ts';
import { readThreadCommit } from '../../thread/thread-commit.ts';
import { CorruptThread } from '../../thread/thread-errors.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { findStepPlaces, type StepPlaces } from './step-places.ts';

/** A thread has no turn of this number or hash, or several that begin so. */
export class TurnNotFound extends UwfError {
  constructor(message: string, hint: string) {
    super(message, { code: 'usage', kind: 'usage', hint });
  }
}

/** A turn of a thread: a step, or the suspension that a turn ended in; and the thread that has it. */
export type FoundTurn<K extends 'step' | 'suspend' = 'step' | 'suspend'> = {
  thread: ThreadPointer;
  commit: CommitOf<K>;
};

/**
 * Finds a turn of a thread by its step's number or by the first characters of its hash; the newest where neither is given.
 *
 * @throws {TurnNotFound} if the thread has no such turn, or several
 */
export async function findTurnOf(
  repository: Repository,
  pointer: ThreadPointer,
  text: string | undefined,
): Promise<FoundTurn> {
  if (text !== undefined) {
    return readTurn(repository, pointer, await getCommitOfTurn(repository, pointer, text, 'step or suspension'));
  }
  for await (const { kind, id } of readLightChain(repository, pointer.head)) {
    if (kind === 'step' || kind === 'suspend') return readTurn(repository, pointer, id);
  }
  throw new TurnNotFound(`thread ${pointer.id} has no steps yet`, `run 'uwf thread step ${pointer.id}'`);
}

/**
 * The one commit of a thread that a number or the first characters of a hash mean.
 * @throws {TurnNotFound} if there is none, or several
 */
export async function getCommitOfTurn(
  repository: Repository,
  pointer: ThreadPointer,
  text: string,
  what: string,
): Promise<ObjectId> {
  if (isStepNumber(text)) {
    const places = await findStepPlaces(repository, pointer);
    return placeOf(pointer, places, numberIn(pointer.id, places, text));
  }
  const commits = await findCommitsOfTurns(repository, pointer, text.toUpperCase());
  const [first, second] = commits;
  if (second !== undefined)
    throw new TurnNotFound(`'${text}' could be any of ${commits.length}`, 'give more characters');
  if (first !== undefined) return first;
  throw new TurnNotFound(`thread ${pointer.id} has no ${what} '${text}'`, `'uwf log ${pointer.id}' lists them`);
}

/** The steps with this prefix. If there is none: the suspensions and resumptions, for which the chain is walked. */
export async function findCommitsOfTurns(
  repository: Repository,
  pointer: ThreadPointer,
  prefix: string,
): Promise<ObjectId[]> {
  if (prefix === '') return [];
  const places = await findStepPlaces(repository, pointer);
  const steps = places.findByPrefix(prefix).map((number) => placeOf(pointer, places, number));
  if (steps.length > 0) return steps;
  const pauses: ObjectId[] = [];
  for await (const { kind, hash, id } of readLightChain(repository, pointer.head)) {
    if ((kind !== 'suspend' && kind !== 'resume') || !hash.startsWith(prefix)) continue;
    pauses.push(id);
    // Only a prefix can match several.
    if (isNodeHash(prefix)) break;
  }
  return pauses;
}

/** Reads the turn that a commit records. @throws {TurnNotFound} if it records none */
export async function readTurn(repository: Repository, thread: ThreadPointer, id: ObjectId): Promise<FoundTurn> {
  const commit = await readThreadCommit(repository, id);
  if (commit.kind === 'step' || commit.kind === 'suspend') return { thread, commit };
  const what = commit.kind === 'resume' ? 'a resumption' : `a thread's ${commit.kind}`;
  throw new TurnNotFound(`${commit.hash} is ${what}, not a turn`, `'uwf thread read ${thread.id}' shows what it says`);
}

/** Reads the start of a thread. The chain is not walked if this machine has cached where the start is. */
export async function startCommitOf(
  repository: Repository,
  pointer: ThreadPointer,
  known?: StepPlaces,
): Promise<CommitOf<'start'>> {
  const places = known ?? (await findStepPlaces(repository, pointer));
  const start = await readThreadCommit(repository, placeOf(pointer, places, 0));
  if (start.kind !== 'start') throw new CorruptThread(start.id, 'it is no start');
  return start;
}

/**
 * The number of the step of a thread that a text means: its number, or the first characters of its hash.
 *
 * @throws {TurnNotFound} if the thread has no such step, or several
 */
export function numberIn(thread: ThreadId, places: StepPlaces, text: string): number {
  const wanted = text.toUpperCase();
  const byNumber = Number(text) >= 1 && Number(text) <= places.count ? [Number(text)] : [];
  const numbers = isStepNumber(text) ? byNumber : wanted === '' ? [] : places.findByPrefix(wanted);
  const [first, second] = numbers;
  if (second !== undefined) {
    throw new TurnNotFound(`'${text}' could be any of ${numbers.length} steps`, 'give more characters');
  }
  if (first !== undefined) return first;
  const hint = `it has ${places.count}; 'uwf step list ${thread}' lists them`;
  throw new TurnNotFound(`thread ${thread} has no step '${text}'`, places.count === 0 ? 'it has no steps yet' : hint);
}

/** Tells whether a text is a step's number. So few digits are too short for a hash. */
export function isStepNumber(text: string): boolean {
  return /^\d{1,6}$/.test(text);
}

/** The commit of a step; of the start for 0. */
export function placeOf(thread: ThreadPointer, places: StepPlaces, number: number): ObjectId {
  const commit = places.commitOf(number);
  if (commit === undefined) throw new CorruptThread(thread.head, `its chain has no step ${number}`);
  return commit;
}
