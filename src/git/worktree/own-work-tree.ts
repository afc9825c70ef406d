import { existsSync, readdirSync } from 'node:fs';
import { inPlaceOf, orElse } from '../../or-else.ts';
import type { ObjectId } from '../format/object-id.ts';
import type { RefName } from '../ref-store.ts';
import type { Repository, RepositoryLocation } from '../repository.ts';
import { linkedWorkTrees } from '../repository/linked-work-trees.ts';
import { discoverRepository } from '../repository/discover.ts';
import { realPath, withoutPlaces } from '../repository/git-directory.ts';
import {
  branchesMadeFor,
  markUnfinished,
  noteThread,
  readThreadNote,
  type MadeBranch,
  type ThreadNote,
} from '../repository/thread-work-tree.ts';
import { GitFailed, runGit } from '../process/run-git.ts';
import type { GitPlace } from '../process/spawn-git.ts';
import { runWithoutFailing } from './find-changes.ts';
import { findGone, realPlace, removeLinked } from './remove-linked.ts';
import { restoreWorkTree, type WorkTreeContent } from './restore-work-tree.ts';
import { runWorktree } from './run-worktree.ts';
import { setMerging } from './unfinished-operation.ts';
import { SnapshotRefused, takeSnapshot, type SnapshotLimits, type SnapshotOptions } from './snapshot.ts';

/** A linked work tree that uwf made for a thread. */
export type OwnWorkTree = {
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
 *
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

/** Makes the first branch whose name is free. */
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
