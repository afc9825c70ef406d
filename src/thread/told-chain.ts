import { prepareHashing, hashNode, isNodeHash, type NodeHash } from '../cas/hash.ts';
import { readNodeAt } from '../cas/commit-nodes.ts';
import type { StoredNode } from '../cas/node-source.ts';
import { HashMismatch } from '../cas/node.ts';
import type { ObjectId } from '../git/object-id.ts';
import { readCommit, readTree } from '../git/read.ts';
import type { Repository } from '../git/repository.ts';
import { builtIn, isOfType } from '../schema/built-in.ts';
import { bodyOfMessage, nodeOfMessage } from './commit-message.ts';
import { CorruptThread } from './thread-errors.ts';
import { readThreadCommit } from './thread-commit.ts';
import type { CommitOf } from './thread-state.ts';
import { payloadOf } from '../schema/payload-of.ts';

/** A step as its commit and its node tell it, and where the text of its reply lies. */
export type ToldStep = Omit<CommitOf<'step'>, 'index'> & { reply: ObjectId | undefined };

/** A commit of a thread as it is told; all but steps are read whole. */
export type ToldCommit = ToldStep | CommitOf<'start' | 'suspend' | 'resume' | 'end'>;

/**
 * Walks a thread as `readChain` does, newest first, for who tells what happened: of a step three objects are read, its
 * commit, its tree and its node, not the index of all that lies beside it.
 *
 * @throws {CorruptThread} if a commit is no part of a thread, or the chain ends before a start
 */
export async function* readToldChain(repository: Repository, from: ObjectId): AsyncGenerator<ToldCommit, void, void> {
  let id: ObjectId | undefined = from;
  while (id !== undefined) {
    const told: ToldCommit = (await findStep(repository, id)) ?? (await readWhole(repository, id));
    yield told;
    if (told.kind === 'start') return;
    id = told.commit.parents[0];
    if (id === undefined) throw new CorruptThread(told.id, 'it is no start and has no parent');
  }
}

/**
 * Reads what was said at a commit: the reply of a step, what a suspended turn said, an answer; '' where nothing was.
 *
 * The message of the commit has it as a rule, and the hash of the text tells whether that is all of it, to the letter;
 * else it is read where it lies. Of a text that a light fetch left out, the message's part of it.
 * @throws {CorruptThread} if the text is not there, or is no content
 */
export async function readReply(
  repository: Repository,
  told: ToldStep | CommitOf<'suspend' | 'resume'>,
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

/** The step of a commit; `undefined` for another kind of commit, and where only its index can say what it is. */
async function findStep(repository: Repository, id: ObjectId): Promise<ToldStep | undefined> {
  await prepareHashing();
  const commit = await readCommit(repository.objects, id);
  const hash = nodeOfMessage(commit.message);
  if (!isNodeHash(hash)) return undefined;
  const tree = await readTree(repository.objects, commit.tree);
  const oid = tree.find(({ name }) => name === 'step.json')?.id;
  const node = oid && (await readIfSame(repository, { hash, oid }));
  if (node === undefined || !isOfType(node.type, 'thread-step')) return undefined;
  const reply = tree.find(({ name }) => name === 'output.md')?.id;
  return { id, commit, hash, kind: 'step', node: payloadOf(node, 'thread-step'), reply };
}

/** The message is for people: if it names another node, that says nothing of the thread. */
async function readIfSame(
  repository: Repository,
  entry: { hash: NodeHash; oid: ObjectId },
): Promise<StoredNode | undefined> {
  try {
    return await readNodeAt(repository, entry);
  } catch (error) {
    if (error instanceof HashMismatch) return undefined;
    throw error;
  }
}

async function readWhole(repository: Repository, id: ObjectId): Promise<ToldCommit> {
  const whole = await readThreadCommit(repository, id);
  if (whole.kind !== 'step') return whole;
  return { ...whole, reply: whole.index.find(({ path }) => path === 'output.md')?.oid };
}
