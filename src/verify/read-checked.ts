import { INDEX_NAME, type IndexEntry, nodesBehind, parseIndex } from '../cas/commit-nodes.ts';
import { type NodeHash, prepareHashing } from '../cas/hash.ts';
import { MAX_SCHEMA_BYTES } from '../cas/canonical.ts';
import type { Lookup } from '../cas/lookup.ts';
import { PINNED_FOLDER } from '../cas/node-tree.ts';
import { combineSources, decodeNode, HashCollision, type NodeSource, type StoredNode } from '../cas/node.ts';
import { UwfError } from '../errors.ts';
import { ObjectTooLarge } from '../git/format/errors.ts';
import { alone, formatOfId, type ObjectId } from '../git/format/object-id.ts';
import { type Commit, encodeCommit, parseCommit, type TreeEntry, type TreeMode } from '../git/format/objects.ts';
import type { Repository } from '../git/repository.ts';
import { readBlob, readCommitData, readTree } from '../git/stores/read.ts';
import { inPlaceOf } from '../or-else.ts';
import { builtIn } from '../schema/built-in.ts';
import { assertValid } from '../schema/validate.ts';
import { eventOf, indexedFolder, kindOfFile, type ThreadCommit, type ThreadEvent } from '../thread/thread-commit.ts';
import { attempt, type ReportFault } from './find-chain.ts';

/** A commit of a thread whose node is valid, and its files. */
export type CheckedCommit = {
  commit: ThreadCommit;
  files: CommitFiles;
  /** Why its object differs from what uwf writes; `undefined` if it does not. */
  fault: string | undefined;
};

/** Reads a commit of a thread, all folders of its tree, and its node. @returns `undefined` if it is no commit of a thread */
export async function readChecked(
  cache: NodeCache,
  id: ObjectId,
  report: ReportFault,
): Promise<CheckedCommit | undefined> {
  const { repository } = cache;
  const data = await attempt(report, null, () => readCommitData(repository.objects, id));
  const commit = data && (await attempt(report, null, async () => parseCommit(data, formatOfId(id))));
  if (data === undefined || commit === undefined) return undefined;
  const files = await readFiles(repository, commit.tree, report);
  const named = files.index.flatMap((entry) => {
    const kind = kindOfFile(entry.path);
    return kind === undefined ? [] : [{ entry, kind }];
  });
  const [only, second] = named;
  if (only === undefined || second !== undefined) {
    const found = second === undefined ? 'none' : `${named.length}`;
    report(null, `its tree has to have one of start, step, suspend, resume and end.json; it has ${found}`);
    return undefined;
  }
  const { entry, kind } = only;
  const event = await attempt(report, entry.path, () => readEvent(cache, id, entry, kind));
  return (
    event && {
      commit: { id, commit, index: files.index, hash: entry.hash, ...event },
      files,
      fault: faultOfHeaders(data, commit),
    }
  );
}

async function readEvent(
  cache: NodeCache,
  id: ObjectId,
  entry: IndexEntry,
  kind: ThreadCommit['kind'],
): Promise<ThreadEvent> {
  const node = await cache.read(entry);
  const event = eventOf(id, kind, node);
  await assertValid(node.type, node.payload);
  return event;
}

/** Headers of a signature, which a user may add. Their values continue on lines that begin with a space. */
const signatures = /^gpgsig(?:-sha256)? [^\n]*\n(?: [^\n]*\n)*/gm;

/**
 * Returns a fault if a commit's bytes differ from what uwf writes: other headers (`encoding`, or unknown ones), dates in
 * another time zone, or names that git does not write. A signature is allowed.
 */
function faultOfHeaders(data: Uint8Array, commit: Commit): string | undefined {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const end = bytes.indexOf('\n\n') + 1;
  const headers = bytes.toString('latin1', 0, end).replaceAll(signatures, '');
  try {
    const expected = Buffer.from(encodeCommit(commit));
    if (Buffer.concat([Buffer.from(headers, 'latin1'), bytes.subarray(end)]).equals(expected)) return undefined;
  } catch {
    // uwf cannot write this commit.
  }
  return 'it is not as uwf writes a commit: it has other headers than tree, parent, author, committer and a signature, or they are written differently';
}

