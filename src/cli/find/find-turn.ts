import { repositoryNodes } from '../../cas/lookup.ts';
import {
  findCommitsOfTurns,
  findTurnOf,
  type FoundTurn,
  getCommitOfStep,
  getCommitOfTurn,
  isStepNumber,
  readTurn,
  startCommitOf,
} from '../../engine/describe/find-turn.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { readCommit } from '../../git/stores/read.ts';
import { builtIn } from '../../schema/built-in.ts';
import { getThread } from '../../thread/find-thread.ts';
import { CorruptThread } from '../../thread/thread-errors.ts';
import type { ThreadPointer } from '../../thread/thread-id.ts';
import { likelyOwners } from '../../thread/thread-cas.ts';
import type { TextOption } from '../command-line/command.ts';
import { UsageError } from '../errors/exit-code.ts';
import type { CliEnvironment } from '../process/cli-environment.ts';
import { findHash } from './find-node.ts';

export const turnArgument: { name: 'step'; summary: string; candidates: 'step' } = {
  name: 'step',
  summary: "a step's or suspension's hash, or its first characters; with --thread also a step's number",
  candidates: 'step',
};

export const beforeOption: TextOption = {
  value: '<step>',
  summary: "only what stands before this: a step's number, or the hash of a step, suspension or resumption",
  candidates: 'step',
};

/**
 * Finds the step or suspension that a command line means: with a thread a step's number, a hash, or without either the
 * newest; without a thread a hash. It reads the thread only up to there.
 */
export async function findTurn(
  cli: CliEnvironment,
  repository: Repository,
  text: string | undefined,
  thread: string | undefined,
): Promise<FoundTurn> {
  const isNumber = text !== undefined && isStepNumber(text);
  const owner = thread ?? (text === undefined || isNumber ? cli.env['UWF_THREAD'] || undefined : undefined);
  if (owner !== undefined) return findTurnOf(repository, await getThread(repository, owner), text);
  if (text === undefined || isNumber) {
    const which = text === undefined ? 'a step' : `step ${text}`;
    throw new UsageError(`${which} of which thread?`, 'name the thread with --thread, or give the hash of the step');
  }
  const hash = await findHash(repository, text, async (candidate) => {
    const type = (await repositoryNodes(repository).find(candidate))?.type;
    return type !== undefined && (type === builtIn['thread-step'] || type === builtIn['thread-suspend']);
  });
  for await (const pointer of likelyOwners(repository, hash)) {
    const [commit] = await findCommitsOfTurns(repository, pointer, hash);
    if (commit !== undefined) return readTurn(repository, pointer, commit);
  }
  throw new UsageError(`no thread has a step or suspension '${text}'`, "run 'uwf log <thread>' to see them");
}

/** Finds a step as {@link findTurn} finds a turn; a suspended turn is none. */
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

/** Finds the last commit before a step, by its number or hash, or before a suspension or resumption, by its hash. */
export async function commitBefore(repository: Repository, pointer: ThreadPointer, before: string): Promise<ObjectId> {
  const commit = await getCommitOfTurn(repository, pointer, before, 'step, suspension or resumption');
  const [parent] = (await readCommit(repository.objects, commit)).parents;
  if (parent === undefined) throw new CorruptThread(commit, 'it is no start and has no parent');
  return parent;
}

export const ofThreadOption: TextOption = {
  short: 't',
  value: '<thread>',
  summary: 'the thread that the step belongs to; by default $UWF_THREAD',
  candidates: 'thread',
};

export const atOption: TextOption = {
  value: '<step>',
  summary: 'the step: its number, or the first characters of its hash; 0 is the start',
  candidates: 'step',
};

/** The commit of the step that `--at` names; 0 is the thread's start. */
export async function findPlace(repository: Repository, thread: ThreadPointer, at: string): Promise<ObjectId> {
  return /^0+$/.test(at) ? (await startCommitOf(repository, thread)).id : getCommitOfStep(repository, thread, at);
}
