import { limitsOnDisk } from '../git/http/incoming-limits.ts';

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

const MIB = 1024 * 1024;

/** What holds unless somebody says otherwise: well above what agents make, and well below what memory holds. */
export const INCOMING_LIMITS: IncomingLimits = {
  maxObjectBytes: 16 * MIB,
  maxCommitBytes: MIB,
  maxJsonValues: 500_000,
  maxJsonDepth: 500,
  maxParents: 2_000,
  maxFileBytes: limitsOnDisk.objectBytes,
  maxFiles: 1_000_000,
  maxDepth: 100,
  maxCodeObjects: 2_000_000,
};
