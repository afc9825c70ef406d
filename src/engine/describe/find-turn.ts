import { InvalidNodeHash } from '../../cas/hash.ts';
import { repositoryNodes } from '../../cas/lookup.ts';
import { HashCollision } from '../../cas/node.ts';
import { UwfError } from '../../errors.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import type { ThreadPointer } from '../../thread/thread-id.ts';
import { payloadOf, typeNameOf } from '../../schema/built-in.ts';
import { findStepByNumber, readLightChain, readLightCommit, startOf } from '../../thread/thread-chain.ts';
import { type CommitOf, stepsUpTo } from '../../thread/thread-state.ts';
import { readThreadCommit } from '../../thread/thread-commit.ts';
import { CorruptThread } from '../../thread/thread-errors.ts';

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

/** The one commit of a thread that a number or the first characters of a hash mean. */
export async function getCommitOfTurn(
  repository: Repository,
  pointer: ThreadPointer,
  text: string,
  what: string,
): Promise<ObjectId> {
  if (isStepNumber(text)) return getCommitOfStep(repository, pointer, text);
  return theOne(pointer, text, what, await findCommitsOfTurns(repository, pointer, text.toUpperCase()));
}

/** The commit of the step of a thread that a text means: its number, or the first characters of its hash. */
export async function getCommitOfStep(repository: Repository, pointer: ThreadPointer, text: string): Promise<ObjectId> {
  const { id, head } = pointer;
  if (!isStepNumber(text)) {
    return theOne(pointer, text, 'step', (await findByHash(repository, head, text.toUpperCase())).steps);
  }
  const step = await findStepByNumber(repository, head, Number(text));
  if (step !== undefined) return step.id;
  const count = await countSteps(repository, head);
  const hint = count === 0 ? 'it has no steps yet' : `it has ${count}; 'uwf step list ${id}' lists them`;
  throw new TurnNotFound(`thread ${id} has no step '${text}'`, hint);
}

function theOne({ id }: ThreadPointer, text: string, what: string, commits: readonly ObjectId[]): ObjectId {
  const [first, second] = commits;
  if (second !== undefined)
    throw new TurnNotFound(`'${text}' could be any of ${commits.length}`, 'give more characters');
  if (first !== undefined) return first;
  throw new TurnNotFound(`thread ${id} has no ${what} '${text}'`, `'uwf log ${id}' lists them`);
}

export async function countSteps(repository: Repository, head: ObjectId): Promise<number> {
  return stepsUpTo(await readLightCommit(repository, head));
}

/** The steps with this prefix. If there is none: the suspensions and resumptions. */
export async function findCommitsOfTurns(
  repository: Repository,
  { head }: ThreadPointer,
  prefix: string,
): Promise<ObjectId[]> {
  const { steps, pauses } = await findByHash(repository, head, prefix);
  return steps.length > 0 ? steps : pauses;
}

type FoundByHash = { steps: ObjectId[]; pauses: ObjectId[] };

/** Finds turns by the nodes that the repository has under such hashes: a node of a thread's commit tells where that is. */
async function findByHash(repository: Repository, head: ObjectId, prefix: string): Promise<FoundByHash> {
  const found: FoundByHash = { steps: [], pauses: [] };
  if (prefix === '') return found;
  try {
    const nodes = repositoryNodes(repository);
    const last = await readLightCommit(repository, head);
    const own = last.kind === 'start' ? last.hash : last.node.start;
    for (const hash of await nodes.findByPrefix(prefix)) {
      const node = await nodes.find(hash);
      const kind = node && typeNameOf(node.type);
      if (node === undefined || (kind !== 'thread-step' && kind !== 'thread-suspend' && kind !== 'thread-resume'))
        continue;
      const { start, totals } = payloadOf(node, kind);
      // No way leads to a turn of another thread.
      if (start !== own) continue;
      const next = await findStepByNumber(repository, head, totals.steps + 1);
      if (kind === 'thread-step' && next?.hash === hash) found.steps.push(next.id);
      if (kind === 'thread-step') continue;
      // It stands between two steps.
      for await (const commit of readLightChain(repository, next?.commit.parents[0] ?? head)) {
        if (commit.hash === hash) found.pauses.push(commit.id);
        if (commit.kind === 'step' || commit.kind === 'start') break;
      }
    }
    return found;
  } catch (error) {
    if (error instanceof InvalidNodeHash) return found;
    // Another thread has another node under this hash.
    if (error instanceof HashCollision) return walkForHash(repository, head, prefix);
    throw error;
  }
}

async function walkForHash(repository: Repository, head: ObjectId, prefix: string): Promise<FoundByHash> {
  const found: FoundByHash = { steps: [], pauses: [] };
  for await (const { kind, hash, id } of readLightChain(repository, head)) {
    if (!hash.startsWith(prefix)) continue;
    if (kind === 'step') found.steps.push(id);
    if (kind === 'suspend' || kind === 'resume') found.pauses.push(id);
  }
  return found;
}

/** Reads the turn that a commit records. @throws {TurnNotFound} if it records none */
export async function readTurn(repository: Repository, thread: ThreadPointer, id: ObjectId): Promise<FoundTurn> {
  const commit = await readThreadCommit(repository, id);
  if (commit.kind === 'step' || commit.kind === 'suspend') return { thread, commit };
  const what = commit.kind === 'resume' ? 'a resumption' : `a thread's ${commit.kind}`;
  throw new TurnNotFound(`${commit.hash} is ${what}, not a turn`, `'uwf thread read ${thread.id}' shows what it says`);
}

export async function startCommitOf(repository: Repository, { head }: ThreadPointer): Promise<CommitOf<'start'>> {
  const { id } = await startOf(repository, await readLightCommit(repository, head));
  const start = await readThreadCommit(repository, id);
  if (start.kind !== 'start') throw new CorruptThread(id, 'it is no start');
  return start;
}

/** Tells whether a text is a step's number. So few digits are too short for a hash. */
export function isStepNumber(text: string): boolean {
  return /^\d{1,6}$/.test(text);
}
