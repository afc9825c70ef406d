import { UwfError } from '../../errors.ts';
import { plural } from '../../text/wording.ts';
import type { Commit } from '../../git/format/objects.ts';
import { type GitObject, isObjectId, type ObjectId } from '../../git/format/object-id.ts';
import { type CommitLine, diffTrees, type FileChange } from '../../git/process/revisions.ts';
import { GitFailed, type GitPlace, runGit } from '../../git/process/run-git.ts';
import type { GitEnvironment, Repository } from '../../git/repository.ts';
import { branchesMadeFor, linkedWorkTrees } from '../../git/repository/work-trees.ts';
import { ObjectBatch } from '../../git/stores/publish.ts';
import { readCommit } from '../../git/stores/read.ts';
import { repeatMerge } from '../../git/worktree/merge-trees.ts';
import { nameSome, unresolvedIn } from '../../git/format/paths.ts';
import { isJsonObject } from '../../json.ts';
import { inPlaceOf } from '../../or-else.ts';
import { isString } from '../../shape.ts';
import { codeMessage } from '../commit-message.ts';
import { findRecordedFiles, type RecordedFiles } from '../step-files.ts';
import { findStart, readChain } from '../thread-chain.ts';
import { readTextAt } from '../thread-commit.ts';
import { CorruptThread } from '../thread-errors.ts';
import type { ThreadId, ThreadPointer } from '../thread-id.ts';
import type { CommitOf } from '../thread-state.ts';

/** The result of a thread in the user's code: the files after its newest step, as a commit of git. */
export type ThreadCode = {
  thread: ThreadId;
  /** The commit that its work tree was made from. */
  base: ObjectId;
  /** The newest step that recorded files. */
  step: CommitOf<'step'>;
  /** The commit that was checked out then; `undefined` on an unborn branch. */
  checkedOut: ObjectId | undefined;
  /** The commits that were being merged into it. */
  merging: readonly ObjectId[];
  tree: ObjectId;
  /** `checkedOut` if the step left its files; otherwise a commit on it, and on `merging`, with them. */
  tip: ObjectId;
  /** The commit `tip`, unless it is `checkedOut`. The repository need not have it. */
  own: readonly GitObject[];
  /** The message for a single commit with all changes of the thread. */
  message: string;
  /** The snapshots of the steps' files. They are no part of the user's history. */
  snapshots: ReadonlySet<ObjectId>;
};

/**
 * Finds the result of a thread in the user's code. Writes nothing. The same thread always gives the same tip.
 *
 * @throws {UwfError} `no-base` if the thread has no work tree of its own, `no-snapshot` if no step has recorded files,
 *   `snapshot-short` if the newest one could not
 * @throws {CorruptThread} if its chain violates the format
 */
export async function findCode(repository: Repository, { id, head }: ThreadPointer): Promise<ThreadCode> {
  const { start, end, step, steps } = await readSteps(repository, head);
  const { base } = start.node;
  if (base === undefined) throw noBase(id);
  if (step === undefined) throw noFiles(id);
  const { tree, checkedOut, merging, isSnapshot } = await recordedBy(repository, step);
  if (!isSnapshot) throw snapshotShort(id, step);
  const prompt = await readTextAt(repository, start, 'prompt.md');
  const summary = end && (await readTextAt(repository, end, 'summary.md'));
  const message = codeMessage(id, prompt, summary);
  const batch = new ObjectBatch(repository.objects.format);
  const isCommitted =
    checkedOut !== undefined &&
    merging.length === 0 &&
    (await readCommit(repository.objects, checkedOut)).tree === tree;
  const facts = { tree, checkedOut, merging, step, message };
  const tip = isCommitted ? checkedOut : batch.addCommit(tipCommit(repository, facts));
  const snapshots = new Set(steps.flatMap(({ node }) => node.workspace?.commit ?? []));
  // If no files were recorded, a step names a commit of the user's.
  for (const each of steps) {
    const recorded = await recordedBy(repository, each);
    if (recorded.checkedOut !== undefined) snapshots.delete(recorded.checkedOut);
  }
  return { thread: id, base, step, checkedOut, merging, tree, tip, own: batch.objects, message, snapshots };
}

