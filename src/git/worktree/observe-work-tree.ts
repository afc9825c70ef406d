import { createHash } from 'node:crypto';
import { lstatSync } from 'node:fs';
import { join, relative } from 'node:path';
import { orElse } from '../../or-else.ts';
import { pathAsText, type WorkTreeChanges } from '../format/paths.ts';
import { readIfThere } from '../repository/git-directory.ts';
import { type GitPlace, runGit } from '../process/run-git.ts';

/** A work tree at one moment, as far as it takes to notice a change. It is a value of JSON. */
export type ObservedWorkTree = {
  /** What `HEAD` says, and the commit that it leads to: `ref: refs/heads/main 3f2c…`. */
  head: string;
  /** A digest of the entries of the index. */
  index: string;
  /** The paths that differ from the index or are new, in Latin-1, with what tells a further change: mode, size and time. */
  files: readonly (readonly [path: string, trace: string])[];
};

const MAX_NAMED = 100;
const NONE = Buffer.alloc(0);

/**
 * Observes a work tree. Takes no lock and writes nothing, not even the index. Does not see ignored files, nor new ones where
 * `status.showUntrackedFiles` of git is `no`: the work tree can be a home folder.
 */
export async function observeWorkTree(git: GitPlace): Promise<ObservedWorkTree> {
  const run = { ...git, variables: { GIT_OPTIONAL_LOCKS: '0' } };
  const top = git.location.workTree;
  const [commit, entries, status] = await Promise.all([
    runGit({ ...run, args: ['rev-parse', '--verify', '--quiet', 'HEAD'] }).catch(() => NONE),
    top === undefined ? NONE : runGit({ ...run, args: ['ls-files', '--stage', '-z'] }),
    top === undefined ? NONE : runStatus(run),
  ]);
  // A repository of dotfiles can lie in its own work tree under any name.
  const own = Buffer.from(`${relative(top ?? '/', git.location.commonDir)}/`).toString('latin1');
  const said = readIfThere(join(git.location.gitDir, 'HEAD'))?.trim() ?? '';
  return {
    head: said === commit.toString().trim() ? said : `${said} ${commit.toString().trim()}`,
    index: createHash('sha256').update(entries).digest('hex'),
    files: status
      .toString('latin1')
      .split('\0')
      .filter((line) => line !== '' && !line.slice(3).startsWith(own))
      .map((line) => [line.slice(3), top === undefined ? '' : `${line.slice(0, 2)} ${traceOf(top, line.slice(3))}`]),
  };
}

async function runStatus(run: GitPlace): Promise<Buffer> {
  const said = await runGit({ ...run, args: ['config', '--get', 'status.showUntrackedFiles'], codes: [0, 1] });
  const untracked = said.toString('latin1').trim() === 'no' ? 'no' : 'all';
  const how = ['--porcelain=v1', '-z', `--untracked-files=${untracked}`, '--no-renames', '--ignore-submodules=dirty'];
  return runGit({ ...run, args: ['status', ...how] });
}

/** What changes when the file does. */
function traceOf(top: string, path: string): string {
  const file = Buffer.concat([Buffer.from(`${top}/`), Buffer.from(path, 'latin1')]);
  return orElse(() => {
    const { mode, size, mtimeNs, ino } = lstatSync(file, { bigint: true });
    return [mode, size, mtimeNs, ino].join(' ');
  }, '');
}

/** Compares two observations; `undefined` if nothing changed. */
export function changesBetween(before: ObservedWorkTree, after: ObservedWorkTree): WorkTreeChanges | undefined {
  const [old, now] = [new Map(before.files), new Map(after.files)];
  const paths = [...new Set([...old.keys(), ...now.keys()])].filter((path) => old.get(path) !== now.get(path));
  const changes: WorkTreeChanges = {
    ...(before.head !== after.head && { head: [before.head, after.head] as [string, string] }),
    ...(before.index !== after.index && { index: true as const }),
    ...(paths.length > 0 && {
      files: { count: paths.length, paths: paths.toSorted().slice(0, MAX_NAMED).map(pathAsText) },
    }),
  };
  return Object.keys(changes).length === 0 ? undefined : changes;
}
