import { existsSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { UwfError } from '../../errors.ts';
import { inPlaceOf, orElse, tryTo } from '../../or-else.ts';
import type { ObjectId } from '../format/object-id.ts';
import { pathAsText } from '../format/paths.ts';
import { GitFailed, type GitPlace, type GitRun, runGit } from '../process/run-git.ts';
import type { RefName, Repository, RepositoryLocation } from '../repository.ts';
import { discoverRepository } from '../repository/discover.ts';
import { realPath, withoutPlaces } from '../repository/git-directory.ts';
import {
  branchesMadeFor,
  isMadeForThread,
  type LinkedWorkTree,
  linkedWorkTrees,
  type MadeBranch,
  markMadeForThread,
  markUnfinished,
  noteThread,
  readThreadNote,
  setMerging,
  type ThreadNote,
} from '../repository/work-trees.ts';
import { gitlinksIn, runWithoutFailing } from './find-changes.ts';
import { type SnapshotLimits, type SnapshotOptions, SnapshotRefused, takeSnapshot } from './snapshot.ts';

/** A linked work tree that uwf made for a thread. */
type OwnWorkTree = {
  location: RepositoryLocation;
  /** What it was made for; absent where that was interrupted. */
  note: ThreadNote | undefined;
};

/** Where git makes a work tree, and what ends that. */
export type MakingPlace = GitPlace & { signal?: AbortSignal };

/** The files and the branch of a thread's own work tree. */
export type OwnContent = Pick<WorkTreeContent, 'tree' | 'commit' | 'merging'> &
  Pick<ThreadNote, 'thread' | 'at'> & {
    /** Names for its branch, of which the first is taken that is free. */
    branches: readonly RefName[];
    /** Makes the work tree fit to work in. It counts as unfinished until this ends. */
    equip: (git: MakingPlace) => Promise<void>;
  };

/** Finds the work tree in a folder, by what the repository records: a folder cannot claim to be one. */
export async function findOwnWorkTree({ location, env }: GitPlace, folder: string): Promise<OwnWorkTree | undefined> {
  const top = realPath(folder);
  const known = linkedWorkTrees(location).find((tree) => tree.top === top);
  if (known === undefined) return undefined;
  const found = await discoverRepository(folder, withoutPlaces(env)).catch(() => undefined);
  if (found === undefined || realPath(found.gitDir) !== realPath(known.gitDir)) return undefined;
  return { location: found, note: readThreadNote(found) };
}

/**
 * Makes a linked work tree with a branch of its own. Until its note is written it counts as unfinished.
 * @throws {UwfError} `folder-in-use` {GitFailed} {GitNotFound} as `restoreWorkTree`; nothing of it stays then
 */
export async function makeOwnWorkTree(
  git: MakingPlace,
  folder: string,
  content: OwnContent,
): Promise<RepositoryLocation> {
  await restoreWorkTree(git, content, folder);
  const location = await discoverRepository(folder, withoutPlaces(git.env));
  try {
    await settle({ ...git, location }, content);
  } catch (error) {
    // The signal may have been what ended it.
    await removeOwnWorkTree({ location: git.location, env: git.env }, folder, branchesMadeFor(location));
    throw error;
  }
  return location;
}

/**
 * Gives a work tree that is at rest other files. Only what differs is written. New files of the thread before go, ignored ones
 * too if that was another thread.
 */
export async function refillOwnWorkTree(git: MakingPlace, before: ThreadNote, content: OwnContent): Promise<void> {
  const isOther = before.thread !== content.thread;
  // From here on it is unfinished: a killed process leaves no work tree that passes for a thread's.
  markUnfinished(git.location, [before, { branch: before.branch, commit: content.commit }].slice(0, isOther ? 1 : 2));
  const reading = ['read-tree', '--reset', '-u', content.tree];
  await runWithoutFailing({ ...git, settings: ['checkout.workers=0'] }, reading, 'smudge');
  await runGit({ ...git, args: ['clean', '--quiet', '-ffd', ...(isOther ? ['-x'] : [])] });
  // A merge that the last turn left would be taken for one of the next.
  setMerging(git.location, content.merging ?? []);
  await settle(git, content, isOther ? undefined : before.branch);
}

/**
 * Puts `HEAD` on the branch, at the commit that the files belong to, equips a work tree that is new to the thread, and notes
 * whose it is.
 */
async function settle(git: MakingPlace, content: OwnContent, own?: RefName): Promise<void> {
  const { thread, at, commit } = content;
  const branch = own ?? (await makeBranch(git, content));
  if (own !== undefined) await runGit({ ...git, args: ['update-ref', own, commit] });
  await runGit({ ...git, args: ['symbolic-ref', 'HEAD', branch] });
  if (own === undefined) await content.equip(git);
  // While it is unfinished: after that no note has them.
  for (const other of branchesMadeFor(git.location)) if (other.branch !== branch) await dropBranch(git, other);
  noteThread(git.location, { thread, at, branch, commit });
}

async function makeBranch(git: GitPlace, { branches, commit }: OwnContent): Promise<RefName> {
  const others = branchesMadeFor(git.location);
  for (const name of branches) {
    try {
      markUnfinished(git.location, [...others, { branch: name, commit }]);
      await runGit({ ...git, args: ['update-ref', name, commit, ''] });
      return name;
    } catch (error) {
      // Another thread, or a person, has a branch of this name.
      if (!(error instanceof GitFailed) || name === branches.at(-1)) throw error;
    }
  }
  throw new Error('a work tree needs a branch');
}

/** Removes a work tree with its registration, and the branches that were made for it if they are where they were. */
export async function removeOwnWorkTree(git: GitPlace, folder: string, branches: readonly MadeBranch[]): Promise<void> {
  // Its note names them, and goes with it.
  for (const branch of branches) await dropBranch(git, branch, folder);
  removeLinked(git.location, folder);
}

/** Removes the registration of a thread's work tree whose folder is gone, and its branches. */
export async function forgetGoneWorkTree(git: GitPlace, folder: string): Promise<void> {
  const gone = findGone(git.location, folder);
  if (gone !== undefined) await removeOwnWorkTree(git, folder, branchesMadeFor(gone));
}

/** Moves a work tree. @returns false if another process was first */
export async function moveOwnWorkTree(git: GitPlace, from: string, to: string): Promise<boolean> {
  return runWorktree(git, ['move', '--', from, to]).then(
    () => true,
    () => false,
  );
}

/** The tree that a snapshot of a work tree would have now; `undefined` if its files could not all be recorded. */
export async function treeOfFiles(
  repository: Repository,
  git: GitPlace,
  limits: SnapshotLimits,
): Promise<ObjectId | undefined> {
  let seen: ObjectId | undefined;
  const inspect: SnapshotOptions['inspect'] = (tree, _, { missing }) => {
    if (missing === undefined) seen = tree;
    throw new SnapshotRefused('it is only compared');
  };
  await takeSnapshot(repository, { ...git, limits, inspect }).catch((error: unknown) => {
    if (!(error instanceof SnapshotRefused)) throw error;
  });
  return seen;
}

/** Tells whether a folder has nothing in it, or is not there. */
export function isFreeFolder(folder: string): boolean {
  return !existsSync(folder) || orElse(() => readdirSync(folder).length === 0, false);
}

/**
 * Removes a branch that was made for a work tree. It stays if it has commits that are not recorded, or if it is checked out
 * elsewhere than in `folder`. It need not be at the recorded commit: agents make branches of their own, and leave it where it was.
 */
async function dropBranch(git: GitPlace, { branch, commit }: MadeBranch, folder?: string): Promise<void> {
  const args = ['for-each-ref', '--format=%(objectname) %(worktreepath)', `--merged=${commit}`, branch];
  const told = await runGit({ ...git, args }).catch(inPlaceOf(GitFailed, ''));
  const [, now, at] = /^(\S+) (.*)\n$/s.exec(String(told)) ?? [];
  if (now === undefined || (at && (folder === undefined || realPlace(at) !== realPlace(folder)))) return;
  await runGit({ ...git, args: ['update-ref', '-d', branch, now] }).catch(inPlaceOf(GitFailed, undefined));
}

type WorkTreeContent = {
  tree: ObjectId;
  /** The detached `HEAD`. */
  commit: ObjectId;
  /** The commits that are being merged into it, whose files are in the tree. */
  merging?: readonly ObjectId[];
  /** Leave `HEAD` on a branch of this name that has no commit yet. */
  unbornBranch?: string;
};

export type RestoredWorkTree = {
  /** Absolute. */
  folder: string;
  /** The folders of submodules, which are empty, as `pathAsText` writes them. */
  submodules: string[];
  /** Required filters, if one of them failed: their files are as git stores them. Absent if none failed. */
  filters?: string[];
};

/**
 * Makes a linked work tree with exactly the files of a tree, and marks it as made for a thread. Differences from its commit
 * are in its index.
 *
 * Does not touch other work trees: no index, no `HEAD`, no branch. git refuses paths that lead out of the folder. A folder
 * that cannot be filled is removed.
 * @param folder absolute, or relative to the process; it must not exist, or be empty
 * @throws {UwfError} `folder-in-use` if the folder is not empty
 */
export async function restoreWorkTree(
  git: GitPlace,
  content: WorkTreeContent,
  folder: string,
): Promise<RestoredWorkTree> {
  const path = resolve(folder);
  if (existsSync(path) && readdirSync(path).length > 0) {
    const hint = 'name a folder that does not exist yet';
    const facts = { folder: path };
    throw new UwfError(`${path} is there already and is not empty`, {
      code: 'folder-in-use',
      kind: 'usage',
      hint,
      facts,
    });
  }
  // An earlier one there was deleted as a folder.
  if (findGone(git.location, path) !== undefined) removeLinked(git.location, path);
  const { tree, commit, unbornBranch } = content;
  await runWorktree(git, ['add', '--detach', '--no-checkout', '--', path, commit]);
  try {
    const location = await discoverRepository(path, withoutPlaces(git.env));
    markMadeForThread(location);
    const run = { location, env: git.env, settings: ['checkout.workers=0'] };
    const { filters } = await runWithoutFailing(run, ['read-tree', '--reset', '-u', tree], 'smudge');
    await fillSparse(run, content);
    setMerging(location, content.merging ?? []);
    if (unbornBranch !== undefined) {
      await runGit({ ...run, args: ['symbolic-ref', 'HEAD', `refs/heads/${unbornBranch}`] });
    }
    const listed = await runGit({ ...git, args: ['ls-tree', '-r', '-z', tree] });
    const submodules = gitlinksIn(listed).map((each) => pathAsText(each.path));
    return { folder: path, submodules, ...(filters.length > 0 && { filters }) };
  } catch (error) {
    removeLinked(git.location, path);
    throw error;
  }
}

/**
 * Writes the files outside of a sparse cone that a tree changes in its commit: they were there, or they would not have
 * changed. Unchanged files stay away. The new work tree has the cone of the one that it is linked to.
 */
async function fillSparse(git: GitPlace, { tree, commit }: WorkTreeContent): Promise<void> {
  const config = await runGit({ ...git, args: ['config', '--type=bool', '--default=false', 'core.sparseCheckout'] });
  if (config.toString('latin1').trim() !== 'true') return;
  const listing = ['diff-tree', '-r', '-z', '--name-only', '--no-renames', '--diff-filter=d', commit, tree];
  const input = await runGit({ ...git, args: listing });
  await runGit({ ...git, args: ['update-index', '-z', '--no-skip-worktree', '--stdin'], input });
  await runGit({ ...git, args: ['checkout-index', '-z', '-f', '-u', '--stdin'], input });
}

/** The real path of a folder that may be gone, and whose parent can still lie behind a link. */
function realPlace(folder: string): string {
  return join(realPath(dirname(folder)), basename(folder));
}

/**
 * Finds the registration of a work tree that uwf made and whose folder is gone, or empty: git makes no work tree there while it
 * is registered. One that `git worktree lock` locked is not found: its disk may not be mounted.
 */
function findGone(location: RepositoryLocation, folder: string): LinkedWorkTree | undefined {
  if (existsSync(folder) && readdirSync(folder).length > 0) return undefined;
  const { commonDir } = location;
  const top = realPlace(folder);
  return linkedWorkTrees(location).find(
    (tree) => tree.top === top && isMadeForThread({ ...tree, commonDir }) && !existsSync(join(tree.gitDir, 'locked')),
  );
}

/**
 * Removes a linked work tree, whatever it contains, and its registration.
 *
 * Other registrations stay: `git worktree prune` would also remove that of a work tree on a disk that is not mounted, or one
 * that another process is just making. File system errors come through as they are.
 */
function removeLinked(location: RepositoryLocation, folder: string): void {
  const top = realPlace(folder);
  // The registration last: without it, a killed process would leave a folder that no command finds.
  const registered = linkedWorkTrees(location).filter((tree) => tree.top === top);
  rmSync(folder, { recursive: true, force: true });
  for (const { gitDir } of registered) {
    rmSync(gitDir, { recursive: true, force: true });
    // As git does after the last one.
    tryTo(() => rmdirSync(dirname(gitDir)));
  }
}

const MAX_TRIES = 100;
const MAX_PAUSE_MS = 20;

/**
 * Runs `git worktree`, again while another process registers or removes a work tree: git reads all registrations, and fails at
 * one whose `commondir` is not written yet.
 * Source: `get_common_dir_noenv` in git's setup.c.
 */
async function runWorktree(run: Omit<GitRun, 'args'>, args: readonly string[]): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await runGit({ ...run, args: ['worktree', ...args] });
      return;
    } catch (error) {
      const isUnwritten = error instanceof GitFailed && /^fatal: failed to read .*commondir/m.test(error.said);
      if (!isUnwritten || tries === MAX_TRIES) throw error;
      await sleep(Math.random() * MAX_PAUSE_MS);
    }
  }
}

