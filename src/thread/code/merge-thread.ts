import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { UwfError } from '../../errors.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import { GitFailed, runGit } from '../../git/process/run-git.ts';
import type { GitEnvironment, Repository } from '../../git/repository.ts';
import { readHead } from '../../git/worktree/snapshot.ts';
import { MergeFolder, unmergedFiles, type MergeOutcome } from '../../git/worktree/merge-folder.ts';
import { assertUnmoved, readMergeTarget, TargetMoved, type MergeTarget } from '../../git/worktree/merge-target.ts';
import { addedFiles, assertNoneInTheWay, moveTarget } from '../../git/worktree/move-target.ts';
import {
  asRefusal,
  mergeArguments,
  mergeBase,
  mergeStart,
  tryMerge,
  type MergeMode,
  type MergeRequest,
} from '../../git/worktree/try-merge.ts';
import { readSigning } from '../../git/worktree/sign-commit.ts';
import type { Redactor } from '../../redaction/redactor.ts';
import type { ThreadId } from '../thread-id.ts';
import { assertNoSecrets } from './code-secrets.ts';
import { findMerged, listCodeCommits, listUnsigned, signedCode } from './code-commits.ts';
import { asOneLine, assertResolved, type ThreadCode } from './thread-code.ts';

export type MergeOptions = {
  env: GitEnvironment;
  mode: MergeMode;
  /** Searches the new commits of the user's history for secrets; absent if secrets are allowed. */
  redactor?: Redactor | undefined;
};

/** How a merge of a thread's code ended. */
export type MergeReport = {
  thread: ThreadId;
  mode: MergeMode | 'branch';
  outcome: 'merged' | 'up-to-date' | 'conflict' | 'created';
  /** The branch that was updated or created; null for a detached `HEAD`. */
  branch: string | null;
  base: ObjectId;
  tip: ObjectId;
  /** The tips of the branch before and after; null if it did not exist. */
  before: ObjectId | null;
  after: ObjectId;
  /** The files with conflicts, as `pathAsText` writes them. */
  files: readonly string[];
  /** The commits that came in without a signature, because agents made them; none where git is not configured to sign. */
  unsigned: readonly ObjectId[];
};

/**
 * Merges a thread's code into the branch that is checked out in the repository's work tree.
 *
 * git first merges in a folder of its own. The work tree and the branch change only if that succeeds. A conflict of a merge
 * is then left in the work tree as `git merge` leaves it; a conflict of a squash or a rebase changes nothing. Commits that are made
 * here are signed where `git commit` would sign.
 * @throws {CodeHoldsSecrets} if what comes in has secrets
 * @throws {UwfError} `unresolved-conflicts` and `unrelated-histories`, and as `readMergeTarget`, `listCodeCommits`, `tryMerge` and
 *   `moveTarget` do; nothing is changed then
 */
export async function mergeThread(
  repository: Repository,
  found: ThreadCode,
  { env, mode, redactor }: MergeOptions,
): Promise<MergeReport> {
  assertResolved(found);
  const code = mode === 'rebase' ? asOneLine(repository, found) : found;
  const target = await readMergeTarget(repository, env);
  const { head, branch, location } = target;
  const git = { location, env };
  const merged = await findMerged(repository, git, code, head);
  const signing = merged === undefined ? await readSigning(git) : undefined;
  const { outcome, tip } =
    merged === undefined
      ? await bringHome(repository, target, code, { env, mode, redactor, signing })
      : { outcome: { kind: 'merged' as const, commit: head }, tip: merged };
  const after = outcome.kind === 'merged' ? outcome.commit : head;
  // A conflict of a merge is committed with the tip as a parent.
  const came = outcome.kind === 'conflict' && mode === 'merge' ? tip : after;
  return {
    thread: code.thread,
    mode,
    outcome: outcome.kind === 'merged' && after === head ? 'up-to-date' : outcome.kind,
    branch: branch?.replace('refs/heads/', '') ?? null,
    base: code.base,
    tip,
    before: head,
    after,
    files: outcome.kind === 'conflict' ? outcome.files : [],
    unsigned: signing ? await listUnsigned(git, came, [code.base, head]) : [],
  };
}

