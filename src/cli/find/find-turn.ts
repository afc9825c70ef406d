import { isNodeHash, type NodeHash } from '../../cas/hash.ts';
import { repositoryNodes } from '../../cas/lookup/repository-nodes.ts';
import { findStepPlaces } from '../../engine/describe/step-places.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import { readCommit } from '../../git/stores/read.ts';
import type { Repository } from '../../git/repository.ts';
import { isOfType } from '../../schema/built-in.ts';
import { payloadOf } from '../../schema/payload-of.ts';
import { getThread, listPointers, type ThreadPointer } from '../../thread/find/find-thread.ts';
import { readThreadCommit } from '../../thread/thread-commit.ts';
import { CorruptThread } from '../../thread/thread-errors.ts';
import type { CommitOf } from '../../thread/read/thread-state.ts';
import { readLightChain } from '../../thread/read/light-chain.ts';
import type { TextOption } from '../command-line/command.ts';
import type { CliEnvironment } from '../process/cli-environment.ts';
import { findHash } from './find-hash.ts';
import { isStepNumber, numberIn, placeOf } from './find-step.ts';
import { UsageError } from '../errors/usage-error.ts';

/** The argument that says which turn is meant. */
export const turnArgument: { name: 'step'; summary: string; candidates: 'step' } = {
  name: 'step',
  summary: "a step's or suspension's hash, or its first characters; with --thread also a step's number",
  candidates: 'step',
};

/** The option that names the end of a part of a thread. */
export const beforeOption: TextOption = {
  value: '<step>',
  summary: "only what stands before this: a step's number, or the hash of a step, suspension or resumption",
  candidates: 'step',
};

/** A turn that a command line means: a step, or the suspension that a turn ended in; and the thread that has it. */
export type FoundTurn<K extends 'step' | 'suspend' = 'step' | 'suspend'> = {
  thread: ThreadPointer;
  commit: CommitOf<K>;
};

/**
 * Finds the step or suspension that a command line means: with a thread a step's number, a hash, or without either the
 * newest; without a thread a hash. It reads the thread only up to there.
 *
 * @throws {UsageError} if there is none, or several
 */
export async function findTurn(
  cli: CliEnvironment,
  repository: Repository,
  text: string | undefined,
  thread: string | undefined,
): Promise<FoundTurn> {
  const isNumber = text !== undefined && isStepNumber(text);
  const owner = thread ?? (text === undefined || isNumber ? cli.env['UWF_THREAD'] || undefined : undefined);
  if (owner !== undefined) return findIn(repository, await getThread(repository, owner), text);
  if (text === undefined || isNumber) {
    const which = text === undefined ? 'a step' : `step ${text}`;
    throw new UsageError(`${which} of which thread?`, 'name the thread with --thread, or give the hash of the step');
  }
  const hash = await findHash(repository, text, async (candidate) => {
    const type = (await repositoryNodes(repository).find(candidate))?.type;
    return type !== undefined && (isOfType(type, 'thread-step') || isOfType(type, 'thread-suspend'));
  });
  for (const pointer of await likelyOwners(repository, hash)) {
    const [commit] = await findCommits(repository, pointer, hash);
    if (commit !== undefined) return readTurn(repository, pointer, commit);
  }
  throw new UsageError(`no thread has a step or suspension '${text}'`, "run 'uwf log <thread>' to see them");
}

/**
 * Finds a step as {@link findTurn} finds a turn.
 * @throws {UsageError} also if the turn was suspended
 */
export async function findStep(
  cli: CliEnvironment,
  repository: Repository,
  text: string,
  owner: string | undefined,
): Promise<FoundTurn<'step'>> {
  const { thread, commit } = await findTurn(cli, repository, text, owner);
  if (commit.kind === 'step') return { thread, commit };
  throw new UsageError(`${commit.hash} is a suspension, not a step`, `'uwf step list ${thread.id}' lists the steps`);
}

/**
 * Finds the last commit before a step, suspension or resumption.
 *
 * @param before a step's number, or the first characters of the hash of a step, suspension or resumption
 * @throws {UsageError} if the thread has no such thing, or several
 */
export async function commitBefore(repository: Repository, pointer: ThreadPointer, before: string): Promise<ObjectId> {
  const commit = await getCommit(repository, pointer, before, 'step, suspension or resumption');
  const [parent] = (await readCommit(repository.objects, commit)).parents;
  if (parent === undefined) throw new CorruptThread(commit, 'it is no start and has no parent');
  return parent;
}

async function findIn(repository: Repository, pointer: ThreadPointer, text: string | undefined): Promise<FoundTurn> {
  if (text !== undefined) {
    return readTurn(repository, pointer, await getCommit(repository, pointer, text, 'step or suspension'));
  }
  for await (const { kind, id } of readLightChain(repository, pointer.head)) {
    if (kind === 'step' || kind === 'suspend') return readTurn(repository, pointer, id);
  }
  throw new UsageError(`thread ${pointer.id} has no steps yet`, `run 'uwf thread step ${pointer.id}'`);
}

/** The one commit of a thread that a number or the first characters of a hash mean. */
async function getCommit(
  repository: Repository,
  pointer: ThreadPointer,
  text: string,
  what: string,
): Promise<ObjectId> {
  if (isStepNumber(text)) {
    const places = await findStepPlaces(repository, pointer);
    return placeOf(pointer, places, numberIn(pointer.id, places, text));
  }
  const commits = await findCommits(repository, pointer, text.toUpperCase());
  const [first, second] = commits;
  if (second !== undefined) throw new UsageError(`'${text}' could be any of ${commits.length}`, 'give more characters');
  if (first !== undefined) return first;
  throw new UsageError(`thread ${pointer.id} has no ${what} '${text}'`, `'uwf log ${pointer.id}' lists them`);
}

/** The steps with this prefix. If there is none: the suspensions and resumptions, for which the chain is walked. */
async function findCommits(repository: Repository, pointer: ThreadPointer, prefix: string): Promise<ObjectId[]> {
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

async function readTurn(repository: Repository, thread: ThreadPointer, id: ObjectId): Promise<FoundTurn> {
  const commit = await readThreadCommit(repository, id);
  if (commit.kind === 'step' || commit.kind === 'suspend') return { thread, commit };
  const what = commit.kind === 'resume' ? 'a resumption' : `a thread's ${commit.kind}`;
  throw new UsageError(`${commit.hash} is ${what}, not a turn`, `'uwf thread read ${thread.id}' shows what it says`);
}

/** All threads: first the one in which a turn was taken, then the newest. Forks share the steps of their thread. */
async function likelyOwners(repository: Repository, turn: NodeHash): Promise<ThreadPointer[]> {
  const nodes = repositoryNodes(repository);
  const found = await nodes.find(turn);
  const type = found && isOfType(found.type, 'thread-suspend') ? 'thread-suspend' : 'thread-step';
  const start = found && (await nodes.find(payloadOf(found, type).start));
  const id = start && payloadOf(start, 'thread-start').id;
  const newestFirst = (await listPointers(repository)).toReversed();
  return [...newestFirst.filter((pointer) => pointer.id === id), ...newestFirst.filter((pointer) => pointer.id !== id)];
}
