import { setImmediate as letOthersWork } from 'node:timers/promises';
import { readNodeAt } from '../cas/commit-nodes.ts';
import { hashNode, isNodeHash, prepareHashing } from '../cas/hash.ts';
import { HashMismatch } from '../cas/node.ts';
import type { RoleSeen } from '../expression/evaluation/scope.ts';
import type { Commit, TreeLine } from '../git/format/objects.ts';
import type { ObjectId } from '../git/format/object-id.ts';
import type { Repository } from '../git/repository.ts';
import { readAnyTree, readCommit } from '../git/stores/read.ts';
import type { JsonObject } from '../json.ts';
import { inPlaceOf } from '../or-else.ts';
import { builtIn, payloadOf } from '../schema/built-in.ts';
import { SKIPS } from '../schema/built-in/thread-step.ts';
import { bodyOfMessage, nodeOfMessage } from './commit-message.ts';
import {
  eventOf,
  findEventFile,
  readTextAt,
  readThreadCommit,
  textNodeOf,
  textPaths,
  type ThreadCommit,
} from './thread-commit.ts';
import { CorruptThread } from './thread-errors.ts';
import type { ThreadId } from './thread-id.ts';
import type { CommitOf, StepEntry, ThreadPlace } from './thread-state.ts';

/** Objects are read from a disk at once: without pauses, a long walk would leave all other requests of a server unanswered. */
const PAUSE_EVERY = 100;

/**
 * Walks a thread from a commit back to its start along first parents, newest first.
 *
 * It ends at the start, even if that has a parent (the caller's commit, for a child thread). Commits are read as the caller
 * asks for them.
 */
export function readChain(repository: Repository, from: ObjectId): AsyncGenerator<ThreadCommit, void, void> {
  return walkChain(from, (id) => readThreadCommit(repository, id));
}

/** Walks a thread as {@link readChain} does, with another reader of commits. */
export async function* walkChain<C extends Pick<ThreadCommit, 'id' | 'kind' | 'commit'>>(
  from: ObjectId,
  read: (id: ObjectId) => Promise<C>,
): AsyncGenerator<C, void, void> {
  let next = from;
  for (let count = 1; ; count += 1) {
    if (count % PAUSE_EVERY === 0) await letOthersWork();
    const commit = await read(next);
    yield commit;
    if (commit.kind === 'start') return;
    const [parent] = commit.commit.parents;
    if (parent === undefined) throw new CorruptThread(commit.id, 'it is no start and has no parent');
    next = parent;
  }
}

/** A step or start without its index, with the lines of its tree. */
type Light<K extends 'step' | 'start'> = Omit<CommitOf<K>, 'index'> & { files: readonly TreeLine[] };
export type LightStep = Light<'step'>;
export type LightStart = Light<'start'>;

/** A commit of a thread; all but steps and starts have their index. */
export type LightCommit = LightStep | LightStart | CommitOf<'suspend' | 'resume' | 'end'>;

/**
 * Walks a thread as `readChain` does, newest first, for lists and logs. Of a step or start it reads three objects: the commit,
 * the tree and the node, but not the index.
 */
export function readLightChain(repository: Repository, from: ObjectId): AsyncGenerator<LightCommit, void, void> {
  return walkChain(from, (id) => readLightCommit(repository, id));
}

/**
 * Reads the text of a commit; '' if there is none.
 *
 * In most cases the commit's message contains it, and the hash tells whether the text is complete. Otherwise the blob is
 * read.
 */
export async function readReply(repository: Repository, told: LightCommit | ThreadCommit): Promise<string> {
  const content = textNodeOf(told);
  if (content === null) return '';
  const body = bodyOfMessage(told.commit.message);
  for (const text of [body, `${body}\n`]) if (hashNode(builtIn.content, { text }) === content) return text;
  const oid = fileOf(told, textPaths[told.kind]);
  if (oid === undefined) throw new CorruptThread(told.id, `${textPaths[told.kind]} is not there`);
  const node = await readNodeAt(repository, { hash: content, oid });
  if (node.type !== builtIn.content) throw new CorruptThread(told.id, `${textPaths[told.kind]} is no content node`);
  return payloadOf(node, 'content').text;
}

