import { constants, cpSync, lstatSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../../errors.ts';
import { errnoOf } from '../../git/format/object-errors.ts';
import { textOfPath } from '../../git/format/paths.ts';
import { type GitPlace, runGit } from '../../git/process/run-git.ts';
import { mainWorkTree } from '../../git/repository/work-trees.ts';
import { INCLUDE_FILE, noteCopied } from '../../git/worktree/find-changes.ts';
import type { Unrecordable } from '../../git/worktree/file-notes.ts';

/**
 * Copies the ignored files that `.worktreeinclude` of the main work tree names, except those that the new work tree does not
 * ignore, and notes them.
 *
 * @param top the top of the new work tree
 * @returns files that could not be copied
 */
export async function copyIncluded(git: GitPlace, top: string): Promise<Unrecordable[]> {
  const from = mainWorkTree(git.location);
  const isWanted = from !== undefined && lstatSync(join(from, INCLUDE_FILE), { throwIfNoEntry: false })?.isFile();
  const left: Unrecordable[] = [];
  const leave = (path: string, reason: string): void => void left.push({ path, reason });
  const paths = isWanted === true ? await ignoredInBoth(git, { from, top }, leave) : [];
  // Before there is a copy: a killed process leaves none that is not known.
  noteCopied(git.location, paths);
  if (from === undefined) return left;
  for (const path of paths) {
    const name = textOfPath(path);
    if (name === undefined) leave(path, 'has a name that is not UTF-8');
    else tryToCopy(join(from, name), join(top, name), (reason) => leave(path, reason));
  }
  return left;
}

function tryToCopy(from: string, to: string, leave: (reason: string) => void): void {
  try {
    // A reflink where the file system has them; never a hard link, which a write in place would reach through.
    const options = { mode: constants.COPYFILE_FICLONE, recursive: true, verbatimSymlinks: true, force: false };
    cpSync(from, to, options);
  } catch (error) {
    const code = errnoOf(error);
    // No other file could be copied either.
    if (code === undefined || code === 'ENOSPC' || code === 'EDQUOT') throw error;
    leave(`cannot be copied: ${messageOf(error)}`);
  }
}

type Places = { from: string; top: string };

/** Paths in Latin-1. */
async function ignoredInBoth(
  git: GitPlace,
  { from, top }: Places,
  leave: (path: string, reason: string) => void,
): Promise<string[]> {
  const { commonDir } = git.location;
  const main = { ...git, location: { gitDir: commonDir, commonDir, workTree: from } };
  const listing = ['ls-files', '-z', '--others', '--ignored'];
  const [named, ignored] = await Promise.all([
    runGit({ ...main, args: [...listing, `--exclude-from=${INCLUDE_FILE}`] }),
    runGit({ ...main, args: [...listing, '--exclude-standard'] }),
  ]);
  const isIgnored = new Set(pathsIn(ignored));
  const wanted = pathsIn(named).filter((path) => {
    if (!isIgnored.has(path)) return false;
    // git does not look through a link, and the copy would be elsewhere.
    const isReached = !isBelowOther(top, path);
    if (!isReached) leave(path, 'is below a link or a file in the new work tree');
    return isReached;
  });
  if (wanted.length === 0) return [];
  const input = Buffer.from(wanted.map((path) => `${path}\0`).join(''), 'latin1');
  return pathsIn(await runGit({ ...git, args: ['check-ignore', '-z', '--stdin'], input, codes: [0, 1] }));
}

/** Tells whether something other than a folder is where a folder of a path has to be. */
function isBelowOther(top: string, path: string): boolean {
  for (let to = path.indexOf('/'); to !== -1; to = path.indexOf('/', to + 1)) {
    const folder = Buffer.concat([Buffer.from(`${top}/`), Buffer.from(path.slice(0, to), 'latin1')]);
    const found = lstatSync(folder, { throwIfNoEntry: false });
    if (found?.isDirectory() !== true) return found !== undefined;
  }
  return false;
}

function pathsIn(listed: Buffer): string[] {
  return listed.toString('latin1').split('\0').slice(0, -1);
}
