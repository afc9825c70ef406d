import { UwfError } from '../../errors.ts';
import type { DiskStores } from '../disk/open-disk-stores.ts';
import type { GitObject, ObjectId } from '../object-id.ts';
import { ObjectMissing, ObjectTooLarge, StorageReadOnly } from '../object-errors.ts';
import { findNewCommits, type WalkedCommit } from '../outgoing/new-commits.ts';
import { findNewObjects } from '../outgoing/new-objects.ts';
import { inOrder, planPush, sentOf, undone, type SentEdit } from '../outgoing/push-plan.ts';
import { publish } from '../publish.ts';
import type { ObjectReader } from '../read.ts';
import { BrokenRef, RefLocked, RefNameConflict } from '../ref-errors.ts';
import { RefMoved, type RefEdit, type RefName } from '../ref-store.ts';
import type { PushRequest, PushResult } from '../remote.ts';

/** What goes is held in memory. More than this, or a long way, is for git, which is faster at it, too. */
const limits = { edits: 64, objects: 2_000, bytes: 16 * 1024 * 1024 };

/** Ends a look at what is new that has become long. */
class TooMuch extends Error {}

/**
 * Makes edits of the refs of another repository on this machine, as its own uwf would: objects first, durable and kept from
 * a `git gc` over there, then all refs or none, each by comparing what it was.
 *
 * @returns a result for each edit, or `undefined` where it is so much that it is better left to git, or what is there lacks
 *   what the edits build on; nothing was done then
 * @throws {ObjectMissing} / {CorruptObject} if something that is to go cannot be read, or is no commit
 * @throws {StorageReadOnly} if the folder cannot be written to
 */
export async function pushIntoFolder(
  here: ObjectReader,
  there: DiskStores,
  request: PushRequest,
): Promise<PushResult[] | undefined> {
  const { edits, signal } = request;
  if (edits.length > limits.edits) return undefined;
  const objects = readingOnce(here);
  const refs = await valuesOf(there, edits);
  const planned = await planPush(objects, request, refs);
  const { sent, isStopped } = sentOf(planned);
  if (isStopped)
    return inOrder(
      planned,
      sent.map(({ edit }) => undone(edit.name)),
    );
  const going = await objectsToGo(objects, there, sent);
  if (going === undefined) return undefined;
  signal?.throwIfAborted();
  const failure = await tryToPublish(there, going, sent);
  const results = sent.map(({ edit: { name } }): PushResult => {
    if (failure === undefined) return { name, outcome: 'done' };
    return failure.names.includes(name) ? { name, outcome: failure.outcome, reason: failure.reason } : undone(name);
  });
  return inOrder(planned, results);
}

/** What is looked at to see what is new is mostly what goes, and is read but once. */
function readingOnce(objects: ObjectReader): ObjectReader {
  const known = new Map<ObjectId, GitObject>();
  return {
    async read(id, options) {
      const object = known.get(id) ?? (await objects.read(id, options));
      if (object !== undefined) known.set(id, object);
      return object;
    },
  };
}

async function valuesOf({ refs }: DiskStores, edits: PushRequest['edits']): Promise<Map<string, ObjectId>> {
  const values = new Map<string, ObjectId>();
  for (const { name } of edits) {
    const value = await refs.read(name);
    if (value !== undefined) values.set(name, value);
  }
  return values;
}

/** The objects that the edits need and no ref there leads to; `undefined` if they are too many. */
async function objectsToGo(
  objects: ObjectReader,
  there: DiskStores,
  sent: readonly SentEdit[],
): Promise<GitObject[] | undefined> {
  const values = sent.flatMap(({ edit }) => edit.value ?? []);
  const isAllForward = sent.every(({ before }) => before !== null);
  const known = isAllForward
    ? sent.flatMap(({ before }) => before ?? [])
    : (await there.refs.list('refs/')).map(({ id }) => id);
  const old = new Set(known);
  try {
    const all = (): never => {
      throw new TooMuch();
    };
    const commits = await findNewCommits(objects, values, { has: (id) => old.has(id), all });
    if (!(await isFounded(there, values, commits))) return undefined;
    const found = await findNewObjects(objects, commits);
    return found.length > limits.objects ? undefined : await readAll(objects, found);
  } catch (error) {
    if (error instanceof TooMuch || error instanceof ObjectTooLarge) return undefined;
    throw error;
  }
}

/** Whether what new commits stand on is there: a ref may lead to what is lost. */
async function isFounded(
  { objects }: DiskStores,
  values: readonly ObjectId[],
  commits: readonly WalkedCommit[],
): Promise<boolean> {
  const news = new Set(commits.map(({ id }) => id));
  const base = new Set([...values, ...commits.flatMap(({ parents }) => parents)].filter((id) => !news.has(id)));
  for (const id of base) if (!(await objects.has(id))) return false;
  return true;
}

async function readAll(objects: ObjectReader, found: readonly { id: ObjectId }[]): Promise<GitObject[]> {
  const all: GitObject[] = [];
  let room = limits.bytes;
  for (const { id } of found) {
    const object = await objects.read(id, { maxBytes: room });
    if (object === undefined) throw new ObjectMissing(id);
    room -= object.data.byteLength;
    all.push(object);
  }
  return all;
}

/** Which of the edits could not be made, and why. */
type Failure = { names: readonly RefName[]; outcome: 'moved' | 'refused'; reason: string };

async function tryToPublish(
  there: DiskStores,
  objects: readonly GitObject[],
  sent: readonly SentEdit[],
): Promise<Failure | undefined> {
  const edits = sent.map(({ edit, before }): RefEdit => ({ name: edit.name, value: edit.value, expected: before }));
  try {
    await publish(there, { format: there.objects.format, objects }, edits);
    return undefined;
  } catch (error) {
    if (!(error instanceof UwfError)) throw error;
    const all = edits.map(({ name }) => name);
    const reason = error.message;
    if (error instanceof StorageReadOnly) throw error;
    if (error instanceof RefMoved) return { names: [error.ref], outcome: 'moved', reason };
    // It was waited for; who tries again at once would meet it again.
    if (error instanceof RefLocked || error instanceof RefNameConflict || error instanceof BrokenRef) {
      const own = all.filter((name) => name === error.ref);
      return { names: own.length > 0 ? own : all, outcome: 'refused', reason };
    }
    return { names: all, outcome: 'refused', reason };
  }
}
