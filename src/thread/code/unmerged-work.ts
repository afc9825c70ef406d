import { UwfError } from '../../errors.ts';
import { isObjectId, type ObjectId } from '../../git/format/object-id.ts';
import { GitFailed, runGit } from '../../git/process/run-git.ts';
import type { GitPlace } from '../../git/process/spawn-git.ts';
import { linkedWorkTrees } from '../../git/repository/linked-work-trees.ts';
import { branchesMadeFor } from '../../git/repository/thread-work-tree.ts';
import type { GitEnvironment, Repository } from '../../git/repository.ts';
import { readCommit } from '../../git/stores/read.ts';
import { repeatMerge } from '../../git/worktree/merge-trees.ts';
import { inPlaceOf } from '../../or-else.ts';
import { plural } from '../../format-time.ts';
import type { ThreadPointer } from '../thread-refs.ts';
import { findStart } from '../read/read-start.ts';
import type { ThreadId } from '../thread-id.ts';
import { CodeChanges } from './compare-code.ts';
import { findCode, type ThreadCode } from './thread-code.ts';

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
 *
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
  const changes = new CodeChanges(git, code);
  return { commits: (await changes.log()).length, files: (await changes.files()).length, commit };
}

/** A thread without a work tree of its own, or without recorded files. */
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
