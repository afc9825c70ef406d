import { readdirSync } from 'node:fs';
import type { Dirent } from 'node:fs';
import { join } from 'node:path';
import { orElse } from '../../../or-else.ts';
import { errnoOf } from '../../format/object-errors.ts';
import { isPassedOver, parseLooseRef, type LooseRef } from '../../format/loose-ref.ts';
import { findStats } from '../../system/find-stats.ts';
import { FileRefused, readRegularFile } from '../../system/read-regular-file.ts';
import { BrokenRef } from '../../format/ref-errors.ts';
import { isRefName } from '../../format/ref-name.ts';
import type { RefName } from '../../ref-store.ts';
import type { RepositoryLocation } from '../../repository.ts';
import { isOwnOfWorktree, refPath, worktreePrefixesBelow } from './ref-path.ts';

/** There is no file of this name: nothing, a folder, or a file in place of its folder. */
const absences = new Set<string | undefined>(['ENOENT', 'ENOTDIR', 'EISDIR']);
/** The file is there, and cannot be read. */
const unreadable = new Set<string | undefined>(['EACCES', 'EPERM', 'EIO']);
/** More than any ref name with text after it. */
const MAX_BYTES = 64 * 1024;

/**
 * Reads the file of a ref; `undefined` if it has none.
 *
 * @throws {BrokenRef} if the file holds neither an id nor the name of a ref
 */
export function readLooseRef(location: RepositoryLocation, name: RefName): LooseRef | undefined {
  let text: string;
  try {
    text = readRegularFile(refPath(location, name), MAX_BYTES).toString('utf8');
  } catch (error) {
    if (error instanceof FileRefused) throw new BrokenRef(name, `its file ${error.reason}`);
    const code = errnoOf(error);
    if (absences.has(code)) return undefined;
    if (unreadable.has(code)) throw new BrokenRef(name, `its file cannot be read (${code})`);
    throw error;
  }
  return parseLooseRef(name, text);
}

/** Tells whether a ref has a file, sound or broken. */
export function hasLooseRef(location: RepositoryLocation, name: RefName): boolean {
  return findStats(refPath(location, name))?.isFile() === true;
}

/**
 * The names of the refs below a prefix (ending in `/`) that have files, in no order; locks left out.
 *
 * @param badName is called for files whose names are not ref names
 */
export function listLooseRefs(location: RepositoryLocation, prefix: string, badName?: BadName): RefName[] {
  const found = { names: [], badName };
  const ofWorktree = isOwnOfWorktree(prefix);
  collect(ofWorktree ? location.gitDir : location.commonDir, prefix, ofWorktree, found);
  for (const own of worktreePrefixesBelow(prefix)) collect(location.gitDir, own, true, found);
  return found.names;
}

type BadName = (name: string) => void;
type Found = { names: RefName[]; badName: BadName | undefined };

function collect(root: string, prefix: string, ofWorktree: boolean, found: Found): void {
  const list = (): Dirent[] => readdirSync(join(root, prefix), { withFileTypes: true });
  for (const entry of orElse(list, [], (error) => absences.has(errnoOf(error)))) {
    const name = prefix + entry.name;
    if (entry.isDirectory()) {
      if (isOwnOfWorktree(`${name}/`) === ofWorktree) collect(root, `${name}/`, ofWorktree, found);
    } else if (isRefName(name)) {
      found.names.push(name);
    } else if (!isPassedOver(name)) {
      found.badName?.(name);
    }
  }
}
