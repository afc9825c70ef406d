import { createHash } from 'node:crypto';
import { UwfError } from '../errors.ts';

/** The name of a git object: 40 lower-case hexadecimal digits (SHA-1). Made only by this file. */
export type ObjectId = string & { readonly __brand: 'ObjectId' };

/** The four types of a git object. */
export type ObjectType = 'blob' | 'tree' | 'commit' | 'tag';

/** A git object as it is before compression and without its header. */
export type GitObject = { type: ObjectType; data: Uint8Array };

/** Raised for a string that is no object id. */
export class InvalidObjectId extends UwfError {
  readonly text: string;
  constructor(text: string) {
    super(`'${text}' is not a git object id`, {
      code: 'invalid-object-id',
      kind: 'usage',
      hint: 'an object id has 40 hexadecimal digits',
    });
    this.text = text;
  }
}

const pattern = /^[0-9a-f]{40}$/;

/** Tells whether a text has the form of an object id. */
export function isObjectId(text: string): text is ObjectId {
  return pattern.test(text);
}

/** @throws {InvalidObjectId} if `text` has not the form of an object id */
export function parseObjectId(text: string): ObjectId {
  if (!isObjectId(text)) throw new InvalidObjectId(text);
  return text;
}

/** The object id of 20 raw bytes, as trees and pack indexes hold it. */
export function objectIdFromBytes(bytes: Uint8Array): ObjectId {
  return parseObjectId(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex'));
}

/**
 * Computes the id git gives an object: SHA-1 over `<type> <size>\0` and its data.
 *
 * Source: gitdatamodel, "git hash-object".
 */
export function hashObject(object: GitObject): ObjectId {
  const digest = createHash('sha1')
    .update(`${object.type} ${object.data.byteLength}\0`)
    .update(object.data)
    .digest('hex');
  // SHA-1 in hexadecimal is 40 digits by definition.
  return digest as ObjectId;
}
