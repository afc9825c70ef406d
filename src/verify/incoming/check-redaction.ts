import { readCommitNodesOnce, readNodeAt } from '../../cas/commit-nodes.ts';
import { isNodeHash } from '../../cas/hash.ts';
import type { StoredNode } from '../../cas/node-source.ts';
import { isObjectId, type ObjectId } from '../../git/format/object-id.ts';
import { readAnyTree, readBlob, readCommit, type ObjectReader } from '../../git/stores/read.ts';
import { kindOfMode } from '../../git/format/tree-lines.ts';
import type { Commit } from '../../git/format/commit.ts';
import { isJsonObject, type JsonValue } from '../../json.ts';
import type { RedactionRecord } from '../../thread/secrets/redaction-record.ts';
import { MAX_FILE_BYTES } from '../../thread/append/commit-limits.ts';
import { readSnapshot } from '../../thread/read/recorded-files.ts';
import { isThreadId } from '../../thread/thread-id.ts';
import { isMarked } from '../is-marked.ts';

/**
 * Checks a redaction record against the thread as it is here: each commit and its successor have to be the same, but for marks
 * in the place of texts. Otherwise a remote could replace a thread with another one.
 *
 * @param objects the fetched objects and those of this repository
 * @param tip the head of the thread here
 */
export async function isTrueRedaction(
  objects: ObjectReader,
  { commits }: RedactionRecord,
  tip: ObjectId,
): Promise<boolean> {
  // To the start: what was left unchecked, a remote could replace.
  for (let at: ObjectId | undefined = tip; at !== undefined;) {
    const after = commits.get(at);
    if (after === undefined) return true;
    if (!(await isSameCommit(objects, at, after))) return false;
    const [before]: ObjectId[] = (await readCommit(objects, at)).parents;
    const [now] = (await readCommit(objects, after)).parents;
    if (before !== now && (before === undefined || commits.get(before) !== now)) return false;
    at = before;
  }
  return true;
}

async function isSameCommit(objects: ObjectReader, before: ObjectId, after: ObjectId): Promise<boolean> {
  const [was, is] = [await readCommit(objects, before), await readCommit(objects, after)];
  if (was.parents.length !== is.parents.length || was.committer.atMs !== is.committer.atMs) return false;
  const [nodes, others] = [await nodesOf(objects, before), await nodesOf(objects, after)];
  if (nodes.length !== others.length) return false;
  if (!pairUp(nodes, others, ([path, node], [name, other]) => name === path && isSameNode(node, other))) return false;
  const [snapshot, snapshotNow] = [await snapshotOf(objects, was, nodes), await snapshotOf(objects, is, others)];
  if (snapshot === undefined || snapshotNow === undefined) return snapshot === snapshotNow;
  return isSameSnapshot(objects, snapshot, snapshotNow);
}

/** The nodes of a commit by path, with hashes in paths replaced by `*`. */
async function nodesOf(objects: ObjectReader, id: ObjectId): Promise<[string, StoredNode][]> {
  const { entries = [] } = await readCommitNodesOnce({ objects }, id);
  const nodes: [string, StoredNode][] = [];
  for (const entry of entries) {
    const path = entry.path.replaceAll(/[0-9A-HJKMNP-TV-Z]{13}/g, (name) => (isNodeHash(name) ? '*' : name));
    nodes.push([path, await readNodeAt({ objects }, entry)]);
  }
  return nodes;
}

function isSameNode(before: StoredNode, after: StoredNode): boolean {
  return before.hash === after.hash || isSame(before.payload, after.payload);
}

function isSame(before: JsonValue, after: JsonValue): boolean {
  if (typeof before === 'string' && typeof after === 'string') return isSameText(before, after);
  if (Array.isArray(before) && Array.isArray(after)) {
    return before.length === after.length && before.every((item, at) => isSame(item, after[at] ?? null));
  }
  if (!isJsonObject(before) || !isJsonObject(after)) return before === after;
  const left = pairUp(
    Object.entries(before),
    Object.entries(after),
    ([key, value], [name, other]) => isMarked(key, name) && (key === 'redacted' || isSame(value, other)),
  );
  return left?.every(([key]) => key === 'redacted') ?? false;
}