export type CommitFiles = {
  /** The nodes that the indexes list, with their paths from the root. */
  index: IndexEntry[];
  /** The trees and blobs that artifacts pin, by their names in `pinned/`. */
  pinned: readonly TreeEntry[];
};

/** Limits, because a small number of objects can form a tree with more paths than can be counted. */
const MAX_FILES = 100_000;
const MAX_DEPTH = 16;

type TreeFile = { path: string; mode: TreeMode; id: ObjectId };

/**
 * Reads all folders of the tree of a thread's commit, and checks that each index lists the nodes of its part of the tree and
 * nothing else.
 */
export async function readFiles(repository: Repository, tree: ObjectId, report: ReportFault): Promise<CommitFiles> {
  const files: TreeFile[] = [];
  let pinned: readonly TreeEntry[] = [];
  let count = 0;
  const visit = async (id: ObjectId, folder: string, depth: number): Promise<void> => {
    if (depth > MAX_DEPTH) return report(folder, `it lies deeper than ${MAX_DEPTH} folders`);
    const entries = await attempt(report, folder || null, () => readTree(repository.objects, id));
    if (entries?.length === 0) report(folder || null, 'it is an empty folder');
    for (const { name, mode, id: child } of entries ?? []) {
      count += 1;
      if (count === MAX_FILES + 1) report(null, `its tree has more than ${MAX_FILES} files`);
      if (count > MAX_FILES) return;
      const path = folder + name;
      if (path === PINNED_FOLDER && mode === '040000') {
        pinned = (await attempt(report, path, () => readTree(repository.objects, child))) ?? [];
        if (pinned.length === 0) report(path, 'it is an empty folder');
      } else if (mode === '040000') await visit(child, `${path}/`, depth + 1);
      else files.push({ path, mode, id: child });
    }
  };
  await visit(tree, '', 1);
  const index: IndexEntry[] = [];
  const parts = new Map<string, TreeFile[]>([['', []]]);
  for (const file of files) {
    const folder = indexedFolder(file.path);
    const part = parts.get(folder) ?? [];
    parts.set(folder, part);
    part.push(file);
  }
  for (const [folder, part] of parts) index.push(...(await readIndex(repository, folder, part, report)));
  return { index, pinned };
}

async function readIndex(
  repository: Repository,
  folder: string,
  files: readonly TreeFile[],
  report: ReportFault,
): Promise<IndexEntry[]> {
  const path = folder + INDEX_NAME;
  const blob = files.find((file) => file.path === path);
  if (blob === undefined) {
    report(path, 'the tree has no index');
    return [];
  }
  const lines = await attempt(report, path, async () =>
    parseIndex(Buffer.from(await readBlob(repository.objects, blob.id)).toString('utf8')),
  );
  if (lines === undefined) return [];
  const listed = new Map(lines.map((line) => [folder + line.path, line]));
  for (const file of files) {
    if (file.mode !== '100644') report(file.path, `it has the mode ${file.mode}, not 100644`);
    if (file === blob) continue;
    const line = listed.get(file.path);
    if (line === undefined) report(file.path, 'the index does not list it');
    else if (line.oid !== file.id) report(file.path, `the index says object ${line.oid}, the tree has ${file.id}`);
  }
  const present = new Set(files.map((file) => file.path));
  const found: IndexEntry[] = [];
  for (const [full, line] of listed) {
    if (present.has(full)) found.push({ ...line, path: full });
    else report(full, 'the index lists it, and the tree does not have it');
  }
  return found;
}

/** A commit that was verified before. */
export type EarlierCommit = {
  /** The nodes of its tree. */
  entries: readonly IndexEntry[];
  /** The commit before it; `undefined` for a start. */
  previous: ObjectId | undefined;
  furtherParents: readonly ObjectId[];
};

/** The verified commits of a thread before those that are checked. */
export type EarlierCommits = {
  /** The newest of them. */
  head: ObjectId;
  read: (id: ObjectId) => Promise<EarlierCommit>;
  /** The lookup of the repository that they are in; default: all of them are read where a hash is new. */
  lookup?: Pick<Lookup, 'blobsUpTo' | 'update'> | undefined;
};

