import { readFileSync, readdirSync, statSync } from 'node:fs';
import type { Dirent } from 'node:fs';
import { join } from 'node:path';
import { errnoOf } from '../object-errors.ts';
import { isObjectId } from '../object-id.ts';
import type { ObjectId } from '../object-id.ts';
import { BrokenRef } from '../ref-errors.ts';
import { isRefName } from '../ref-name.ts';
import type { RefName } from '../ref-store.ts';
import type { RepositoryLocation } from '../repository.ts';
import { isOwnOfWorktree, refPath, worktreePrefixesBelow } from './ref-path.ts';

/** What a ref's file says: an object, or another ref. */
export type LooseRef = { kind: 'id'; id: ObjectId } | { kind: 'symbolic'; target: RefName };

const content = /^(?:ref:\s*(\S+)|([0-9a-f]+))(?:\s|$)/;
/** There is no file of this name: nothing, a folder, or a file where a folder would have to be. */
const absences = new Set(['ENOENT', 'ENOTDIR', 'EISDIR']);

/**
 * Reads the file of a ref; `undefined` if it has none.
 *
 * @throws {BrokenRef} if the file holds neither an id nor the name of a ref
 * Source: gitrepository-layout(5); `parse_loose_ref_contents` in git's refs/files-backend.c.
 */
export function readLooseRef(location: RepositoryLocation, name: RefName): LooseRef | undefined {
  let text: string;
  try {
    text = readFileSync(refPath(location, name), 'utf8');
  } catch (error) {
    if (absences.has(errnoOf(error) ?? '')) return undefined;
    throw error;
  }
  const [, target, id] = content.exec(text) ?? [];
  if (id !== undefined && isObjectId(id)) return { kind: 'id', id };
  if (target !== undefined && isRefName(target)) return { kind: 'symbolic', target };
  throw new BrokenRef(name, text === '' ? 'its file is empty' : 'its file holds neither an object id nor a ref');
}

/** Tells whether a ref has a file, whatever is in it. */
export function hasLooseRef(location: RepositoryLocation, name: RefName): boolean {
  return statSync(refPath(location, name), { throwIfNoEntry: false })?.isFile() === true;
}

/** The names of the refs below a prefix (ending in `/`) that have files, in no order; locks and leftovers left out. */
export function listLooseRefs(location: RepositoryLocation, prefix: string): RefName[] {
  const names: RefName[] = [];
  const ofWorktree = isOwnOfWorktree(prefix);
  collect(ofWorktree ? location.gitDir : location.commonDir, prefix, ofWorktree, names);
  for (const own of worktreePrefixesBelow(prefix)) collect(location.gitDir, own, true, names);
  return names;
}

function collect(root: string, prefix: string, ofWorktree: boolean, names: RefName[]): void {
  let entries: Dirent[];
  try {
    entries = readdirSync(join(root, prefix), { withFileTypes: true });
  } catch (error) {
    if (absences.has(errnoOf(error) ?? '')) return;
    throw error;
  }
  for (const entry of entries) {
    const name = prefix + entry.name;
    if (entry.isDirectory()) {
      if (isOwnOfWorktree(`${name}/`) === ofWorktree) collect(root, `${name}/`, ofWorktree, names);
    } else if (isRefName(name)) {
      names.push(name);
    }
  }
}
