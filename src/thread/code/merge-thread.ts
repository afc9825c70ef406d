import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readCommitNodes } from '../../cas/commit-nodes.ts';
import { UwfError } from '../../errors.ts';
import { hashObject, isObjectId, type ObjectId } from '../../git/format/object-id.ts';
import { isRefName } from '../../git/format/refs.ts';
import { GitFailed, type GitPlace, runGit } from '../../git/process/run-git.ts';
import { type GitEnvironment, RefMoved, type Repository } from '../../git/repository.ts';
import { ObjectBatch, publish, repositoryWith } from '../../git/stores/publish.ts';
import { readCommit } from '../../git/stores/read.ts';
import {
  mergeArguments,
  mergeBase,
  MergeFolder,
  type MergeMode,
  type MergeOutcome,
  type MergeRequest,
  mergeStart,
  readSigning,
  signCommit,
  tryMerge,
  unmergedFiles,
} from '../../git/worktree/merge-folder.ts';
import {
  addedFiles,
  asRefusal,
  assertNoneInTheWay,
  assertUnmoved,
  type MergeTarget,
  moveTarget,
  readMergeTarget,
  TargetMoved,
} from '../../git/worktree/merge-target.ts';
import { readHead } from '../../git/worktree/snapshot.ts';
import type { Redactor } from '../../redaction/redactor.ts';
import { type SecretPlace, SecretScan } from '../secret-scan.ts';
import type { ThreadId } from '../thread-id.ts';
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

/**
 * Makes a branch of a thread's code, and checks nothing out.
 *
 * @param branch as it is typed: `topic`
 * @throws {CodeHoldsSecrets} if its commits have secrets
 * @throws {UwfError} `invalid-branch` if git refuses the name, `branch-exists` if there is another one of this name, and as
 *   `signCommit`
 */
export async function branchThread(
  repository: Repository,
  code: ThreadCode,
  branch: string,
  { env, redactor }: Omit<MergeOptions, 'mode'>,
): Promise<MergeReport> {
  const { location, objects, refs } = repository;
  if (location === undefined) throw new TypeError('a repository that is not on a disk has no code');
  const name = `refs/heads/${branch}`;
  // As git: a name that looks like an option or like HEAD could not be typed again.
  if (!isRefName(name) || branch.startsWith('-') || branch === 'HEAD') throw invalidBranch(branch);
  const git = { location, env };
  const commits = await listCodeCommits(repository, git, code, undefined);
  if (redactor !== undefined) await assertNoSecrets(repository, code, commits, redactor);
  const { thread, base } = code;
  const report = { thread, mode: 'branch' as const, branch, base, files: [] };
  const there = await refs.read(name);
  if (there !== undefined) {
    const isSame = there === code.tip || (await findMerged(repository, git, code, there)) === there;
    if (!isSame) throw branchExists(branch);
    return { ...report, outcome: 'up-to-date', tip: there, before: there, after: there, unsigned: [] };
  }
  const signing = await readSigning(git);
  const { tip, own } = signing ? await signedCode(repository, git, code) : code;
  const change = { format: objects.format, objects: own };
  await publish(repository, change, [{ name, expected: null, value: tip }]).catch((error: unknown) => {
    throw error instanceof RefMoved ? branchExists(branch, error) : error;
  });
  const unsigned = signing ? await listUnsigned(git, tip, [base]) : [];
  return { ...report, outcome: 'created', tip, before: null, after: tip, unsigned };
}

function branchExists(branch: string, cause?: RefMoved): UwfError {
  return new UwfError(`there is a branch '${branch}' already, at another commit`, {
    code: 'branch-exists',
    kind: 'usage',
    hint: 'give another name',
    cause,
  });
}

function invalidBranch(branch: string): UwfError {
  return new UwfError(`'${branch}' cannot be the name of a branch`, {
    code: 'invalid-branch',
    kind: 'usage',
    hint: 'give a name that git takes: letters, digits, dashes and slashes',
  });
}

/**
 * Lists the commits of a thread's code that are neither in the history of its base nor in that of `head`, newest first.
 * @throws {UwfError} `uwf-commit-in-code` if one of them is uwf's own: an agent has built on a thread or a snapshot
 */
async function listCodeCommits(
  repository: Repository,
  git: GitPlace,
  { thread, base, checkedOut, merging, tip, snapshots }: ThreadCode,
  head: ObjectId | undefined,
): Promise<ObjectId[]> {
  const without = head === undefined ? [base] : [base, head];
  const commits =
    checkedOut === undefined ? [] : await listRevisions(git, [checkedOut, ...merging, '--not', ...without]);
  for (const id of commits) {
    const isOwn = snapshots.has(id) || (await readCommitNodes(repository, id)).entries !== undefined;
    if (isOwn) throw uwfCommit(thread, id);
  }
  return tip === checkedOut ? commits : [tip, ...commits];
}

/**
 * Finds a commit of a history that is the tip of a thread's code but for its message or its author: the thread was merged
 * before it ended, or by another user.
 */
async function findMerged(
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
/** Has the commit signed that uwf makes of a thread's code; the commits of agents stay as they are. */
async function signedCode(repository: Repository, git: GitPlace, code: ThreadCode): Promise<ThreadCode> {
  const [commit] = code.own;
  if (commit === undefined) return code;
  const signed = await signCommit(repository, git, commit);
  return { ...code, tip: hashObject(signed, repository.objects.format), own: [signed] };
}

/** Lists the commits without a signature that `tip` has and the others have not, newest first. Source: git-rev-list(1). */
async function listUnsigned(git: GitPlace, tip: ObjectId, others: readonly ObjectId[]): Promise<ObjectId[]> {
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

/** Commits for the user's history contain what looks like a secret. */
export class CodeHoldsSecrets extends UwfError {
  readonly places: readonly SecretPlace[];
  constructor({ thread }: ThreadCode, places: readonly SecretPlace[]) {
    super(`the code of thread ${thread} has ${places.length === 1 ? 'a secret' : `${places.length} secrets`}`, {
      code: 'code-holds-secrets',
      kind: 'data',
      hint: `nothing was changed; give --allow-secrets if they are none`,
    });
    this.places = places;
  }
}

/**
 * Searches for secrets in commits of a thread's code, or, if one commit replaces them, in the difference that they make
 * together.
 */
async function assertNoSecrets(
  repository: Repository,
  code: ThreadCode,
  commits: readonly ObjectId[] | 'one',
  redactor: Redactor,
): Promise<void> {
  const { base, own, tree, message } = code;
  const batch = new ObjectBatch(repository.objects.format);
  for (const commit of own) batch.add(commit);
  const author = { ...repository.committer, atMs: 0 };
  const whole = { tree, parents: [base], author, committer: author, message };
  const scanned = commits === 'one' ? [batch.addCommit(whole)] : commits;
  const scan = new SecretScan(repositoryWith(repository, batch), redactor);
  const places: SecretPlace[] = [];
  for (const id of scanned) places.push(...(await scan.scanCode(id)));
  if (places.length > 0) throw new CodeHoldsSecrets(code, places);
}
