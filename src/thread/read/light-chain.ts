import { prepareHashing, hashNode, isNodeHash } from '../../cas/hash.ts';
import { readNodeAt } from '../../cas/commit-nodes.ts';
import { HashMismatch } from '../../cas/node.ts';
import type { Commit } from '../../git/format/commit.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { TreeLine } from '../../git/format/tree-lines.ts';
import { readAnyTree, readCommit } from '../../git/stores/read.ts';
import type { Repository } from '../../git/repository.ts';
import { builtIn } from '../../schema/built-in.ts';
import { bodyOfMessage, nodeOfMessage } from '../append/commit-message.ts';
import { CorruptThread } from '../thread-errors.ts';
import {
  textNodeOf,
  eventOf,
  findEventFile,
  readThreadCommit,
  textPaths,
  type ThreadCommit,
} from '../thread-commit.ts';
import { walkChain } from './read-chain.ts';
import type { CommitOf } from './thread-state.ts';
import { payloadOf } from '../../schema/payload-of.ts';
import { inPlaceOf } from '../../or-else.ts';

/** A step or start without its index, with the lines of its tree. */
type Light<K extends 'step' | 'start'> = Omit<CommitOf<K>, 'index'> & { files: readonly TreeLine[] };
export type LightStep = Light<'step'>;
export type LightStart = Light<'start'>;

/** A commit of a thread; all but steps and starts have their index. */
export type LightCommit = LightStep | LightStart | CommitOf<'suspend' | 'resume' | 'end'>;

/**
 * Walks a thread as `readChain` does, newest first, for lists and logs. Of a step or start it reads three objects: the commit,
 * the tree and the node, but not the index.
 *
 * @throws {CorruptThread} if a commit is no part of a thread, or the chain ends before a start
 */
export function readLightChain(repository: Repository, from: ObjectId): AsyncGenerator<LightCommit, void, void> {
  return walkChain(from, (id) => readLightCommit(repository, id));
}

/**
 * Reads the text of a commit: the prompt of a start, the reply of a step, of a suspended turn, an answer, or a summary; '' if
 * there is none.
 *
 * In most cases the commit's message contains it, and the hash tells whether the text is complete. Otherwise the blob is
 * read.
 * @throws {CorruptThread} if the text is not there, or is no content
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