/** The object of a file at the top of a commit's tree; `undefined` if there is none. */
export function fileOf(commit: LightCommit | ThreadCommit, path: string): ObjectId | undefined {
  return 'files' in commit
    ? commit.files.find(({ name }) => name === path)?.id
    : commit.index.find((entry) => entry.path === path)?.oid;
}

/**
 * Reads a commit as {@link readLightChain} does.
 * @param known the commit, where it has been read already
 */
export async function readLightCommit(repository: Repository, id: ObjectId, known?: Commit): Promise<LightCommit> {
  await prepareHashing();
  const commit = known ?? (await readCommit(repository.objects, id));
  const hash = nodeOfMessage(commit.message);
  const files = await readAnyTree(repository.objects, commit.tree);
  const found = findEventFile(files.map((file) => ({ path: file.name, oid: file.id })));
  if (isNodeHash(hash) && (found?.kind === 'step' || found?.kind === 'start')) {
    // The message is for people, and may name another node.
    const node = await readNodeAt(repository, { hash, oid: found.file.oid }).catch(inPlaceOf(HashMismatch, undefined));
    const event = node && eventOf(id, found.kind, node);
    if (event?.kind === 'step' || event?.kind === 'start') return { id, commit, hash, files, ...event };
  }
  const { index, ...whole } = await readThreadCommit(repository, id, commit);
  return whole.kind === 'step' || whole.kind === 'start' ? { ...whole, files } : { ...whole, index };
}

/**
 * Reads the ends of the child threads that a step took in, in the order of its parents.
 *
 * Further parents may be other commits, too: the step's node names the children. Skips one that cannot be read.
 */
export async function readChildEnds(
  repository: Repository,
  { commit, node }: Pick<LightStep, 'commit' | 'node'>,
): Promise<CommitOf<'end'>[]> {
  if (node.childThreads.length === 0) return [];
  const ends: CommitOf<'end'>[] = [];
  for (const parent of commit.parents.slice(1)) {
    const further = await readThreadCommit(repository, parent).catch(() => undefined);
    if (further?.kind === 'end' && node.childThreads.includes(further.hash)) ends.push(further);
  }
  return ends;
}

/** Finds the start of the thread that a commit belongs to; `undefined` if it cannot be read. Lists report the corrupt thread. */
export async function findStart(repository: Repository, from: ObjectId): Promise<LightStart | undefined> {
  try {
    return await startOf(repository, await readLightCommit(repository, from));
  } catch {
    return undefined;
  }
}

/** Reads the start of the thread that a commit belongs to. The commit's totals name it, and its node has the hash. */
export async function startOf(repository: Repository, from: LightCommit): Promise<LightStart> {
  if (from.kind === 'start') return from;
  const start = await readLightCommit(repository, from.node.totals.start);
  if (start.kind === 'start' && start.hash === from.node.start) return start;
  throw new CorruptThread(from.id, 'its totals name another start than its node');
}

/** Reads what the user of a thread asked for; `undefined` if the thread cannot be read. */
export async function readThreadPrompt(repository: Repository, head: ObjectId): Promise<string | undefined> {
  const start = await findStart(repository, head);
  return start && readReply(repository, start).catch(() => undefined);
}

/**
 * Finds a step of a thread by its number, in at most two dozen reads however long the thread is: the totals of each commit name steps
 * far behind it.
 * @param from a commit of the thread
 * @param number from 1
 * @returns `undefined` if there is no such step up to that commit
 */
export async function findStepByNumber(
  repository: Repository,
  from: ObjectId,
  number: number,
): Promise<LightStep | undefined> {
  if (number < 1) return undefined;
  let at: LightCommit = await readLightCommit(repository, from);
  while (at.kind !== 'start') {
    const { steps, skips } = at.node.totals;
    if (at.kind === 'step' && steps + 1 === number) return at;
    if (number > steps) return undefined;
    const [parent] = at.commit.parents;
    let next = { id: parent, step: undefined as number | undefined };
    for (const [place, distance] of SKIPS.entries()) {
      const step = steps - (steps % distance);
      if (step >= number && skips[place] !== undefined) next = { id: skips[place], step };
    }
    if (next.id === undefined) throw new CorruptThread(at.id, 'it is no start and has no parent');
    const before: LightCommit = await readLightCommit(repository, next.id);
    const isThat = before.kind === 'step' && before.node.totals.steps + 1 === next.step;
    if (next.step !== undefined && !isThat)
      throw new CorruptThread(at.id, `its totals name ${next.id} as step ${next.step}`);
    at = before;
  }
  return undefined;
}

