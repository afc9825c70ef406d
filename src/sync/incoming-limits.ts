import { NODE_LIMITS } from '../cas/node-limits.ts';
import { limitsOnDisk } from '../git/http/incoming-limits.ts';
import { MAX_COMMIT_BYTES, MAX_PARENTS } from '../thread/commit-limits.ts';

/** How much of what came from elsewhere is looked at before it is refused. */
export type IncomingLimits = {
  /** A node, a tree, an index. */
  maxObjectBytes: number;
  maxCommitBytes: number;
  /** Lists, maps and values of one node. */
  maxJsonValues: number;
  maxJsonDepth: number;
  maxParents: number;
  /** A file that a step recorded or that an artifact pins; the same whichever way it came. */
  maxFileBytes: number;
  /** Files and folders of a recorded work tree or a pinned tree, one that stands in two places counted twice. */
  maxFiles: number;
  maxDepth: number;
  /** Objects of somebody's code that the threads of one fetch bring along. */
  maxCodeObjects: number;
};

/** What holds unless somebody says otherwise: well above what agents make, and well below what memory holds. */
export const INCOMING_LIMITS: IncomingLimits = {
  maxObjectBytes: NODE_LIMITS.maxBytes,
  maxCommitBytes: MAX_COMMIT_BYTES,
  maxJsonValues: NODE_LIMITS.maxValues,
  maxJsonDepth: NODE_LIMITS.maxDepth,
  maxParents: MAX_PARENTS,
  maxFileBytes: limitsOnDisk.objectBytes,
  maxFiles: 1_000_000,
  maxDepth: 100,
  maxCodeObjects: 2_000_000,
};
