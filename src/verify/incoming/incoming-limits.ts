import { NODE_LIMITS, countOf, whyNoJson } from '../../cas/node-limits.ts';
import { CorruptObject } from '../../git/format/object-errors.ts';
import type { GitObject, ObjectId } from '../../git/format/object-id.ts';
import type { ObjectStore } from '../../git/object-store.ts';
import type { Repository } from '../../git/repository.ts';
import type { IncomingObjects } from '../../git/transport/remote.ts';
import { MAX_COMMIT_BYTES, MAX_FILE_BYTES, MAX_PARENTS } from '../../thread/draft-commit.ts';

/** Limits of what is accepted from a remote. */
export type IncomingLimits = {
  /** A node, a tree, an index. */
  maxObjectBytes: number;
  maxCommitBytes: number;
  /** Lists, maps and values of one node. */
  maxJsonValues: number;
  maxJsonDepth: number;
  maxParents: number;
  /** A file that a step recorded or that an artifact pins. */
  maxFileBytes: number;
  /** Files and folders of a recorded work tree or a pinned tree, counted at every path. */
  maxFiles: number;
  maxDepth: number;
  /** New commits of one chain. Each takes 100 bytes of memory. */
  maxCommits: number;
  /** Nodes that the check of one thread has to know. Each takes 150 bytes of memory. */
  maxNodes: number;
  /** Commits of the user's code that the threads of one fetch bring. */
  maxCodeObjects: number;
};

/** Default limits: far above what agents make, and far below the memory of a machine. */
export const INCOMING_LIMITS: IncomingLimits = {
  maxObjectBytes: NODE_LIMITS.maxBytes,
  maxCommitBytes: MAX_COMMIT_BYTES,
  maxJsonValues: NODE_LIMITS.maxValues,
  maxJsonDepth: NODE_LIMITS.maxDepth,
  maxParents: MAX_PARENTS,
  maxFileBytes: MAX_FILE_BYTES,
  maxFiles: 1_000_000,
  maxDepth: 100,
  maxCommits: 500_000,
  maxNodes: 1_000_000,
  maxCodeObjects: 2_000_000,
};

/**
 * A read-only view of objects from a remote, within limits. An object that is too large is not read. An object whose parsing
 * would overflow the stack, or take many times its size in memory, is refused.
 *
 * A refused object is a fault of the data (`ObjectTooLarge`, `CorruptObject`).
 */
export function boundedObjects(objects: ObjectStore, limits: IncomingLimits): ObjectStore {
  return {
    format: objects.format,
    async read(id, options) {
      const maxBytes = Math.min(options?.maxBytes ?? Infinity, limits.maxObjectBytes);
      const object = await objects.read(id, { maxBytes });
      const reason = object && whyNot(object, limits);
      if (reason !== undefined) throw new CorruptObject(id, reason);
      return object;
    },
    has: (id: ObjectId) => objects.has(id),
    write: () => Promise.reject(new Error('fetched objects are read only')),
    close: () => objects.close(),
  };
}

function whyNot({ type, data }: GitObject, limits: IncomingLimits): string | undefined {
  if (type === 'commit') {
    if (data.byteLength > limits.maxCommitBytes)
      return `it has more than the ${limits.maxCommitBytes} bytes of a commit`;
    // A parsed parent takes more memory than its line.
    const parents = countOf(data, '\nparent ', limits.maxParents);
    return parents > limits.maxParents ? `it has more than ${limits.maxParents} parents` : undefined;
  }
  const { maxJsonDepth: maxDepth, maxJsonValues: maxValues } = limits;
  return type === 'blob' ? whyNoJson(data, { maxDepth, maxValues }) : undefined;
}

/** A read-only view of the repository with the fetched objects. */
export function incomingView(repository: Repository, incoming: IncomingObjects): Repository {
  const { refs, location, stateDir, committer, now } = repository;
  const objects: ObjectStore = {
    format: repository.objects.format,
    read: (id, options) => incoming.objects.read(id, options),
    has: (id) => incoming.objects.has(id),
    write: () => Promise.reject(new Error('fetched objects are read only')),
    close: async () => {},
  };
  return { objects, refs, location, stateDir, committer, now, close: async () => {} };
}