/**
 * Pairs each item with one that it may have become (bipartite matching). A mark fits any text, so the first fit may have to be
 * given to another item.
 *
 * @returns the items that are left over; `undefined` if some item has no partner
 */
function pairUp<T>(before: readonly T[], after: readonly T[], fits: (before: T, after: T) => boolean): T[] | undefined {
  const takenBy = new Map<T, T>();
  const take = (one: T, tried: Set<T>): boolean =>
    after.some((other) => {
      if (tried.has(other) || !fits(one, other)) return false;
      tried.add(other);
      const holder = takenBy.get(other);
      if (holder !== undefined && !take(holder, tried)) return false;
      takenBy.set(other, one);
      return true;
    });
  if (!before.every((one) => take(one, new Set()))) return undefined;
  return after.filter((other) => !takenBy.has(other));
}

/** Links differ: they lead to the successors of nodes, commits and threads. */
function isSameText(before: string, after: string): boolean {
  const isLink = [isNodeHash, isObjectId, isThreadId].some((is) => is(before) && is(after));
  return isLink || isMarked(before, after);
}

/** The snapshot of a step, by its node. */
async function snapshotOf(
  objects: ObjectReader,
  commit: Commit,
  nodes: readonly [string, StoredNode][],
): Promise<Commit | undefined> {
  const { payload } = nodes.find(([path]) => path === 'step.json')?.[1] ?? {};
  const { workspace } = isJsonObject(payload) ? payload : {};
  const { commit: id } = isJsonObject(workspace) ? workspace : {};
  return typeof id === 'string' && isObjectId(id) ? readSnapshot(objects, id, commit) : undefined;
}

/** Compares snapshots to the first parent that stayed: the work tree of a branch begins at a snapshot of its caller. */
async function isSameSnapshot(objects: ObjectReader, before: Commit, after: Commit): Promise<boolean> {
  for (let [was, is] = [before, after]; ;) {
    const [[parent, ...merged], [now, ...mergedNow]] = [was.parents, is.parents];
    if (String(merged) !== String(mergedNow) || (parent === undefined) !== (now === undefined)) return false;
    if (!isMarked(was.message, is.message) || !(await isSameTree(objects, was.tree, is.tree))) return false;
    if (parent === undefined || now === undefined || parent === now) return true;
    [was, is] = [await readCommit(objects, parent), await readCommit(objects, now)];
  }
}

async function isSameTree(objects: ObjectReader, before: ObjectId, after: ObjectId): Promise<boolean> {
  if (before === after) return true;
  const left = await readAnyTree(objects, after);
  for (const line of await readAnyTree(objects, before)) {
    const at = left.findIndex(({ name, mode }) => mode === line.mode && isMarkedBytes(line.name, name));
    const [other] = at === -1 ? [] : left.splice(at, 1);
    if (other === undefined) return false;
    if (other.id === line.id) continue;
    const isFolder = kindOfMode(line.mode) === 'folder';
    if (!(await (isFolder ? isSameTree : isSameFile)(objects, line.id, other.id))) return false;
  }
  return left.length === 0;
}

async function isSameFile(objects: ObjectReader, before: ObjectId, after: ObjectId): Promise<boolean> {
  const read = async (id: ObjectId): Promise<string> =>
    Buffer.from(await readBlob(objects, id, { maxBytes: MAX_FILE_BYTES })).toString('latin1');
  const [was, is] = [await read(before), await read(after)];
  return isMarkedBytes(was, is) || isMarked(inUtf16(was), inUtf16(is));
}

/** @param before in Latin-1: each byte is a character, the quotes of a mark being three */
function isMarkedBytes(before: string, after: string): boolean {
  const quotes = (text: string): string => text.replaceAll('\xe2\x80\xb9', '‹').replaceAll('\xe2\x80\xba', '›');
  return isMarked(quotes(before), quotes(after));
}

function inUtf16(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString('utf16le');
}
