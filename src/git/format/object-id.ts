import { createHash, hash } from 'node:crypto';
import { UwfError } from '../../errors.ts';

/**
 * The name of a git object: lower-case hexadecimal digits, 40 of SHA-1 or 64 of SHA-256. Made only by this file.
 *
 * All ids of one repository are of one kind, that of its object format.
 */
export type ObjectId = string & { readonly __brand: 'ObjectId' };

/** Which hash names the objects of a repository. Source: git-init(1), `--object-format`. */
export type ObjectFormat = 'sha1' | 'sha256';

export type ObjectType = 'blob' | 'tree' | 'commit' | 'tag';

export function isObjectType(text: string | undefined): text is ObjectType {
  return text === 'blob' || text === 'tree' || text === 'commit' || text === 'tag';
}

/** A git object as it is before compression and without its header. */
export type GitObject = { type: ObjectType; data: Uint8Array };

// A pattern that counts to 40 and 64 would take a millisecond to compile.
const digits = /^[0-9a-f]+$/;

export function isObjectId(text: string): text is ObjectId {
  return (text.length === 40 || text.length === 64) && digits.test(text);
}

/** Reads an object id as git does, with digits of either case; `undefined` if the text has not the form of one. */
export function toObjectId(text: string): ObjectId | undefined {
  if (isObjectId(text)) return text;
  const lower = text.toLowerCase();
  return isObjectId(lower) ? lower : undefined;
}

/** @throws {UwfError} `invalid-object-id` if `text` has not the form of an object id */
export function parseObjectId(text: string): ObjectId {
  if (isObjectId(text)) return text;
  throw new UwfError(`'${text}' is not a git object id`, {
    code: 'invalid-object-id',
    kind: 'usage',
    hint: 'an object id has 40 hexadecimal digits, or 64 in a repository of sha256 objects',
    facts: { text },
  });
}

/** How many raw bytes an object id of a format has, as trees and pack indexes hold it. */
export function objectIdBytes(format: ObjectFormat): 20 | 32 {
  return format === 'sha1' ? 20 : 32;
}

export function formatOfId(id: ObjectId): ObjectFormat {
  return id.length === 40 ? 'sha1' : 'sha256';
}

/** Objects up to this size are hashed with one call: a `Hash` object for each would survive young garbage collections. */
const MAX_COPIED_BYTES = 64 * 1024;
const MAX_HEAD_BYTES = 32;
// Allocated with the first hash and shared, because hashing is synchronous.
let copied: Buffer | undefined;

/**
 * Computes the id git gives an object: the hash over `<type> <size>\0` and its data.
 * @param format that of the repository; the same object has another id in each
 * Source: gitdatamodel, "git hash-object"; git's Documentation/technical/hash-function-transition.txt.
 */
export function hashObject(object: GitObject, format: ObjectFormat = 'sha1'): ObjectId {
  const { type, data } = object;
  const head = `${type} ${data.byteLength}\0`;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- In hexadecimal these have 40 and 64 digits by definition.
  if (data.byteLength > MAX_COPIED_BYTES) return createHash(format).update(head).update(data).digest('hex') as ObjectId;
  copied ??= Buffer.allocUnsafeSlow(MAX_HEAD_BYTES + MAX_COPIED_BYTES);
  const headBytes = copied.write(head, 'latin1');
  copied.set(data, headBytes);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- As above.
  return hash(format, copied.subarray(0, headBytes + data.byteLength), 'hex') as ObjectId;
}

/** Copies a text of ASCII. What was cut out of a commit keeps the whole commit in memory, what was joined all its pieces. */
export function alone<T extends string>(text: T): T {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- It is the same text.
  return Buffer.from(text, 'latin1').toString('latin1') as T;
}
