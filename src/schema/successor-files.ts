import type { NodeHash } from '../cas/hash.ts';
import type { NodeFile } from '../cas/node-tree.ts';
import { typePath } from '../cas/scratch.ts';
import { encodeBuiltIn, isSuccessor } from './built-in.ts';

/** The schemas of those types that are successors, as files for the first commit that uses them. */
export function successorFiles(types: readonly NodeHash[]): NodeFile[] {
  return [...new Set(types)].filter(isSuccessor).map((type) => ({ path: typePath(type), node: encodeBuiltIn(type) }));
}
