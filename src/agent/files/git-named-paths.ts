import { type GitPlace, runGit } from '../../git/process/run-git.ts';
import { dirname, isAbsolute, join, resolve } from 'node:path';

import type { GitEnvironment } from '../../git/repository.ts';

/** Paths that mean something to git or to uwf. */
export type NamedPaths = {
  /** Folders of hooks. */
  hooks: string[];
  /** Files that git reads as configuration, or would if they were there. */
  configuration: string[];
  /** Files of passwords, and what uwf keeps for the user. */
  secret: string[];
};

/**
 * The paths that are fixed for a user.
 *
 * Source: git-config(1), git-credential-store(1), "FILES"; the XDG Base Directory Specification.
 */
export function pathsOfUser(env: GitEnvironment): NamedPaths {
  const { HOME: home, XDG_CONFIG_HOME: xdg } = env;
  const inHome = (...names: string[]): string[] => (home === undefined ? [] : names.map((name) => join(home, name)));
  const users = [...(xdg !== undefined && isAbsolute(xdg) ? [xdg] : []), ...inHome('.config')];
  const states = statesOfUser(env);
  return {
    hooks: [],
    configuration: [...inHome('.gitconfig'), ...users.map((folder) => join(folder, 'git', 'config'))],
    secret: [
      ...inHome('.git-credentials', '.netrc'),
      ...users.map((folder) => join(folder, 'git', 'credentials')),
      ...[...users, ...states].map((folder) => join(folder, 'uwf')),
    ],
  };
}

/** The folders in which uwf makes the work trees of threads, which lie among its folders of the user. */
export function workTreesOfUser(env: GitEnvironment): string[] {
  return statesOfUser(env).map((folder) => join(folder, 'uwf', 'worktrees'));
}

function statesOfUser({ HOME: home, XDG_STATE_HOME: state }: GitEnvironment): string[] {
  const inHome = home === undefined ? [] : [join(home, '.local/state')];
  return state !== undefined && isAbsolute(state) ? [state, ...inHome] : inHome;
}

/**
 * Finds the files that git would run, obey or trust in a repository, by its effective configuration; none without git, or
 * where that is broken.
 *
 * Source: git-config(1), `--show-origin`, "Includes", `core.hooksPath`; git-credential-store(1), `--file`.
 */
export async function findNamedPaths(git: GitPlace): Promise<NamedPaths> {
  const named: NamedPaths = { hooks: [], configuration: [], secret: [] };
  const top = git.location.workTree ?? git.location.gitDir;
  const meant = (path: string, from: string): string =>
    resolve(from, path.replace(/^~(?=\/|$)/u, git.env['HOME'] ?? '~'));
  for (const { origin, key, value } of await listWithOrigin(git)) {
    const file = origin.startsWith('file:') ? resolve(top, origin.slice('file:'.length)) : undefined;
    if (file !== undefined) named.configuration.push(file);
    if (key === 'core.hookspath') named.hooks.push(meant(value, top));
    if (/^include(?:if\..*)?\.path$/su.test(key)) named.configuration.push(meant(value, dirname(file ?? top)));
    const store = /^credential\..*helper$/su.test(key) ? /--file[= ]\s*(\S+)/u.exec(value)?.[1] : undefined;
    if (store !== undefined) named.secret.push(meant(store, top));
  }
  return named;
}

async function listWithOrigin(git: GitPlace): Promise<{ origin: string; key: string; value: string }[]> {
  const args = ['config', '--list', '--null', '--show-origin', '--includes'];
  const printed = await runGit({ ...git, args }).catch(() => Buffer.from(''));
  const fields = printed.toString('utf8').split('\0');
  return Array.from({ length: Math.floor(fields.length / 2) }, (_, at) => {
    const entry = fields[2 * at + 1] ?? '';
    const [key = '', ...value] = entry.split('\n');
    return { origin: fields[2 * at] ?? '', key, value: value.join('\n') };
  });
}
