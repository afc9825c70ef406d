import { prepareHashing, hashNode, isNodeHash } from '../../cas/hash.ts';
import { readNodeAt } from '../../cas/commit-nodes.ts';
import { HashMismatch } from '../../cas/node.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import { readCommit, readTree } from '../../git/stores/read.ts';
import type { Repository } from '../../git/repository.ts';
import { builtIn, isOfType } from '../../schema/built-in.ts';
import { bodyOfMessage, nodeOfMessage } from '../format/commit-message.ts';
import { CorruptThread } from '../thread-errors.ts';
import { readThreadCommit } from '../format/thread-commit.ts';
import { walkChain } from './read-chain.ts';
import type { CommitOf } from './thread-state.ts';
import { payloadOf } from '../../schema/payload-of.ts';
import { inPlaceOf } from '../../or-else.ts';

/** A step without its index, and the blob of its reply. */
export type LightStep = Omit<CommitOf<'step'>, 'index'> & { reply: ObjectId | undefined };

/** A commit of a thread; all but steps have their index. */
export type LightCommit = LightStep | CommitOf<'start' | 'suspend' | 'resume' | 'end'>;

/**
 * Walks a thread as `readChain` does, newest first, for lists and logs. Of a step it reads three objects: the commit, the tree
 * and the node, but not the index.
 *
 * @throws {CorruptThread} if a commit is no part of a thread, or the chain ends before a start
 */
export function readLightChain(repository: Repository, from: ObjectId): AsyncGenerator<LightCommit, void, void> {
  return walkChain(from, async (id) => (await findStep(repository, id)) ?? readWhole(repository, id));
}

/**
 * Reads the text of a commit: the reply of a step, of a suspended turn, or an answer; '' if there is none.
 *
 * In most cases the commit's message contains it, and the hash tells whether the text is complete. Otherwise the blob is
 * read. If a partial clone left the blob out, returns the part in the message.
 * @throws {CorruptThread} if the text is not there, or is no content
 */
export async function readReply(
  repository: Repository,
  told: LightStep | CommitOf<'suspend' | 'resume'>,
): Promise<string> {
  const content = told.kind === 'resume' ? told.node.answer : told.node.content;
  if (content === null) return '';
  const body = bodyOfMessage(told.commit.message);
  for (const text of [body, `${body}\n`]) if (hashNode(builtIn.content, { text }) === content) return text;
  const { objects } = repository;
  const path = told.kind === 'resume' ? 'answer.md' : 'output.md';
  const oid = told.kind === 'step' ? told.reply : told.index.find((entry) => entry.path === path)?.oid;
  if (oid === undefined) throw new CorruptThread(told.id, `${path} is not there`);
  if (objects.prefetch !== undefined && !(await objects.has(oid))) return body;
  const node = await readNodeAt(repository, { hash: content, oid });
  if (node.type !== builtIn.content) throw new CorruptThread(told.id, `${path} is no content node`);
  return payloadOf(node, 'content').text;
}

/** Reads the step of a commit; `undefined` for another kind of commit, or if only the index can tell. */
async function findStep(repository: Repository, id: ObjectId): Promise<LightStep | undefined> {
  await prepareHashing();
  const commit = await readCommit(repository.objects, id);
  const hash = nodeOfMessage(commit.message);
  if (!isNodeHash(hash)) return undefined;
  const tree = await readTree(repository.objects, commit.tree);
  const oid = tree.find(({ name }) => name === 'step.json')?.id;
  // The message is for people, and may name another node.
  const node = oid && (await readNodeAt(repository, { hash, oid }).catch(inPlaceOf(HashMismatch, undefined)));
  if (node === undefined || !isOfType(node.type, 'thread-step')) return undefined;
  const reply = tree.find(({ name }) => name === 'output.md')?.id;
  return { id, commit, hash, kind: 'step', node: payloadOf(node, 'thread-step'), reply };
}

async function readWhole(repository: Repository, id: ObjectId): Promise<LightCommit> {
  const whole = await readThreadCommit(repository, id);
  if (whole.kind !== 'step') return whole;
  return { ...whole, reply: whole.index.find(({ path }) => path === 'output.md')?.oid };
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
