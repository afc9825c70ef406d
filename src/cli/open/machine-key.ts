import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { orElse, succeeds, tryTo } from '../../or-else.ts';
import { createDurableFile } from '../../git/system/write-files.ts';
import { homeOf, stateFolder } from './user-folders.ts';

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
