import { existsSync, lstatSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { parseJson } from '../../json.ts';
import { arrayOf, isString, objectOf, stringThat } from '../../shape.ts';
import { isObjectId, type ObjectId } from '../format/object-id.ts';
import { isRefName } from '../format/refs.ts';
import type { RefName, RepositoryLocation } from '../repository.ts';
import { namesIn, share } from '../system/files.ts';
import { readIfThere, realPath, targetOfGitFile } from './git-directory.ts';
import { configuredWorkTree, readRepositoryConfig } from './repository-config.ts';

export type LinkedWorkTree = {
  /** Its top, links resolved. */
  top: string;
  /** Its own git folder. */
  gitDir: string;
};

/**
 * Lists the work trees that `git worktree add` has linked to a repository, as the repository records them: a folder cannot
 * claim to be one.
 *
 * Includes work trees that are gone and not pruned yet.
 * Source: gitrepository-layout(5), "worktrees/<id>/gitdir".
 */
export function linkedWorkTrees({ commonDir }: Pick<RepositoryLocation, 'commonDir'>): LinkedWorkTree[] {
  const folder = join(commonDir, 'worktrees');
  return namesIn(folder).flatMap((name) => {
    const gitDir = join(folder, name);
    const gitFile = readIfThere(join(gitDir, 'gitdir'))?.trimEnd();
    // Relative paths start at the folder that contains the file (`worktree.useRelativePaths`).
    const path = gitFile && resolve(gitDir, gitFile);
    return path && basename(path) === '.git' ? [{ top: realPath(dirname(path)), gitDir }] : [];
  });
}

/**
 * Tells where the `.git` in the folder of a work tree leads: to the work tree's own git folder, to another one (this repository
 * is a copy of the one that has the work tree), or to none, because it was removed or the repository was moved.
 */
export function linkOf({ top, gitDir }: LinkedWorkTree): 'here' | 'elsewhere' | 'nowhere' {
  const link = join(top, '.git');
  if (lstatSync(link, { throwIfNoEntry: false })?.isDirectory()) return 'elsewhere';
  const target = targetOfGitFile(link, readIfThere(link) ?? '');
  if (target === undefined || !existsSync(target)) return 'nowhere';
  return realPath(target) === realPath(gitDir) ? 'here' : 'elsewhere';
}

/**
 * Puts right the `.git` of a linked work tree that leads nowhere, as `git worktree repair` does. File system errors come
 * through as they are.
 */
export function relink(tree: LinkedWorkTree): void {
  if (!existsSync(tree.top) || linkOf(tree) !== 'nowhere') return;
  const link = join(tree.top, '.git');
  // A link of the file system that an agent left there would be followed.
  rmSync(link, { force: true });
  writeFileSync(link, `gitdir: ${tree.gitDir}\n`, { flag: 'wx' });
}

/** A file in the git folder of a linked work tree: uwf made the work tree, for the files of an agent. */
const MARK = 'uwf-made-for-thread';

/** Which thread a work tree belongs to, and which commit of the thread has its files. */
export type ThreadNote = {
  /** The id of the thread's ref. */
  thread: string;
  /** The step whose snapshot the files are, or the start, whose base they are. */
  at: ObjectId;
  /** The branch that was made for it, and the commit that was checked out there at `at`. */
  branch: RefName;
  commit: ObjectId;
};

const isNote = objectOf<ThreadNote>({
  thread: isString,
  at: stringThat(isObjectId),
  branch: stringThat(isRefName),
  commit: stringThat(isObjectId),
});

/** A branch that was made for a work tree, and where it is if nothing was committed to it since. */
export type MadeBranch = Pick<ThreadNote, 'branch' | 'commit'>;

const isUnfinished = objectOf<{ unfinished: MadeBranch[] }>({
  unfinished: arrayOf(objectOf<MadeBranch>({ branch: stringThat(isRefName), commit: stringThat(isObjectId) })),
});

/** Marks a linked work tree as made for a thread. File system errors come through as they are. */
export function markMadeForThread(location: Pick<RepositoryLocation, 'gitDir'>): void {
  markUnfinished(location, []);
}

/** Notes that the files of a linked work tree are not whole, with the branches that go if it is removed. */
export function markUnfinished({ gitDir }: Pick<RepositoryLocation, 'gitDir'>, branches: readonly MadeBranch[]): void {
  write(gitDir, { unfinished: branches });
}

export function noteThread({ gitDir }: Pick<RepositoryLocation, 'gitDir'>, note: ThreadNote): void {
  write(gitDir, note);
}

function write(gitDir: string, content: object): void {
  const file = join(gitDir, MARK);
  // A killed process must not leave an empty note: the work tree would lose its branch and pass for unfinished.
  writeFileSync(`${file}.tmp`, `${JSON.stringify(content)}\n`);
  share(`${file}.tmp`);
  renameSync(`${file}.tmp`, file);
}

/** The branches that were made for a work tree: that of its thread, or those of one that is not whole. */
export function branchesMadeFor({ gitDir }: Pick<RepositoryLocation, 'gitDir'>): readonly MadeBranch[] {
  const content = parseJson(readIfThere(join(gitDir, MARK)) ?? '');
  if (isUnfinished(content)) return content.unfinished;
  return isNote(content) ? [content] : [];
}

/** Which thread a linked work tree belongs to; `undefined` for one of a person, a restored step, or one that is not whole. */
export function readThreadNote({ gitDir }: Pick<RepositoryLocation, 'gitDir'>): ThreadNote | undefined {
  const note = parseJson(readIfThere(join(gitDir, MARK)) ?? '');
  return isNote(note) ? note : undefined;
}

/** Tells whether uwf made a linked work tree for a thread; false for work trees of people. */
export function isMadeForThread({ gitDir, commonDir }: Pick<RepositoryLocation, 'gitDir' | 'commonDir'>): boolean {
  return gitDir !== commonDir && existsSync(join(gitDir, MARK));
}

/**
 * The main work tree of a repository, found from any of its work trees; `undefined` for a bare repository.
 * Source: git-worktree(1); `get_main_worktree` in git's worktree.c, and gitrepository-layout(5) of `core.worktree`.
 */
export function mainWorkTree({ commonDir }: Pick<RepositoryLocation, 'commonDir'>): string | undefined {
  const configured = configuredWorkTree(readRepositoryConfig(commonDir, commonDir), commonDir);
  if (configured !== undefined) return configured ?? undefined;
  return basename(commonDir) === '.git' ? dirname(commonDir) : undefined;
}

type Place = Pick<RepositoryLocation, 'gitDir'>;

/**
 * Operations of git that a person has to finish, by what is in the git folder of the work tree meanwhile, and whether commits can
 * wait that are neither in its files nor in its history.
 */
const operations = [
  ['rebase-merge', 'rebase', true],
  ['rebase-apply/applying', 'am', true],
  ['rebase-apply', 'rebase', true],
  ['MERGE_HEAD', 'merge', false],
  ['REVERT_HEAD', 'revert', false],
  ['CHERRY_PICK_HEAD', 'cherry-pick', false],
  ['sequencer', 'cherry-pick', true],
] as const;

/** What else git notes of such operations, and of a bisection, in a work tree. */
const notes = (
  'MERGE_MODE MERGE_MSG MERGE_AUTOSTASH AUTO_MERGE SQUASH_MSG REBASE_HEAD refs/rewritten refs/worktree refs/bisect ' +
  'BISECT_LOG BISECT_START BISECT_NAMES BISECT_TERMS BISECT_EXPECTED_REV BISECT_ANCESTORS_OK'
).split(' ');

/** An operation that is not finished in a work tree, by its command; `isHalfDone`: commits wait for it. */
export type Operation = { name: 'merge' | 'rebase' | 'am' | 'cherry-pick' | 'revert'; isHalfDone: boolean };

export function findOperation({ gitDir }: Place): Operation | undefined {
  const found = operations.filter(([file]) => existsSync(join(gitDir, file)));
  const [first] = found;
  return first && { name: first[1], isHalfDone: found.some(([, , waits]) => waits) };
}

/** The commits that are being merged into the one that is checked out; none without an unfinished merge. */
export function readMerging({ gitDir }: Place): ObjectId[] {
  return [...new Set((readIfThere(join(gitDir, 'MERGE_HEAD')) ?? '').split('\n').filter(isObjectId))];
}

/**
 * Lets a work tree merge these commits, all files of which are as they ought to be, and nothing else. `git commit` finishes that.
 * File system errors come through as they are.
 */
export function setMerging({ gitDir }: Place, commits: readonly ObjectId[]): void {
  for (const name of [...operations.map(([file]) => file), ...notes])
    rmSync(join(gitDir, name), { recursive: true, force: true });
  if (commits.length === 0) return;
  writeFileSync(join(gitDir, 'MERGE_MSG'), `Merge commit ${commits.map((id) => `'${id}'`).join(', ')}\n`);
  writeFileSync(join(gitDir, 'MERGE_HEAD'), commits.map((id) => `${id}\n`).join(''));
}