/** Where the lookup lacks more commits of a thread than this, it is updated. It takes about as long to read these. */
const MAX_RECALLED = 256;

/**
 * The nodes that a commit of a thread may link to: those of its own tree, of the commits before it, and behind its further
 * parents. Grows while the thread is checked, from its start or from a commit that was verified before.
 */
export class KnownNodes implements NodeSource {
  readonly #cache: NodeCache;
  readonly #maxNodes: number;
  readonly #oids = new Map<NodeHash, ObjectId>();
  readonly #others: NodeSource[] = [];
  /** Nodes behind further parents whose places are known. */
  readonly #behind = new Map<NodeHash, ObjectId>();
  /** The earlier commits whose nodes have not been read, the newest as head. */
  #earlier: EarlierCommits | undefined;
  #recalled = 0;
  #isLookupUpdated = false;
  /** The nodes behind further parents of earlier commits that have been read, the newest first. */
  readonly #othersEarlier: NodeSource[] = [];

  /** @param maxNodes how many nodes may have to be known; default: no limit */
  constructor(cache: NodeCache, maxNodes: number = Infinity) {
    this.#cache = cache;
    this.#maxNodes = maxNodes;
  }

  /** Takes in commits that were verified before. They are read one by one, the newest first, as far as their nodes are asked for. */
  standOn(earlier: EarlierCommits): void {
    this.#earlier = earlier;
  }

  /**
   * Adds a node of the present commit's tree, after its hash was checked.
   * @throws {HashCollision} {UwfError} `too-many-nodes`
   */
  async add(entry: IndexEntry): Promise<StoredNode> {
    const known = await this.#ownBlob(entry);
    if (known !== undefined && known !== entry.oid) throw new HashCollision(entry.hash, [known, entry.oid]);
    const node = await this.#cache.read(entry);
    if (known === undefined) this.recall(entry);
    return node;
  }

  /** Adds all nodes of the present commit's tree. @returns those that could be read, by path */
  async addAll(index: readonly IndexEntry[], report: ReportFault): Promise<Map<string, StoredNode>> {
    const nodes = new Map<string, StoredNode>();
    for (const entry of index) {
      const node = await attempt(report, entry.path, () => this.add(entry));
      if (node) nodes.set(entry.path, node);
    }
    return nodes;
  }

