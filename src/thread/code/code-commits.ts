import { readCommitNodesOnce } from '../../cas/commit-nodes.ts';
import { UwfError } from '../../errors.ts';
import { hashObject, isObjectId, type ObjectId } from '../../git/format/object-id.ts';
import { runGit } from '../../git/process/run-git.ts';
import type { GitPlace } from '../../git/process/spawn-git.ts';
import type { Repository } from '../../git/repository.ts';
import { readCommit } from '../../git/stores/read.ts';
import { signCommit } from '../../git/worktree/sign-commit.ts';
import type { ThreadId } from '../thread-id.ts';
import type { ThreadCode } from './thread-code.ts';

/**
 * Lists the commits of a thread's code that are neither in the history of its base nor in that of `head`, newest first.
 *
 * @throws {UwfError} `uwf-commit-in-code` if one of them is uwf's own: an agent has built on a thread or a snapshot
 */
export async function listCodeCommits(
  repository: Repository,
  git: GitPlace,
  { thread, base, checkedOut, merging, tip, snapshots }: ThreadCode,
  head: ObjectId | undefined,
): Promise<ObjectId[]> {
  const without = head === undefined ? [base] : [base, head];
  const commits =
    checkedOut === undefined ? [] : await listRevisions(git, [checkedOut, ...merging, '--not', ...without]);
  for (const id of commits) {
    const isOwn = snapshots.has(id) || (await readCommitNodesOnce(repository, id)).entries !== undefined;
    if (isOwn) throw uwfCommit(thread, id);
  }
  return tip === checkedOut ? commits : [tip, ...commits];
}

/**
 * Finds a commit of a history that is the tip of a thread's code but for its message or its author: the thread was merged
 * before it ended, or by another user.
 */
export async function findMerged(
  { objects }: Repository,
  git: GitPlace,
  { checkedOut, merging, own, tree, thread }: ThreadCode,
  head: ObjectId,
): Promise<ObjectId | undefined> {
  if (checkedOut === undefined || own.length === 0) return undefined;
  const found = await listRevisions(git, [`--grep=^Uwf-Thread: ${thread}$`, head, '--not', checkedOut]);
  for (const id of found) {
    const commit = await readCommit(objects, id);
    if (commit.tree === tree && String(commit.parents) === String([checkedOut, ...merging])) return id;
  }
  return undefined;
}

/**
 * Has the commit signed that uwf makes of a thread's code; the commits of agents stay as they are.
 *
 * @throws {UwfError} as `signCommit`
 */
export async function signedCode(repository: Repository, git: GitPlace, code: ThreadCode): Promise<ThreadCode> {
  const [commit] = code.own;
  if (commit === undefined) return code;
  const signed = await signCommit(repository, git, commit);
  return { ...code, tip: hashObject(signed, repository.objects.format), own: [signed] };
}

/**
 * Lists the commits without a signature that `tip` has and the others have not, newest first.
 *
 * Source: git-rev-list(1), `--header`.
 */
export async function listUnsigned(git: GitPlace, tip: ObjectId, others: readonly ObjectId[]): Promise<ObjectId[]> {
  const listed = await runGit({ ...git, args: ['rev-list', '--header', tip, '--not', ...others] });
  return listed
    .toString('latin1')
    .split('\0')
    .flatMap((record) => {
      const [headers = ''] = record.split('\n\n', 1);
      const [id = ''] = headers.split('\n', 1);
      return isObjectId(id) && !/^gpgsig(?:-sha256)? /m.test(headers) ? id : [];
    });
}

async function listRevisions(git: GitPlace, wanted: readonly string[]): Promise<ObjectId[]> {
  const listed = await runGit({ ...git, args: ['rev-list', ...wanted] });
  return listed.toString('latin1').split('\n').filter(isObjectId);
}

function uwfCommit(thread: ThreadId, commit: ObjectId): UwfError {
  return new UwfError(`the code of thread ${thread} builds on commit ${commit}, which is uwf's own`, {
    code: 'uwf-commit-in-code',
    kind: 'data',
    hint: `bring home only the files, as one commit: 'uwf thread merge ${thread} --squash'`,
    facts: { thread, commit },
  });
}