/** The same result on one line of commits: `git rebase` leaves out merges, with all that was changed in them. */
export function asOneLine(repository: Repository, code: ThreadCode): ThreadCode {
  if (code.merging.length === 0) return code;
  const batch = new ObjectBatch(repository.objects.format);
  const flat = { ...code, merging: [] };
  return { ...flat, tip: batch.addCommit(tipCommit(repository, flat)), own: batch.objects };
}

/**
 * Checks that no file of a thread's code has a conflict that is not resolved: a block left it, or a turn in a person's work tree.
 */
export function assertResolved({ thread, step }: ThreadCode): void {
  const { meta, merge, workspace, number } = step.node;
  // A block has them in its meta.
  const ofBlock = merge === undefined || !Array.isArray(meta['conflicts']) ? [] : meta['conflicts'];
  const paths = [
    ...ofBlock.flatMap((conflict) => (isJsonObject(conflict) && isString(conflict['path']) ? conflict['path'] : [])),
    ...unresolvedIn(workspace?.missing),
  ];
  if (paths.length === 0) return;
  throw new UwfError(`step ${number} of thread ${thread} left conflicts that are not resolved: ${nameSome(paths)}`, {
    code: 'unresolved-conflicts',
    kind: 'data',
    hint: `a later step of the thread can resolve them; 'uwf thread merge ${thread} --branch <name>' makes a branch of the files as they are`,
    facts: { thread, number },
  });
}

type Steps = {
  start: CommitOf<'start'>;
  end: CommitOf<'end'> | undefined;
  /** The newest step that recorded files. */
  step: CommitOf<'step'> | undefined;
  /** All that did. */
  steps: CommitOf<'step'>[];
};

async function readSteps(repository: Repository, head: ObjectId): Promise<Steps> {
  const steps: CommitOf<'step'>[] = [];
  let end: CommitOf<'end'> | undefined;
  for await (const commit of readChain(repository, head)) {
    if (commit.kind === 'end' && commit.id === head) end = commit;
    if (commit.kind === 'step' && commit.node.workspace !== undefined) steps.push(commit);
    if (commit.kind === 'start') return { start: commit, end, step: steps[0], steps };
  }
  throw new CorruptThread(head, 'its chain has no start');
}

async function recordedBy({ objects }: Repository, step: CommitOf<'step'>): Promise<RecordedFiles> {
  const recorded = await findRecordedFiles(objects, step);
  if (recorded === undefined) throw new TypeError('a step without files has no snapshot');
  return recorded;
}

type TipFacts = Pick<ThreadCode, 'tree' | 'checkedOut' | 'merging' | 'step' | 'message'>;

/** The commit is the user's; its date is that of the step. */
function tipCommit({ committer: user }: Repository, { tree, checkedOut, merging, step, message }: TipFacts): Commit {
  const author = { ...user, atMs: step.commit.author.atMs };
  return {
    tree,
    parents: checkedOut === undefined ? [] : [checkedOut, ...merging],
    author,
    committer: author,
    message,
  };
}

export function noBase(thread: ThreadId): UwfError {
  return new UwfError(`thread ${thread} has no work tree of its own, so its changes have nothing to be compared with`, {
    code: 'no-base',
    kind: 'data',
    hint: "a role with 'isolation: worktree' gives a thread its own work tree; 'uwf step restore <step> --worktree <folder>' restores the files of a step",
    facts: { thread },
  });
}

function noFiles(thread: ThreadId): UwfError {
  return new UwfError(`no step of thread ${thread} has recorded files yet`, {
    code: 'no-snapshot',
    kind: 'data',
    hint: `run it on with 'uwf thread run ${thread}': each turn in its own work tree records the files`,
    facts: { thread },
  });
}

function snapshotShort(thread: ThreadId, { node: { number } }: CommitOf<'step'>): UwfError {
  return new UwfError(`step ${number} of thread ${thread} could not record the files it left`, {
    code: 'snapshot-short',
    kind: 'data',
    hint: `they are in the work tree of the thread; 'uwf step show ${number} --thread ${thread}' tells of the step`,
    facts: { thread, number },
  });
}

type DiffForm = 'patch' | 'stat' | 'name-only';

/** Fixed colours: those in the user's configuration could be any escape sequence. */
const settings: readonly string[] = [
  'color.diff.meta=bold',
  'color.diff.frag=cyan',
  'color.diff.func=normal',
  'color.diff.context=normal',
  'color.diff.old=bold red',
  'color.diff.new=green',
  'color.diff.whitespace=bold red',
];