  /** Adds a node of an earlier commit, whose hash was checked with that commit. */
  recall({ hash, oid }: IndexEntry): void {
    // Alone, they keep no index alive that they were cut out of.
    this.#oids.set(alone(hash), alone(oid));
    const maxNodes = this.#maxNodes;
    if (this.#oids.size <= maxNodes) return;
    throw new UwfError(`it has more than ${maxNodes} nodes`, {
      code: 'too-many-nodes',
      kind: 'data',
      facts: { maxNodes },
    });
  }

  addBehind(tip: ObjectId): void {
    this.#others.push(nodesBehind(this.#cache.repository, [tip]));
  }

  /** Adds one node behind a further parent, to which otherwise the whole history may have to be walked. */
  addOneBehind(hash: NodeHash, oid: ObjectId | undefined): void {
    if (oid !== undefined) this.#behind.set(hash, oid);
  }

  async find(hash: NodeHash): Promise<StoredNode | undefined> {
    const oid = this.#oids.get(hash);
    if (oid !== undefined) return this.#cache.read({ hash, oid });
    const behind = this.#behind.get(hash);
    const other =
      behind === undefined
        ? await findIn(this.#others.toReversed(), hash)
        : await this.#cache.read({ hash, oid: behind });
    if (other !== undefined) {
      // A node of the thread itself goes before one behind a further parent.
      const own = (await this.#ownBlob(other)) ?? other.oid;
      return own === other.oid ? other : this.#cache.read({ hash, oid: own });
    }
    while (this.#earlier !== undefined && this.#oids.get(hash) === undefined) await this.#recallNext(this.#earlier);
    const own = this.#oids.get(hash);
    return own === undefined ? findIn(this.#othersEarlier, hash) : this.#cache.read({ hash, oid: own });
  }

  async recallAll(): Promise<void> {
    while (this.#earlier !== undefined) await this.#recallNext(this.#earlier);
  }

  /**
   * The blob that the thread has under the hash of a node. `undefined` if it has none, or if it could only be this node's own: the thread may
   * then have it in a commit that is not read.
   */
  async #ownBlob({ hash, oid }: Pick<IndexEntry, 'hash' | 'oid'>): Promise<ObjectId | undefined> {
    for (;;) {
      const own = this.#oids.get(hash);
      if (own !== undefined || this.#earlier === undefined) return own;
      const blobs = await this.#blobsUpTo(this.#earlier, hash);
      if (blobs === undefined) await this.#recallNext(this.#earlier);
      else if (blobs.every((blob) => blob === oid)) return undefined;
      else await this.recallAll();
    }
  }

  /** The blobs of a hash in earlier commits and elsewhere; `undefined` where the lookup does not have the earlier commits. */
  async #blobsUpTo({ head, lookup }: EarlierCommits, hash: NodeHash): Promise<ObjectId[] | undefined> {
    const blobs = lookup?.blobsUpTo(head, hash);
    if (blobs !== undefined || this.#recalled < MAX_RECALLED || this.#isLookupUpdated) return blobs;
    this.#isLookupUpdated = true;
    // A fault of another thread must not stop the check of this one.
    await lookup?.update().catch(inPlaceOf(UwfError, undefined));
    return lookup?.blobsUpTo(head, hash);
  }

  async #recallNext(earlier: EarlierCommits): Promise<void> {
    const { entries, previous, furtherParents } = await earlier.read(earlier.head);
    // Another search has read it meanwhile.
    if (this.#earlier !== earlier) return;
    for (const entry of entries) this.recall(entry);
    for (const parent of furtherParents.toReversed())
      this.#othersEarlier.push(nodesBehind(this.#cache.repository, [parent]));
    this.#recalled += 1;
    this.#earlier = previous === undefined ? undefined : { ...earlier, head: previous };
  }
}

async function findIn(sources: readonly NodeSource[], hash: NodeHash): Promise<StoredNode | undefined> {
  return combineSources(...sources).find(hash);
}

/** Caches nodes of one repository whose hash was checked, because many commits share them. */
export class NodeCache {
  readonly repository: Repository;
  readonly #nodes = new Map<ObjectId, StoredNode>();
  #bytes = 0;

  constructor(repository: Repository) {
    this.repository = repository;
  }

  /**
   * @throws {HashMismatch} {NotCanonical} {ObjectMissing} {CorruptObject} if the node is missing, damaged or another one
   * @throws {ObjectTooLarge} if it is a schema that is too large to compile
   */
  async read({ hash, oid }: Pick<IndexEntry, 'hash' | 'oid'>): Promise<StoredNode> {
    const known = this.#nodes.get(oid);
    // With forged hashes, one blob can be claimed to be two nodes.
    if (known?.hash === hash) return known;
    const blob = await readBlob(this.repository.objects, oid);
    await prepareHashing();
    const node = { hash, oid, ...decodeNode(hash, blob) };
    const bytes = blob.byteLength;
    if (schemaTypes.has(node.type) && bytes > MAX_SCHEMA_BYTES) throw new ObjectTooLarge(oid, bytes, MAX_SCHEMA_BYTES);
    this.#keep(node, bytes + ENTRY_BYTES);
    return node;
  }

  /** Keeps a node. Where there is no room for it, all others are forgotten: the few that many commits share are soon back. */
  #keep(node: StoredNode, bytes: number): void {
    if (bytes > MAX_CACHED_BYTES) return;
    if (this.#bytes + bytes > MAX_CACHED_BYTES) {
      this.#nodes.clear();
      this.#bytes = 0;
    }
    this.#bytes += bytes;
    this.#nodes.set(node.oid, node);
  }
}

/** Small, because only a full garbage collection frees objects that live this long. */
const MAX_CACHED_BYTES = 2 * 1024 * 1024;
/** The memory that a node takes beside its bytes, approximately. */
const ENTRY_BYTES = 400;

const schemaTypes: ReadonlySet<NodeHash> = new Set([builtIn['meta-schema'], builtIn['role-schema']]);
