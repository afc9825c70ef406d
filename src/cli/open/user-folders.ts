import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

import { UwfError } from '../../errors.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The folder of this user's configuration: `$XDG_CONFIG_HOME/uwf`, which is `~/.config/uwf` where it is not set.
 * @see XDG Base Directory Specification: a path that is not absolute is ignored
 */
export function configFolder(env: Environment): string {
  return join(folderOf(env, 'XDG_CONFIG_HOME') ?? join(homeOf(env), '.config'), 'uwf');
}

/** The folder of what uwf remembers for this user: `$XDG_STATE_HOME/uwf`, which is `~/.local/state/uwf` where it is not set. */
export function stateFolder(env: Environment): string {
  return join(folderOf(env, 'XDG_STATE_HOME') ?? join(homeOf(env), '.local', 'state'), 'uwf');
}

/** The folder for the work trees of threads, of all repositories of this user. */
export function workTreesHere(env: Environment): string {
  return join(stateFolder(env), 'worktrees');
}

/**
 * The user's home, whether it is there or not.
 * @throws {UwfError} `relative-home` if it is no absolute path: a folder of a repository could pass for it
 */
export function homeOf(env: Environment): string {
  const home = env['HOME'] ?? homedir();
  if (isAbsolute(home)) return home;
  throw new UwfError(`$HOME is no absolute path: '${home}'`, {
    code: 'relative-home',
    kind: 'usage',
    hint: 'set it to the absolute path of your home, or unset it',
    facts: { home },
  });
}

function folderOf(env: Environment, name: string): string | undefined {
  const folder = env[name];
  return folder !== undefined && isAbsolute(folder) ? folder : undefined;
}
