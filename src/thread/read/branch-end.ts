import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import type { JsonObject } from '../../json.ts';
import type { MergeRecord } from '../../schema/built-in/merge-record.ts';
import { CorruptThread } from '../thread-errors.ts';
import { readTextAt, readThreadCommit, statusOf, type ThreadCommit } from '../thread-commit.ts';
import { readChain } from './read-chain.ts';
import type { CommitOf } from './thread-state.ts';

/** How a branch has ended, as joins, rules and templates see it. */
export type BranchEnd = {
  /** The `$status` of its last step; null if that has none. */
  status: string | null;
  /** The meta of its last step; null if it had no step, or if the meta is larger than a block's step has room for. */
  meta: JsonObject | null;
  end: { outcome: 'completed' | 'failed' | 'cancelled'; returnCode: number; summary: string };
};

/** A node has at most 16 MiB and 500,000 values. The metas of all branches together get this part of it, in equal shares. */
const MAX_BYTES = 12 * 1024 * 1024;
const MAX_LINES = 400_000;
/** The indentation of a branch's meta in the JSON of the block's step. */
const INDENTATION = 10;
/** The summary of a branch is cut to this many UTF-16 units. */
const MAX_SUMMARY = 1000;

/**
 * Reads how a branch ended, as the step of its block records it.
 * @param id the commit of its end
 * @param total the number of branches that the block has
 */
export async function readBranchEnd(repository: Repository, id: ObjectId, total: number): Promise<BranchEnd> {
  const end = await readThreadCommit(repository, id);
  if (end.kind !== 'end') throw new CorruptThread(id, 'the branch of a block has no end');
  const { outcome, returnCode } = end.node;
  // If the cut splits a surrogate pair, its first half is left out.
  const summary = (await readTextAt(repository, end, 'summary.md'))
    .slice(0, MAX_SUMMARY)
    .replace(/[\uD800-\uDBFF]$/, '');
  const last = await lastStep(repository, end);
  const meta = last?.node.meta ?? null;
  return {
    status: last ? statusOf(last.node.meta) : null,
    meta: hasRoom(meta, total) ? meta : null,
    end: { outcome, returnCode, summary },
  };
}

function hasRoom(meta: JsonObject | null, total: number): boolean {
  const json = JSON.stringify(meta, null, 2);
  const lines = json.split('\n').length;
  return lines <= MAX_LINES / total && Buffer.byteLength(json) + lines * INDENTATION <= MAX_BYTES / total;
}

async function lastStep(repository: Repository, end: ThreadCommit): Promise<CommitOf<'step'> | undefined> {
  for await (const commit of readChain(repository, end.id)) if (commit.kind === 'step') return commit;
  return undefined;
}

/**
 * Finds what the merge of a block merges: the newest snapshots of the branches that have completed, in the order of the merge.
 * Leaves out a branch of which no step recorded files, as none of its turns was isolated.
 *
 * @param completed in the order in which they ended
 */
export async function findFilesToMerge(
  repository: Repository,
  order: 'key' | 'end' | undefined,
  completed: readonly { key: string; end: ObjectId }[],
): Promise<MergeRecord['branches']> {
  const branches: MergeRecord['branches'] = [];
  for (const { key, end } of completed) {
    const commit = await findFilesOfBranch(repository, end);
    if (commit !== undefined) branches.push({ key, commit });
  }
  return order === 'key' ? branches.toSorted((a, b) => (a.key < b.key ? -1 : 1)) : branches;
}

async function findFilesOfBranch(repository: Repository, end: ObjectId): Promise<ObjectId | undefined> {
  for await (const commit of readChain(repository, end)) {
    if (commit.kind === 'step' && commit.node.workspace !== undefined) return commit.node.workspace.commit;
  }
  return undefined;
}