const forms: Readonly<Record<DiffForm, string>> = { patch: '--patch', stat: '--stat', 'name-only': '--name-only' };

/** Where git reads code; `cwd` is where relative paths start, by default the top of the work tree. */
type CodePlace = GitPlace & { cwd?: string };

/**
 * Lists the files of a thread that differ from its base, by path, with renames.
 * @param paths only these files and folders, as git reads paths; none stands for all
 */
export async function changedFiles(
  git: CodePlace,
  { base, tree }: ThreadCode,
  paths: readonly string[] = [],
): Promise<FileChange[]> {
  return diffTrees(git, base, tree, paths);
}

/**
 * Compares the files of a thread with its base. Programs that the repository configures for diffs are not run.
 * @returns what `git diff` prints
 */
export async function diffCode(
  git: CodePlace,
  { base, tree }: ThreadCode,
  paths: readonly string[],
  { form, isColoured, columns }: { form: DiffForm; isColoured: boolean; columns: number },
): Promise<Buffer> {
  const width = form === 'stat' ? [`--stat=${columns}`] : [];
  const how = ['--no-ext-diff', '--no-textconv', '--no-color-moved', `--color=${isColoured ? 'always' : 'never'}`];
  return runGit({ ...git, settings, args: ['diff', ...how, forms[form], ...width, base, tree, '--', ...paths] });
}

/** Lists the commits of a thread that its base does not have, newest first; the tip is one of them. */
export async function listNewCommits(
  git: CodePlace,
  { base, checkedOut, merging, own, message, tip, tree }: ThreadCode,
  paths: readonly string[] = [],
): Promise<CommitLine[]> {
  const commits: CommitLine[] = [];
  const isChanged = async (from: ObjectId): Promise<boolean> => (await diffTrees(git, from, tree, paths)).length > 0;
  if (own.length > 0 && (checkedOut === undefined || merging.length > 0 || (await isChanged(checkedOut)))) {
    commits.push({ commit: tip, subject: message.split('\n', 1)[0] ?? '' });
  }
  if (checkedOut === undefined) return commits;
  const how = ['--no-show-signature', '--no-color', '--format=%H %s'];
  const args = ['log', ...how, checkedOut, ...merging, '--not', base, '--', ...paths];
  for (const line of (await runGit({ ...git, settings, args })).toString('utf8').split('\n')) {
    const [commit = ''] = line.split(' ', 1);
    if (isObjectId(commit)) commits.push({ commit, subject: line.slice(commit.length + 1) });
  }
  return commits;
}

/** What a thread changed in the user's code, and is nowhere else. */
export type UnmergedWork = {
  commits: number;
  files: number;
  /** The commit with the files, from which git can bring them back until it has collected it. */
  commit: ObjectId;
};

/** Says how much work it is. */
export function amountOf({ commits, files }: UnmergedWork): string {
  return `${plural(commits, 'commit')}, ${plural(files, 'file')}`;
}

/** The work of a thread is merged nowhere, so that nothing has it once the thread is removed. */
export class NotMerged extends UwfError {
  constructor(thread: ThreadId, why: string) {
    super(`the work of thread ${thread} ${why}`, {
      code: 'not-merged',
      kind: 'data',
      hint: `'uwf thread merge ${thread}' brings it into the branch that is checked out; --force removes the thread with it`,
      facts: { thread },
    });
  }
}

/** Where users keep their code. */
const usersRefs = ['refs/heads', 'refs/tags', 'refs/remotes'];
/** So many branches are looked at, the newest first. */
const MAX_BRANCHES = 20;

/**
 * Finds the work of a thread that would be lost with its refs.
 *
 * It is not lost if a branch, a tag or a tracking ref has its commit, if a branch or `HEAD` has all that it changed (after a
 * squash or a rebase), now or when that was merged, or if another ref has the thread's own record: that of its caller, of a fork,
 * or of a remote. Branches that uwf made for work trees do not count, because they go with these.
 * @param isLeaving tells the refs that go, too
 * @returns `undefined` if nothing would be lost, or the thread has no work tree of its own
 * @throws {CorruptThread} {ObjectMissing} {GitFailed} if that cannot be told
 */
