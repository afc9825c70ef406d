import { closeSync, constants, fstatSync, openSync, renameSync, rmSync, statSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { UwfError } from '../errors.ts';
import { CorruptObject, errnoOf, isShortOfFiles, ObjectMissing } from '../git/format/errors.ts';
import { hashObject, isObjectId, type ObjectFormat, type ObjectId } from '../git/format/object-id.ts';
import type { Repository } from '../git/repository.ts';
import { readCommit } from '../git/stores/read.ts';
import { isOlderThan, makeFolders, readAt, share, whileOpen } from '../git/system/files.ts';
import { inPlaceOf, tryTo } from '../or-else.ts';
import { type CommitNodes, readCommitNodes, readNodeAt } from './commit-nodes.ts';
import { InvalidNodeHash, isNodeHash, type NodeHash } from './hash.ts';
import { HashCollision, HashMismatch, type NodeSource, NotCanonical, type StoredNode } from './node.ts';
import { bytesOf, DamagedRecords, type ReadRange, RecordFile, writeRecordFile } from './record-file.ts';

/** The nodes of all threads and workflows of a repository, of its registered schemas, and of what was put. */
interface RepositoryNodes extends NodeSource {
  /**
   * Lists the hashes of nodes that start with some characters, in order; case does not matter.
   * @throws {InvalidNodeHash} if no hash can start so
   */
  findByPrefix(prefix: string): Promise<NodeHash[]>;
}

const lookups = new WeakMap<Repository, Lookup>();

/**
 * The source that finds a node wherever in the repository it lies.
 *
 * Where two different nodes share a hash it refuses to choose (`HashCollision`); within a thread there is one
 * (`nodesBehind`). It ignores missing blobs, and, if one blob is the node, blobs that are another node.
 */
export function repositoryNodes(repository: Repository): RepositoryNodes {
  const lookup = lookupOf(repository);
  return {
    async find(hash) {
      const known = await choose(repository, hash, lookup.knownBlobs(hash));
      return known.node ?? findAnew(repository, lookup, hash, known.refused);
    },
    async findByPrefix(prefix) {
      const [low, high] = bounds(prefix);
      const put = (await lookup.unclaimed()).filter(({ hash }) => hash.startsWith(prefix.toUpperCase()));
      const candidates = [...(await lookup.between(low, high)), ...put];
      const present = new Set<NodeHash>();
      for (const { hash, oid } of candidates) if (await repository.objects.has(oid)) present.add(hash);
      return [...present].toSorted();
    },
  };
}

/** Rebuilds the local lookup from the refs. @returns how many commits were read, and of how many different nodes */
export function reindex(repository: Repository): Promise<{ commits: number; nodes: number }> {
  return lookupOf(repository).rebuild();
}

export function lookupOf(repository: Repository): Lookup {
  const lookup = lookups.get(repository) ?? new Lookup(repository);
  lookups.set(repository, lookup);
  return lookup;
}

/** Searches for a node that the lookup does not lead to: at the scratch refs, then in commits added since the last update. */
async function findAnew(
  repository: Repository,
  lookup: Lookup,
  hash: NodeHash,
  refused: UwfError | undefined,
): Promise<StoredNode | undefined> {
  const unclaimed = (await lookup.unclaimed()).filter((put) => put.hash === hash);
  const put = await choose(repository, hash, new Set(unclaimed.map(({ oid }) => oid)));
  if (put.node !== undefined) return put.node;
  await lookup.update();
  const updated = await choose(repository, hash, lookup.knownBlobs(hash));
  const why = refused ?? put.refused ?? updated.refused;
  if (updated.node === undefined && why !== undefined) throw why;
  return updated.node;
}

/** The one candidate that is the node, if there is one, and else why the others are not. */
async function choose(
  repository: Repository,
  hash: NodeHash,
  oids: Iterable<ObjectId>,
): Promise<{ node: StoredNode | undefined; refused: UwfError | undefined }> {
  let refused: UwfError | undefined;
  let chosen: StoredNode | undefined;
  for (const oid of oids) {
    try {
      const node = await readNodeAt(repository, { hash, oid });
      if (chosen !== undefined) throw new HashCollision(hash, [chosen.oid, node.oid]);
      chosen = node;
    } catch (error) {
      if (error instanceof ObjectMissing) continue;
      const isRefused =
        error instanceof HashMismatch || error instanceof NotCanonical || error instanceof CorruptObject;
      if (!isRefused) throw error;
      refused = error;
    }
  }
  return { node: chosen, refused };
}

/** The smallest and the largest hash that starts with a prefix. */
function bounds(prefix: string): [NodeHash, NodeHash] {
  const text = prefix.toUpperCase();
  const [first, last] = [text.padEnd(13, '0'), text.padEnd(13, 'Z')];
  // An empty prefix fails here too, since no hash starts with Z; it would list the whole repository by mistake.
  if (!isNodeHash(first) || !isNodeHash(last)) throw new InvalidNodeHash(prefix);
  return [first, last];
}

/** An entry of the lookup. The reader has to check that the blob exists and is that node. */
type Candidate = { hash: NodeHash; oid: ObjectId };

const MAX_ATTEMPTS = 10;
/** A new file that nobody has written to for so long is that of a killed process. */
const abandonedAfterMs = 10_000;

/** The file on the disk in which the known records lie. */
type Opened = { descriptor: number; inode: number; size: number };

/**
 * Maps the hash of every node of a repository to the blobs that claim to be it.
 *
 * A cache of data in the refs, updated when a search finds nothing: a file of records, each a node's hash with the id of its blob. A
 * commit whose nodes it has, with those of all commits before, has a record too: its id, behind those of nodes.
 *
 * Several processes may write at once, and the file can be deleted at any time. A process appends to the very file that it has read,
 * so that no record of a commit ever comes into a file that lacks the nodes of the commits before. What it appends to a file that
 * another process has replaced meanwhile is lost, and taken in again by the next update.
 */
export class Lookup {
  readonly #repository: Repository;
  readonly #format: ObjectFormat;
  /** `undefined` without a disk, or where it cannot be written: the records are in memory then. */
  #path: string | undefined;
  #records: RecordFile | undefined;
  #opened: Opened | undefined;
  /** The nodes at scratch refs, and the tips of these refs when they were read. */
  #unclaimed: { at: string; nodes: readonly Candidate[] } = { at: '', nodes: [] };
  #turn: Promise<unknown> = Promise.resolve();

  constructor(repository: Repository) {
    this.#repository = repository;
    this.#format = repository.objects.format;
    this.#path = repository.stateDir === undefined ? undefined : join(repository.stateDir, 'lookup');
  }

  /** The blobs that claim to be a node, by the lookup as it is: it is not updated. */
  knownBlobs(hash: NodeHash): ObjectId[] {
    return this.#ask((records) => blobsIn(records, hash)) ?? [];
  }

  /**
   * The blobs that claim to be a node, by the lookup as it is, if it has the nodes of a commit and of all commits that this one reaches;
   * else `undefined`.
   */
  blobsUpTo(commit: ObjectId, hash: NodeHash): ObjectId[] | undefined {
    return this.#ask((records) => (records.has(commitRecord(commit)) ? blobsIn(records, hash) : undefined));
  }

  /** Asks the records as they were when they were last read. If they are damaged, forgets them; the answer is `undefined` then. */
  #ask<T>(question: (records: RecordFile) => T): T | undefined {
    try {
      return question(this.#records ?? this.#refresh());
    } catch (error) {
      this.#forgetIfDamaged(error);
      return undefined;
    }
  }

  /** All nodes that the refs reach whose hashes lie between two, both included. */
  between(low: NodeHash, high: NodeHash): Promise<Candidate[]> {
    return this.#mending(async () => {
      await this.update();
      return candidatesIn(this.#records ?? this.#refresh(), low, high);
    });
  }

  /** The nodes at scratch refs. They are read if one of these refs has moved since the last time. */
  async unclaimed(): Promise<readonly Candidate[]> {
    const refs = (await this.#repository.refs.list('refs/uwf/')).filter(({ name }) => volatileRef.test(name));
    const at = refs.map(({ id }) => id).join(' ');
    if (this.#unclaimed.at === at) return this.#unclaimed.nodes;
    const nodes: Candidate[] = [];
    for (const { id } of refs) nodes.push(...((await readCommitNodes(this.#repository, id)).entries ?? []));
    this.#unclaimed = { at, nodes };
    return nodes;
  }

  /** Takes in the commits that the refs reach and the lookup lacks. Concurrent updates run one after another. */
  update(): Promise<void> {
    return this.#inTurn(() => this.#mending(() => this.#takeIn(this.#refresh())));
  }

  /** If the process is killed, the records written so far stay. They are correct, and the next update adds the rest. */
  rebuild(): Promise<{ commits: number; nodes: number }> {
    return this.#inTurn(() =>
      this.#mending(async () => {
        this.#opened = undefined;
        await this.#takeIn((this.#records = this.#inMemory([])));
        return countOf(this.#write(this.#records, [], true));
      }),
    );
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => undefined);
    return result;
  }

  /** Does work that reads the records. If they are damaged, forgets them and does the work again. */
  async #mending<T>(work: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work();
      } catch (error) {
        if (attempt === MAX_ATTEMPTS) throw error;
        this.#forgetIfDamaged(error);
      }
    }
  }

  #forgetIfDamaged(error: unknown): void {
    if (!(error instanceof DamagedRecords)) throw error;
    const path = this.#path;
    try {
      // A folder too, hence `recursive`: uwf never makes one there, and it would be in the way.
      if (path !== undefined) rmSync(path, { recursive: true, force: true });
    } catch {
      // What cannot be removed cannot be trusted: this process has its own records in memory.
      this.#path = undefined;
    }
    this.#opened = undefined;
    this.#records = undefined;
  }

  #inMemory(records: Iterable<string>): RecordFile {
    const pieces: Buffer[] = [];
    writeRecordFile(this.#format, records, (bytes, at) => (at === 0 ? pieces.unshift(bytes) : pieces.push(bytes)));
    const whole = Buffer.concat(pieces);
    return new RecordFile(this.#format, (start, end) => whole.subarray(start, end));
  }

  /** Opens the file, if that has not been done or another process has replaced it, and reads what others have appended. */
  #refresh(): RecordFile {
    try {
      const found = this.#path === undefined ? undefined : statSync(this.#path, { throwIfNoEntry: false });
      if (this.#path !== undefined && found !== undefined && found.ino !== this.#opened?.inode) this.#open(this.#path);
      else if (this.#opened !== undefined && found === undefined) this.#opened = this.#records = undefined;
      else if (this.#opened !== undefined && found?.size !== this.#opened.size) {
        this.#opened.size = fstatSync(this.#opened.descriptor).size;
        this.#records?.readTail();
      }
    } catch (error) {
      // Not damage of the file. Taken for damage, it would be removed, and could not be worked out again either.
      if (isShortOfFiles(error) || errnoOf(error) === undefined) throw error;
      throw new DamagedRecords();
    }
    return (this.#records ??= this.#inMemory([]));
  }

  #open(path: string): void {
    const descriptor = openFile(path);
    const read: ReadRange = (start, end = fstatSync(descriptor).size) => {
      if (end < start) throw new DamagedRecords();
      return readAt(descriptor, Buffer.allocUnsafe(end - start), start);
    };
    // Open as long as it can be read; another process may remove the file meanwhile.
    openFiles.register(read, descriptor);
    const stats = fstatSync(descriptor);
    if (!stats.isFile()) throw new DamagedRecords();
    this.#records = new RecordFile(this.#format, read);
    this.#opened = { descriptor, inode: stats.ino, size: stats.size };
  }

  /** Takes in the commits that the refs reach, down to those that the records have. */
  async #takeIn(known: RecordFile): Promise<void> {
    let records = known;
    const isKnown = (commit: ObjectId): boolean => records.has(commitRecord(commit));
    for await (const added of readNewCommits(this.#repository, isKnown)) records = this.#write(records, added);
  }

  /** Adds records to those on which they stand. @returns all of them */
  #write(records: RecordFile, added: readonly string[], isSorted: boolean = false): RecordFile {
    // Another caller has found the records damaged since.
    if (records !== this.#records) throw new DamagedRecords();
    try {
      if (isSorted || !records.takes(added) || !this.#append(added)) this.#replace(records.merged(added));
      else records.remember(added);
    } catch (error) {
      if (error instanceof DamagedRecords || isShortOfFiles(error)) throw error;
      // A full or read-only disk must not prevent reading, and nothing may be appended to a file that lacks these.
      this.#opened = undefined;
      this.#records = this.#inMemory(records.merged(added));
    }
    return this.#records;
  }

  /** Appends to the file; false if there is none. It is not synced: what a power cut leaves of it ends at a line that is not whole. */
  #append(added: readonly string[]): boolean {
    if (this.#opened === undefined) return this.#path === undefined;
    const bytes = bytesOf(added);
    if (writeSync(this.#opened.descriptor, bytes) < bytes.length) throw new Error('no room');
    this.#opened.size += bytes.length;
    return true;
  }

  /** Replaces the file. It is not synced, as appended records are not. */
  #replace(records: Iterable<string>): void {
    const path = this.#path;
    if (path === undefined) {
      this.#records = this.#inMemory(records);
      return;
    }
    const temporary = `${path}.tmp`;
    makeFolders(dirname(path));
    if (isOlderThan(temporary, abandonedAfterMs)) rmSync(temporary, { recursive: true, force: true });
    const descriptor = openSync(temporary, 'wx');
    try {
      whileOpen(descriptor, () =>
        writeRecordFile(this.#format, records, (bytes, at) => writeAt(descriptor, bytes, at)),
      );
      share(temporary);
      // Before it is renamed, because another process may replace it at once.
      this.#open(temporary);
      renameSync(temporary, path);
    } catch (error) {
      tryTo(() => rmSync(temporary));
      throw error;
    }
  }
}

// Closes the files of a lookup that cannot be reached any more: a repository has no `close` that could do it.
const openFiles = new FinalizationRegistry<number>((descriptor) => closeSync(descriptor));

const { O_APPEND, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_RDWR } = constants;

/** Opens the file, to append to it as well if that is allowed. */
function openFile(path: string): number {
  try {
    return openSync(path, O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    if (!['EACCES', 'EPERM', 'EROFS'].includes(errnoOf(error) ?? '')) throw error;
    return openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  }
}

function writeAt(descriptor: number, bytes: Buffer, position: number): void {
  for (let written = 0; written < bytes.length;) {
    written += writeSync(descriptor, bytes, written, bytes.length - written, position + written);
  }
}

function candidatesIn(records: RecordFile, low: NodeHash, high: NodeHash): Candidate[] {
  return [...records.between(low, high)].flatMap((record) => {
    const [hash, oid] = [record.slice(0, 13), record.slice(14)];
    return isNodeHash(hash) && isObjectId(oid) ? [{ hash, oid }] : [];
  });
}

function blobsIn(records: RecordFile, hash: NodeHash): ObjectId[] {
  return [...new Set(candidatesIn(records, hash, hash).map(({ oid }) => oid))];
}

function countOf(records: RecordFile): { commits: number; nodes: number } {
  let [commits, nodes] = [0, 0];
  let last = '';
  for (const record of records.sorted()) {
    const hash = record.slice(0, 13);
    if (!isNodeHash(hash)) commits += 1;
    // Several blobs may claim to be one node.
    else if (hash !== last) nodes += 1;
    last = hash;
  }
  return { commits, nodes };
}

const prefixes = ['refs/threads/', 'refs/history/', 'refs/workflows/', 'refs/uwf/'];
/** Refs of nodes that no step has taken in yet. They can be dropped again, and nothing is ever taken out of the lookup. */
const volatileRef: RegExp = /^refs\/uwf\/(?:scratch\/.+|pins)$/;
/** Records are handed out when this many have been collected. */
const MAX_COLLECTED = 150_000;

/**
 * Reads commits from all refs of uwf down to those that are known, and returns records of their nodes, and then of themselves: what is cut off
 * anywhere has no commit without its nodes.
 */
async function* readNewCommits(repository: Repository, isKnown: (id: ObjectId) => boolean): AsyncGenerator<string[]> {
  const { objects, refs } = repository;
  // The tree of the commits that keep the ends of archived threads.
  const emptyTree = hashObject({ type: 'tree', data: Buffer.alloc(0) }, objects.format);
  let [nodes, commits]: [string[], string[]] = [[], []];
  /** The bytes of ids, one per character. The id itself is a slice of its commit's text, and would keep that text in memory. */
  const met = new Set<string>();
  const listed = await Promise.all(prefixes.map((prefix) => refs.list(prefix)));
  const tips = listed.flat().flatMap(({ name, id }) => (volatileRef.test(name) ? [] : [id]));
  // In order, so that neighbours are found on the same pages of the lookup.
  for (const tip of tips.toSorted()) {
    const pending = [tip];
    for (let id = pending.pop(); id !== undefined; id = pending.pop()) {
      const key = Buffer.from(id, 'hex').toString('latin1');
      if (met.has(key)) continue;
      met.add(key);
      if (isKnown(id)) continue;
      // Missing is the end of a shallow history (deepened later, it takes a rebuild), or a thread that was removed and
      // collected while we were reading.
      const read = async (): Promise<CommitNodes & { tree: ObjectId }> => {
        const commit = await readCommit(objects, id);
        return { tree: commit.tree, ...(await readCommitNodes(repository, id, commit)) };
      };
      const commit = await read().catch(inPlaceOf(ObjectMissing, undefined));
      if (commit === undefined) continue;
      commits.push(commitRecord(id));
      for (const { hash, oid } of commit.entries ?? []) nodes.push(`${hash} ${oid}`);
      // The user's own commits have records, but neither they nor their ancestors hold nodes. Reading goes on behind every
      // commit with the empty tree, also one of the user's own: what is known behind a commit must not depend on the ref
      // from which it was reached first.
      if (commit.entries !== undefined || commit.tree === emptyTree) pending.push(...commit.parents);
    }
    // Only between tips: a commit has a record only if the nodes of all commits before it are in the lookup.
    if (nodes.length + commits.length < MAX_COLLECTED) continue;
    yield [...nodes, ...commits];
    [nodes, commits] = [[], []];
    met.clear();
  }
  if (commits.length > 0) yield [...nodes, ...commits];
}

/** The record of a commit: `~` and the beginning of its id stand in place of a hash, which has no `~`. */
function commitRecord(id: ObjectId): string {
  return `~${id.slice(0, 12)} ${id}`;
}
