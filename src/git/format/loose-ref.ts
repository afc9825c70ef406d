import type { RefName } from '../ref-store.ts';
import { toObjectId, type ObjectId } from './object-id.ts';
import { BrokenRef } from './ref-errors.ts';
import { isRefName } from './ref-name.ts';

/** The content of a loose ref: an object, or another ref. */
export type LooseRef = { kind: 'id'; id: ObjectId } | { kind: 'symbolic'; target: RefName };

/** The id that git writes for no object. */
export const NULL_ID: RegExp = /^0+$/;

const content = /^(?:ref:\s*(\S+)|([0-9A-Fa-f]+))(?:\s|$)/;

/**
 * Parses the file of a ref.
 *
 * @throws {BrokenRef} if it holds neither an id nor the name of a ref
 * Source: gitrepository-layout(5); `parse_loose_ref_contents` in git's refs/files-backend.c.
 */
export function parseLooseRef(name: RefName, text: string): LooseRef {
  const [, target, digits = ''] = content.exec(text) ?? [];
  if (NULL_ID.test(digits)) throw new BrokenRef(name, 'its file holds the id of no object');
  const id = toObjectId(digits);
  if (id !== undefined) return { kind: 'id', id };
  if (target !== undefined && isRefName(target)) return { kind: 'symbolic', target };
  throw new BrokenRef(name, text === '' ? 'its file is empty' : 'its file holds neither an object id nor a ref');
}

/** Tells whether git ignores a file among the refs without a warning. */
export function isPassedOver(path: string): boolean {
  return /\.lock$|\/\./.test(path);
}
