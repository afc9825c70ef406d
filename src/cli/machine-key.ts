import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createDurableFile } from '../git/disk/durable-file.ts';
import { homeOf, stateFolder } from './user-folders.ts';

const KEY_BYTES = 32;

/**
 * A key of this user on this machine, made when it is asked for the first time. Where it can neither be read nor made, or
 * there is no home, the key is a new one for this process alone.
 * @param name the file's, in the folder of what uwf remembers for this user
 */
export function machineKey(env: Readonly<Record<string, string | undefined>>, name: string): Uint8Array {
  const folder = stateFolder(env);
  const path = join(folder, name);
  const known = readKey(path);
  if (known !== undefined) return known;
  const fresh = randomBytes(KEY_BYTES);
  const home = homeOf(env);
  if (folder.startsWith(home) && !existsSync(home)) return fresh;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    createDurableFile(path, [fresh], 0o600);
    return fresh;
  } catch {
    // Another process was faster, or nothing can be kept here.
    return readKey(path) ?? fresh;
  }
}

function readKey(path: string): Uint8Array | undefined {
  try {
    const key = readFileSync(path);
    return key.length === KEY_BYTES ? key : undefined;
  } catch {
    return undefined;
  }
}
