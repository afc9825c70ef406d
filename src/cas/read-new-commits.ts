import { ObjectMissing } from '../git/format/object-errors.ts';
import { hashObject, type ObjectId } from '../git/format/object-id.ts';
import type { Repository } from '../git/repository.ts';
import { readCommit } from '../git/stores/read.ts';
import { inPlaceOf } from '../or-else.ts';
import { type CommitNodes, readCommitNodesOnce } from './commit-nodes.ts';
import { hashBits, type NodeHash } from './hash.ts';
import { KEY_BYTES } from './record-file.ts';

const prefixes = ['refs/threads/', 'refs/history/', 'refs/workflows/', 'refs/uwf/'];
/** Refs of nodes that no step has taken in yet. They can be dropped again, and nothing is ever taken out of the lookup. */
export const volatileRef: RegExp = /^refs\/uwf\/(?:scratch\/.+|pins)$/;
/** Records are handed out when this many bytes of them have been collected. */
const MAX_COLLECTED_BYTES = 4 * 1024 * 1024;

/**
 * Reads commits from all refs of uwf down to those that are known, and returns records of their nodes, and then of themselves: what is cut off
 * anywhere has no commit without its nodes.
 */
export async function* readNewCommits(
  repository: Repository,
  isKnown: (id: ObjectId) => boolean,
): AsyncGenerator<Buffer> {
  const { objects, refs } = repository;
  // The tree of the commits that keep the ends of archived threads.
  const emptyTree = hashObject({ type: 'tree', data: Buffer.alloc(0) }, objects.format);
  const [nodes, commits] = [new Bytes(), new Bytes()];
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
        return { tree: commit.tree, ...(await readCommitNodesOnce(repository, id, commit)) };
      };
      const commit = await read().catch(inPlaceOf(ObjectMissing, undefined));
      if (commit === undefined) continue;
      commits.add(commitRecord(id));
      for (const { hash, oid } of commit.entries ?? []) nodes.add(nodeRecord(hash, oid));
      // The user's own commits have records, but neither they nor their ancestors hold nodes. Reading goes on behind every
      // commit with the empty tree, also one of the user's own: what is known behind a commit must not depend on the ref
      // from which it was reached first.
      if (commit.entries !== undefined || commit.tree === emptyTree) pending.push(...commit.parents);
    }
    // Only between tips: a commit has a record only if the nodes of all commits before it are in the lookup.
    if (nodes.length + commits.length < MAX_COLLECTED_BYTES) continue;
    yield Buffer.concat([nodes.take(), commits.take()]);
    met.clear();
  }
  if (commits.length > 0) yield Buffer.concat([nodes.take(), commits.take()]);
}

/** Bytes that are added one after another. */
class Bytes {
  #bytes: Buffer = Buffer.allocUnsafeSlow(4096);
  length = 0;

  add(bytes: Buffer): void {
    if (this.length + bytes.length > this.#bytes.length)
      this.#bytes = Buffer.concat([this.#bytes, Buffer.allocUnsafe(this.#bytes.length)]);
    this.length += bytes.copy(this.#bytes, this.length);
  }

  /** All of them. They stay valid until others are added. */
  take(): Buffer {
    const { length } = this;
    this.length = 0;
    return this.#bytes.subarray(0, length);
  }
}

/** The record of a commit. No node has such a one by chance, nor by less than 2^64 tries. */
export function commitRecord(id: ObjectId): Buffer {
  return Buffer.from(id.slice(0, 2 * KEY_BYTES) + id, 'hex');
}

function nodeRecord(hash: NodeHash, oid: ObjectId): Buffer {
  const record = Buffer.allocUnsafe(KEY_BYTES + oid.length / 2);
  record.writeBigUInt64BE(hashBits(hash));
  record.write(oid, KEY_BYTES, 'hex');
  return record;
}
