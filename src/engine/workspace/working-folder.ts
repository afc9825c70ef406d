import { lstatSync, realpathSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { orElse } from '../../or-else.ts';
import { UwfError } from '../../errors.ts';
import { linkedWorkTrees } from '../../git/repository/work-trees.ts';
import type { RepositoryLocation } from '../../git/repository.ts';
import type { Reading } from '../engine-context.ts';
import { isWithin } from '../../git/system/is-within.ts';

/** A workflow wants a role to work in a folder that is none of the repository's files. */
function workingFolderOutside(role: string, source: 'cwd' | 'location', folder: string): UwfError {
  const who = source === 'cwd' ? `'cwd' of ${role}` : `the rule that gives ${role} its turn`;
  return new UwfError(`${who} names '${folder}', which is no folder of the work tree`, {
    code: 'working-folder-outside',
    kind: 'data',
    hint: "agents work in the work tree and in those that 'git worktree add' has linked to it; 'uwf thread step <thread> --role <role>' lets a role run where its definition says",
    facts: { folder, role },
  });
}

/** The folder that agents work in; `isOwn`: it is the thread's own work tree, which its roles do not leave. */
export type WorkingTop = Reading & { cwd: string; isOwn?: boolean };

/**
 * Where a role's agent works: what the rule that chose it says (`location`), else its definition (`cwd`), else where all
 * do.
 *
 * Both come with a thread, which may be another user's. So they lead, links followed, into the folder that agents work
 * in or into a work tree of the same repository, and never into what belongs to git.
 * @returns absolute, links resolved where one was named; a folder that is not there is left to the agent
 * @throws {UwfError} `working-folder-outside` if they lead elsewhere
 */
export function workingFolder(
  { cwd, isOwn = false, repository: { location } }: WorkingTop,
  role: string,
  wanted: { cwd: string | undefined; location: string | undefined },
): string {
  const [source, folder] = wanted.location?.trim()
    ? (['location', wanted.location.trim()] as const)
    : (['cwd', wanted.cwd] as const);
  if (folder === undefined) return cwd;
  const path = followLinks(resolve(cwd, folder));
  const isWork = (top: string): boolean => path !== undefined && isWithin(path, top) && !isGits(top, path, location);
  const tops = isOwn ? [followLinks(cwd) ?? cwd] : workTrees(cwd, location);
  if (path === undefined || !tops.some(isWork)) throw workingFolderOutside(role, source, folder);
  return path;
}

/** Tells whether a folder is in the work tree that the command was given in, and not in another one that lies below that. */
export function isGiven(
  { cwd, repository: { location } }: Pick<WorkingTop, 'cwd' | 'repository'>,
  folder: string,
): boolean {
  const path = followLinks(folder) ?? folder;
  const [nearest] = workTrees(cwd, location)
    .filter((top) => isWithin(path, top))
    .toSorted((a, b) => b.length - a.length);
  return nearest === undefined || givenTops(cwd, location).includes(nearest);
}

function workTrees(cwd: string, location: RepositoryLocation | undefined): string[] {
  return [...givenTops(cwd, location), ...(location ? linkedWorkTrees(location).map(({ top }) => top) : [])];
}

function givenTops(cwd: string, location: RepositoryLocation | undefined): string[] {
  return [cwd, ...(location?.workTree === undefined ? [] : [location.workTree])].flatMap(
    (top) => followLinks(top) ?? [],
  );
}

/** Hooks and configuration are programs, wherever below a work tree a `.git` is. */
function isGits(top: string, path: string, location: RepositoryLocation | undefined): boolean {
  if (
    relative(top, path)
      .split(sep)
      .some((name) => name.toLowerCase() === '.git')
  )
    return true;
  const folders = location ? [location.gitDir, location.commonDir] : [];
  // A work tree may itself have been put among what is git's.
  return folders.some((folder) => isWithin(folder, top) && isWithin(path, folder));
}

/** Resolves the links in the part of a path that exists; `undefined` if they cannot be resolved. */
function followLinks(path: string): string | undefined {
  if (path.includes('\0')) return undefined;
  const missing: string[] = [];
  for (let at = path; ; at = dirname(at)) {
    try {
      return join(realpathSync.native(at), ...missing);
    } catch {
      // A link that leads nowhere, or around, may lead somewhere tomorrow.
      if (dirname(at) === at || orElse(() => lstatSync(at).isSymbolicLink(), false)) return undefined;
      missing.unshift(basename(at));
    }
  }
}
