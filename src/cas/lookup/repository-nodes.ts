import type { UwfError } from '../../errors.ts';
import { CorruptObject, ObjectMissing } from '../../git/format/object-errors.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { readNodeAt } from '../commit-nodes.ts';
import { hashBits, InvalidNodeHash, isNodeHash } from '../hash.ts';
import type { NodeHash } from '../hash.ts';
import { HashMismatch, NotCanonical } from '../node.ts';
import { HashCollision } from '../node-source.ts';
import type { NodeSource, StoredNode } from '../node-source.ts';
import { Lookup } from './lookup.ts';

/** The nodes of all threads and workflows of a repository, of its registered schemas, and of what was put. */
export interface RepositoryNodes extends NodeSource {
  /**
   * Lists the hashes of nodes that start with some characters, in order; case does not matter.
   *
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

/**
 * Rebuilds the local lookup from the refs.
 *
 * @returns how many commits were read, and how many different nodes they hold
 */
export function reindex(repository: Repository): Promise<{ commits: number; nodes: number }> {
  return lookupOf(repository).rebuild();
}

/** The local lookup of a repository. */
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

/** The smallest and the largest 64 bits whose hash starts with a prefix. */
function bounds(prefix: string): [bigint, bigint] {
  const text = prefix.toUpperCase();
  const [first, last] = [text.padEnd(13, '0'), text.padEnd(13, 'Z')];
  // An empty prefix fails here too, since no hash starts with Z; it would list the whole repository by mistake.
  if (!isNodeHash(first) || !isNodeHash(last)) throw new InvalidNodeHash(prefix);
  return [hashBits(first), hashBits(last)];
}
