import { NODE_LIMITS } from '../../cas/node-limits.ts';
import { MAX_COMMIT_BYTES, MAX_FILE_BYTES, MAX_PARENTS } from '../../thread/append/commit-limits.ts';

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
  /** Nodes that the check of one thread has to know. Each takes 43 bytes of memory or more. */
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
  maxNodes: 3_000_000,
  maxCodeObjects: 2_000_000,
};