export async function findUnmergedWork(
  repository: Repository,
  env: GitEnvironment,
  pointer: ThreadPointer,
  isLeaving: (ref: string) => boolean,
): Promise<UnmergedWork | undefined> {
  const { location, objects } = repository;
  const code = await findCode(repository, pointer).catch(withoutCode);
  const commit = code?.step.node.workspace?.commit;
  if (location === undefined || code === undefined || commit === undefined || code.tip === code.base) return undefined;
  const git = { location, env };
  const made = new Set<string>(
    linkedWorkTrees(location).flatMap((tree) => branchesMadeFor(tree).map(({ branch }) => branch)),
  );
  const isKept = async (id: ObjectId, refs: readonly string[]): Promise<boolean> => {
    const having = await listRefs(git, [`--contains=${id}`, '--format=%(refname)', ...refs]);
    return having.some((name) => !isLeaving(name) && !made.has(name));
  };
  if ((await objects.has(code.tip)) && (await isKept(code.tip, usersRefs))) return undefined;
  if (await isThereAlready(repository, git, code, await findPlaces(repository, git, code, made))) return undefined;
  if (await isKept(commit, [])) return undefined;
  const commits = await listNewCommits(git, code);
  return { commits: commits.length, files: (await changedFiles(git, code)).length, commit };
}

function withoutCode(error: unknown): undefined {
  if (error instanceof UwfError && ['no-base', 'no-snapshot', 'snapshot-short'].includes(error.code)) return undefined;
  throw error;
}

type Places = { tips: ObjectId[]; merged: ObjectId[] };

/** The commits of the user that may have what a thread changed: `HEAD` and the branches, and those that were made of threads. */
async function findPlaces(
  repository: Repository,
  git: GitPlace,
  { thread, step, checkedOut, base }: ThreadCode,
  made: ReadonlySet<string>,
): Promise<Places> {
  const branches = ['--sort=-committerdate', '--format=%(refname) %(objectname)', 'refs/heads'];
  const listed = (await listRefs(git, branches)).map((line) => line.split(' '));
  const ofUser = listed.filter(([name = '']) => !made.has(name)).slice(0, MAX_BRANCHES);
  const head = (await runGit({ ...git, args: ['rev-parse', '--verify', '-q', 'HEAD'], codes: [0, 1] }))
    .toString()
    .trim();
  // What a branch of a block did comes in with the work of its caller.
  const caller = (await findStart(repository, step.id))?.node.call?.thread;
  const named = [thread, ...(caller === undefined ? [] : [caller])].map((id) => `--grep=^Uwf-Thread: ${id}$`);
  const since = ['HEAD', '--branches', '--tags', '--remotes', '--not', checkedOut ?? base];
  const args = ['rev-list', ...named, ...(head === '' ? since.slice(1) : since)];
  const merged = (await runGit({ ...git, args })).toString('latin1').split('\n');
  return {
    tips: [...new Set([head, ...ofUser.map(([, id = '']) => id)])].filter(isObjectId),
    merged: merged.filter(isObjectId),
  };
}

/** Tells whether a commit of the user has all that a thread changed: to merge it there would change nothing. */
async function isThereAlready(
  repository: Repository,
  git: GitPlace,
  { base, tree, tip, own, merging }: ThreadCode,
  { tips, merged }: Places,
): Promise<boolean> {
  const place = { repository, env: git.env };
  for (const at of new Set([...tips, ...merged])) {
    // Without git's part of it, or without an object, it cannot be shown.
    const merge = await repeatMerge(place, base, at, [{ key: 'thread', commit: tree }]).catch(
      inPlaceOf(UwfError, undefined),
    );
    if (merge?.conflicts.length === 0 && merge.tree === (await readCommit(repository.objects, at)).tree) return true;
  }
  // After a rebase, even if the same lines were changed since. Merges have no patch.
  if (own.length > 0 || merging.length > 0) return false;
  for (const at of tips) {
    const compared = await runGit({ ...git, args: ['cherry', at, tip, base] }).catch(inPlaceOf(GitFailed, undefined));
    const lines = compared?.toString('latin1').split('\n').filter(Boolean) ?? [];
    if (lines.length > 0 && lines.every((line) => line.startsWith('-'))) return true;
  }
  return false;
}

async function listRefs(git: GitPlace, args: readonly string[]): Promise<string[]> {
  return (await runGit({ ...git, args: ['for-each-ref', ...args] })).toString('utf8').split('\n').filter(Boolean);
}
