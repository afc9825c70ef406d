import type { ObjectId } from '../../git/format/object-id.ts';
import type { ThreadCommit } from '../thread-commit.ts';

/** The blob of a step's reply; none for other commits. */
export function replyOf({ kind, index }: Pick<ThreadCommit, 'kind' | 'index'>): ObjectId[] {
  return kind === 'step' ? index.filter(({ path }) => path === 'output.md').map(({ oid }) => oid) : [];
}