/** Reads the steps of a thread that called child threads, newest first. Each names the one before it. */
export async function* callingSteps(
  repository: Repository,
  { calling }: { calling: ObjectId | null },
): AsyncGenerator<LightStep, void, void> {
  for (let id = calling; id !== null;) {
    const step: LightCommit = await readLightCommit(repository, id);
    if (step.kind !== 'step') throw new CorruptThread(id, 'it is no step');
    yield step;
    id = step.node.totals.calling;
  }
}

/** Reads what `$visits` answers of each role that has had a turn, and where rules look at it, what `$first` and `$last` answer. */
export async function readRoles(
  repository: Repository,
  { head, tally }: { head: { id: ObjectId } } & Pick<ThreadPlace, 'tally'>,
  hasEnds: boolean,
): Promise<Map<string, RoleSeen>> {
  const metaOf = async (number: number | null): Promise<JsonObject | undefined> => {
    if (number === null) return undefined;
    const step = await findStepByNumber(repository, head.id, number);
    if (step === undefined) throw new CorruptThread(head.id, `it has no step ${number}`);
    return step.node.meta;
  };
  const roles = new Map<string, RoleSeen>();
  for (const [role, { visits, first, last }] of tally.roles) {
    if (visits === 0) continue;
    roles.set(role, hasEnds ? { visits, first: await metaOf(first), last: await metaOf(last) } : { visits });
  }
  return roles;
}

/** Consecutive steps of a thread, oldest first; with the start if they are the first ones. */
export type ReadSteps = { steps: StepEntry[]; start: CommitOf<'start'> | undefined };

/** Reads the last steps up to a commit of a thread, at most `limit`, and nothing before them. */
export async function readSteps(repository: Repository, from: ObjectId, limit: number): Promise<ReadSteps> {
  const commits: CommitOf<'step'>[] = [];
  let start: CommitOf<'start'> | undefined;
  for await (const commit of readChain(repository, from)) {
    if (commit.kind === 'start') start = commit;
    if (commit.kind !== 'step') continue;
    if (commits.length >= limit) break;
    commits.push(commit);
    if (commits.length >= limit && commit.node.number > 1) break;
  }
  const steps: StepEntry[] = [];
  for (const commit of commits.toReversed()) {
    steps.push({ commit, text: await readTextAt(repository, commit, 'output.md') });
  }
  return { steps, start };
}

/** A thread with all its commits and texts, as it is at one head. A value: it does not change when the thread advances. */
export type WholeThread = {
  /** The id of its ref. A fork has its own id, and shares `start.node.id`. */
  id: ThreadId;
  head: ThreadCommit;
  start: CommitOf<'start'>;
  prompt: string;
  /** All commits, from the start to the head. */
  chain: readonly ThreadCommit[];
  /** Oldest first. */
  steps: readonly StepEntry[];
};

/**
 * Reads a whole thread.
 *
 * @throws {CorruptThread} if its chain is not what storage promises
 */
export async function readThread(repository: Repository, id: ThreadId, from: ObjectId): Promise<WholeThread> {
  const commits: ThreadCommit[] = [];
  for await (const commit of readChain(repository, from)) commits.push(commit);
  const chain = commits.toReversed();
  const [head, start] = [commits[0], chain[0]];
  if (head === undefined || start?.kind !== 'start') throw new CorruptThread(from, 'its chain has no start');
  const steps: StepEntry[] = [];
  for (const commit of chain) {
    if (commit.kind === 'step') steps.push({ commit, text: await readTextAt(repository, commit, 'output.md') });
  }
  return { id, head, start, prompt: await readTextAt(repository, start, 'prompt.md'), chain, steps };
}
