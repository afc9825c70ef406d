import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { UwfError } from '../../errors.ts';
import { createDurableFile } from '../../git/system/files.ts';
import { orElse, succeeds, tryTo } from '../../or-else.ts';

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
function homeOf(env: Environment): string {
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

const KEY_BYTES = 32;

/**
 * A key of this user on this machine, made when it is asked for the first time. If it can neither be read nor made, or
 * there is no home, the key is new and for this process only.
 * @param name the file's name in the user's state folder
 */
export function machineKey(env: Readonly<Record<string, string | undefined>>, name: string): Uint8Array {
  const folder = stateFolder(env);
  const path = join(folder, name);
  const known = readKey(path);
  if (known !== undefined) return known;
  const fresh = randomBytes(KEY_BYTES);
  const home = homeOf(env);
  if (folder.startsWith(home) && !existsSync(home)) return fresh;
  const isMade = succeeds(() => {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // A home folder can be a repository: a key that is made during a turn is no change of its files.
    tryTo(() => writeFileSync(join(folder, '.gitignore'), '*\n', { flag: 'wx' }));
    createDurableFile(path, [fresh], 0o600);
  });
  // It is not where another process has made it, or the folder cannot be written to.
  return isMade ? fresh : (readKey(path) ?? fresh);
}

function readKey(path: string): Uint8Array | undefined {
  const key = orElse(() => readFileSync(path), undefined);
  return key?.length === KEY_BYTES ? key : undefined;
}