/**
 * Tells whether a submodule of a linked work tree has commits that no remote of it has. git keeps the repository of such a
 * submodule in the git folder of the work tree, so they go when the work tree is removed.
 * @param readBase reads the commit that the work tree began with. The commits of its submodules do not count: a remote need not
 *   have them on a branch
 */
export async function hasOwnSubmoduleCommits(
  git: GitPlace,
  readBase: () => Promise<string | undefined>,
): Promise<boolean> {
  const { workTree = '' } = git.location;
  const env = withoutPlaces(git.env);
  const listed = await submodulesIn(git, ['ls-files', '-z', '--stage']);
  const paths = [...listed.keys()].filter((path) => existsSync(join(workTree, path, '.git')));
  if (paths.length === 0) return false;
  const base = await readBase();
  const begunWith = base === undefined ? new Map<string, string>() : await submodulesIn(git, ['ls-tree', '-rz', base]);
  for (const path of paths) {
    const known = begunWith.get(path) ?? [];
    const args = ['rev-list', '--max-count=1', '--ignore-missing', 'HEAD', '--branches', '--not', '--remotes'];
    try {
      const location = await discoverRepository(join(workTree, path), env);
      if ((await runGit({ location, env, args: args.concat(known) })).length > 0) return true;
    } catch {
      // It has no commit, or is damaged, so what it has cannot be known.
      return true;
    }
  }
  return false;
}

/** The commits of the submodules that git lists, by their paths. */
async function submodulesIn(git: GitPlace, args: readonly string[]): Promise<Map<string, string>> {
  const gitlinks = gitlinksIn(await runGit({ ...git, args }));
  return new Map(gitlinks.map(({ path, commit }) => [Buffer.from(path, 'latin1').toString(), commit]));
}
