import { join } from 'node:path';
import type { Repository } from '../../git/repository.ts';
import type { ThreadId } from '../thread-id.ts';

/** The kinds of data about a thread that this machine caches. */
export type DerivedKind = 'tally' | 'nodes';

/**
 * The file of one kind of derived data of a thread; `undefined` in a repository without a disk. All files of a thread lie
 * beside each other, so that they are removed together.
 */
export function derivedPath({ stateDir }: Repository, id: ThreadId, kind: DerivedKind): string | undefined {
  // The last two characters are random, so that a folder of 100,000 threads is 1,024 small ones.
  return stateDir === undefined ? undefined : join(stateDir, 'facts', id.slice(-2), `${id}.${kind}`);
}