async function bringHome(
  repository: Repository,
  target: MergeTarget,
  found: ThreadCode,
  { env, mode, redactor, signing }: MergeOptions & { signing: readonly string[] | undefined },
): Promise<{ outcome: MergeOutcome; tip: ObjectId }> {
  const { location, head } = target;
  const { stateDir } = repository;
  if (stateDir === undefined) throw new TypeError('a repository with a work tree is on a disk');
  const git = { location, env };
  const common = found.checkedOut && (await mergeBase(git, head, found.checkedOut));
  if (common === undefined) throw unrelatedHistories(found, target);
  // A squash uses only the files, not the commits.
  const commits = mode === 'squash' ? 'one' : await listCodeCommits(repository, git, found, head);
  if (redactor !== undefined) await assertNoSecrets(repository, found, commits, redactor);
  // A squash makes another commit of it, and so does a rebase, which signs that, unless the branch is where the work began.
  const isTaken = mode === 'merge' || (mode === 'rebase' && common === head);
  const code = signing !== undefined && isTaken ? await signedCode(repository, git, found) : found;
  const { tip } = code;
  const request = { mode, head, tip, base: code.base, message: messageFor(code, mode) };
  const folder = new MergeFolder(stateDir, target, env, mergeStart(request), signing);
  try {
    for (const commit of code.own) await folder.write(commit);
    await folder.prepare(target);
    const outcome = await tryMerge(folder, request);
    if (outcome.kind === 'conflict') {
      if (mode !== 'merge') return { outcome, tip };
      return { outcome: await mergeInPlace(repository, env, target, common, code, request), tip };
    }
    if (outcome.commit === head) return { outcome, tip };
    assertNoneInTheWay(target, await addedFiles((args) => folder.git(args), head, outcome.commit));
    const release = await folder.takeOver();
    try {
      await moveTarget(repository, env, target, outcome.commit, `thread merge ${code.thread}`);
    } finally {
      release();
    }
    return { outcome, tip };
  } finally {
    folder.remove();
  }
}

/** Lets git merge in the user's work tree, and leave the conflict there. */
async function mergeInPlace(
  repository: Repository,
  env: GitEnvironment,
  target: MergeTarget,
  common: ObjectId,
  { own, tree }: ThreadCode,
  { tip, message }: MergeRequest,
): Promise<MergeOutcome> {
  const { location, head } = target;
  // A resolution from git's memory would otherwise be staged, and no file be left that tells of the conflict.
  const settings = ['rerere.autoUpdate=false'];
  const git = (args: readonly string[]): Promise<Buffer> => runGit({ location, env, settings, args, mayAsk: true });
  const { added } = await addedFiles(git, common, tree);
  const { added: absent, removed } = await addedFiles(git, head, tree);
  const fromBase = new Set(added);
  assertNoneInTheWay(target, { added: absent.filter((path) => fromBase.has(path)), removed });
  const written = await repository.objects.write(own);
  try {
    await assertUnmoved(repository, target);
    await git(mergeArguments(tip, message));
    const commit = await readHead(repository, location);
    // The user's own attributes may name a merge driver that resolves the conflict.
    return { kind: 'merged', commit: commit ?? head };
  } catch (error) {
    const files = error instanceof GitFailed ? await unmergedFiles(git) : [];
    if (files.length === 0) {
      // It was merged without a conflict, and the commit failed: the signer did.
      if (existsSync(join(location.gitDir, 'MERGE_HEAD'))) await git(['merge', '--abort']);
      throw asRefusal(error);
    }
    if ((await readHead(repository, location)) === head) return { kind: 'conflict', files };
    await git(['merge', '--abort']);
    throw new TargetMoved(target);
  } finally {
    await written.release();
  }
}

function messageFor({ thread, message }: ThreadCode, mode: MergeMode): string {
  return mode === 'squash' ? message : `Merge thread ${thread}\n\n${message}`;
}

function unrelatedHistories({ thread }: ThreadCode, { branch, head }: MergeTarget): UwfError {
  return new UwfError(`the code of thread ${thread} and ${branch ?? head} have no commit in common`, {
    code: 'unrelated-histories',
    kind: 'data',
    hint: `check out the branch that the thread began on, or make a branch of its code with 'uwf thread merge ${thread} --branch <name>'`,
    facts: { thread },
  });
}
