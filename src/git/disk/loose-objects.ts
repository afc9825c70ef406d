import { constants } from 'node:buffer';
import { closeSync, existsSync, fstatSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { CorruptObject, ObjectTooLarge, errnoOf } from '../object-errors.ts';
import type { GitObject, ObjectId, ObjectType } from '../object-id.ts';
import { inflate, inflateStart, isPlausibleSize } from './inflate.ts';
import { READ } from '../read-regular-file.ts';
import { readAt } from './open-files.ts';

/** Compressed bytes that surely hold the header, whatever the compressor put before it. */
const startBytes = 1024;
/** The longest header there is, with room to spare. */
const headerBytes = 32;
const header = /^(blob|tree|commit|tag) (0|[1-9][0-9]{0,15})\0/;

/**
 * Reads an object that has a file of its own; `undefined` if there is none in this object folder.
 *
 * The object's id is not checked here.
 * @throws {CorruptObject} if the file is not a whole object
 * @throws {ObjectTooLarge} before the object is inflated, if it is larger than `maxBytes`
 * Source: gitformat-loose(5).
 */
export function readLooseObject(folder: string, id: ObjectId, maxBytes: number): GitObject | undefined {
  const file = readWhole(looseObjectPath(folder, id));
  if (file === undefined) return undefined;
  const start = inflateStart(file.subarray(0, startBytes), headerBytes);
  const match = start === undefined ? null : header.exec(start.toString('latin1'));
  if (match === null) throw new CorruptObject(id, 'its file does not start with a header');
  // The pattern lets nothing else pass.
  const type = match[1] as ObjectType;
  const size = Number(match[2]);
  const limit = Math.min(maxBytes, constants.MAX_LENGTH);
  if (size > limit) throw new ObjectTooLarge(id, size, limit, type);
  if (!isPlausibleSize(size, file.byteLength)) throw new CorruptObject(id, `its file is too short for ${size} bytes`);
  const outcome = inflate(file, match[0].length + size);
  if ('problem' in outcome) throw new CorruptObject(id, `its file is ${outcome.problem}`);
  return { type, data: outcome.data.subarray(match[0].length) };
}

/** Tells whether an object has a file of its own in this object folder. */
export function hasLooseObject(folder: string, id: ObjectId): boolean {
  return existsSync(looseObjectPath(folder, id));
}

function looseObjectPath(folder: string, id: ObjectId): string {
  return join(folder, id.slice(0, 2), id.slice(2));
}

function readWhole(path: string): Buffer | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(path, READ);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR') return undefined;
    throw error;
  }
  try {
    return readAt(descriptor, Buffer.allocUnsafe(fstatSync(descriptor).size), 0);
  } finally {
    closeSync(descriptor);
  }
}
