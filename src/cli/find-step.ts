import { findStepPlaces, type StepPlaces } from '../engine/step-places.ts';
import { getThread, listPointers, type ThreadPointer } from '../thread/find-thread.ts';
import { readSteps, type ReadSteps } from '../thread/read-steps.ts';
import { readThreadCommit } from '../thread/thread-commit.ts';
import { CorruptThread } from '../thread/thread-errors.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import type { CommitOf, StepEntry } from '../thread/thread-state.ts';
import { repositoryNodes } from '../cas/lookup/repository-nodes.ts';
import type { NodeHash } from '../cas/hash.ts';
import type { StoredNode } from '../cas/node-source.ts';
import type { ObjectId } from '../git/object-id.ts';
import type { Repository } from '../git/repository.ts';
import { isOfType } from '../schema/built-in.ts';
import type { TextOption } from './command.ts';
import type { CliContext } from './context.ts';
import { findHash } from './find-hash.ts';
import { UsageError } from './usage-error.ts';
import { payloadOf } from '../schema/payload-of.ts';

/** The option that says whose step is meant. */
export const ofThreadOption: TextOption = {
  short: 't',
  value: '<thread>',
  summary: 'the thread that the step belongs to; by default $UWF_THREAD',
  candidates: 'thread',
};

/** A step that a command line means, and the thread that has it. */
export type FoundStep = { thread: ThreadPointer; places: StepPlaces; entry: StepEntry };

/**
 * Finds the step that a command line means: with a thread a number or a hash of that thread, without one a hash. Of the
 * thread nothing is read but that step, and what this machine does not know yet of where its steps are.
 *
 * @throws {UsageError} if there is none, or several
 */
export async function findStep(
  cli: CliContext,
  repository: Repository,
  step: string,
  thread: string | undefined,
): Promise<FoundStep> {
  const isNumber = isStepNumber(step);
  const owner = thread ?? (isNumber ? cli.env['UWF_THREAD'] || undefined : undefined);
  if (owner !== undefined) {
    const pointer = await getThread(repository, owner);
    const places = await findStepPlaces(repository, pointer);
    return foundIn(repository, pointer, places, numberIn(pointer.id, places, step));
  }
  if (isNumber)
    throw new UsageError(`step ${step} of which thread?`, 'name it with --thread, or give the hash of the step');
  const hash = await findHash(repository, step, async (candidate) => {
    const node = await repositoryNodes(repository).find(candidate);
    return node !== undefined && isOfType(node.type, 'thread-step');
  });
  for (const pointer of await likelyOwners(repository, hash)) {
    const places = await findStepPlaces(repository, pointer);
    const [number] = places.findByPrefix(hash);
    if (number !== undefined) return foundIn(repository, pointer, places, number);
  }
  throw new UsageError(`no thread has a step '${step}'`, "run 'uwf step list <thread>' to see its steps");
}

/**
 * Reads the steps of a piece of a thread: the last ones, or the last before one.
 *
 * @param before a step's number or the first characters of its hash
 * @throws {UsageError} if the thread has no such step, or several
 */
export async function readPiece(
  repository: Repository,
  pointer: ThreadPointer,
  { before, limit = Number.POSITIVE_INFINITY }: { before?: string | undefined; limit?: number | undefined },
): Promise<ReadSteps> {
  if (before === undefined) return readSteps(repository, pointer.head, limit);
  const places = await findStepPlaces(repository, pointer);
  return readSteps(repository, placeOf(pointer, places, numberIn(pointer.id, places, before) - 1), limit);
}

/** Reads the start of a thread, without the way there if this machine knows it. */
export async function readStart(
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
 * @throws {UsageError} if the thread has no such step, or several
 */
export function numberIn(thread: ThreadId, places: StepPlaces, text: string): number {
  const wanted = text.toUpperCase();
  const byNumber = Number(text) >= 1 && Number(text) <= places.count ? [Number(text)] : [];
  const numbers = isStepNumber(text) ? byNumber : wanted === '' ? [] : places.findByPrefix(wanted);
  const [first, second] = numbers;
  if (second !== undefined) {
    throw new UsageError(`'${text}' could be any of ${numbers.length} steps`, 'give more characters');
  }
  if (first !== undefined) return first;
  throw new UsageError(
    `thread ${thread} has no step '${text}'`,
    places.count === 0 ? 'it has no steps yet' : `it has ${places.count}; 'uwf step list ${thread}' lists them`,
  );
}

/** Tells whether a step is named by its number: nobody means a hash by so few digits. */
export function isStepNumber(text: string): boolean {
  return /^\d{1,6}$/.test(text);
}

async function foundIn(
  repository: Repository,
  thread: ThreadPointer,
  places: StepPlaces,
  number: number,
): Promise<FoundStep> {
  const commit = placeOf(thread, places, number);
  const [entry] = (await readSteps(repository, commit, 1)).steps;
  if (entry === undefined) throw new CorruptThread(commit, 'it is no step');
  return { thread, places, entry };
}

/** The commit of a step; of the start for 0. */
export function placeOf(thread: ThreadPointer, places: StepPlaces, number: number): ObjectId {
  const commit = places.commitOf(number);
  if (commit === undefined) throw new CorruptThread(thread.head, `its chain has no step ${number}`);
  return commit;
}

/** All threads, the one that a turn was taken in first, then the newest: forks have the steps before them too. */
export async function likelyOwners(repository: Repository, turn: NodeHash): Promise<ThreadPointer[]> {
  const nodes = repositoryNodes(repository);
  const found = await nodes.find(turn);
  const start = found && (await nodes.find(startOf(found)));
  const id = start && payloadOf(start, 'thread-start').id;
  const newestFirst = (await listPointers(repository)).toReversed();
  return [...newestFirst.filter((pointer) => pointer.id === id), ...newestFirst.filter((pointer) => pointer.id !== id)];
}

function startOf(turn: StoredNode): NodeHash {
  const type = isOfType(turn.type, 'thread-suspend') ? 'thread-suspend' : 'thread-step';
  return payloadOf(turn, type).start;
}
