import { constants } from 'node:buffer';
import { existsSync, fstatSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { CorruptObject, isNotThere, ObjectTooLarge } from '../../format/object-errors.ts';
import { hashObject, isObjectType, type GitObject, type ObjectFormat, type ObjectId } from '../../format/object-id.ts';
import { inflate, inflateStart, isPlausibleSize } from './inflate.ts';
import { READ } from '../../system/read-regular-file.ts';
import { whileOpen } from '../../system/while-open.ts';
import { orElse } from '../../../or-else.ts';
import { readAt } from '../../system/read-at.ts';

/** Compressed bytes that always include the header. */
const startBytes = 1024;
/** More than the longest header. */
const headerBytes = 32;
const header = /^([a-z]+) (0|[1-9][0-9]{0,15})\0/;

/**
 * Reads a loose object; `undefined` if this object folder does not have it.
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
  const [head = '', type, digits] = header.exec(start?.toString('latin1') ?? '') ?? [];
  if (!isObjectType(type)) throw new CorruptObject(id, 'its file does not start with a header');
  const size = Number(digits);
  const limit = Math.min(maxBytes, constants.MAX_LENGTH);
  if (size > limit) throw new ObjectTooLarge(id, size, limit, type);
  if (!isPlausibleSize(size, file.byteLength)) throw new CorruptObject(id, `its file is too short for ${size} bytes`);
  const outcome = inflate(file, head.length + size);
  if ('problem' in outcome) throw new CorruptObject(id, `its file is ${outcome.problem}`);
  return { type, data: outcome.data.subarray(head.length) };
}

/** Writes a loose object that need not survive a power cut: into a quarantine. */
export function writeLooseObject(folder: string, object: GitObject, format: ObjectFormat): ObjectId {
  const id = hashObject(object, format);
  const path = looseObjectPath(folder, id);
  mkdirSync(dirname(path), { recursive: true });
  const head = Buffer.from(`${object.type} ${object.data.byteLength}\0`);
  writeFileSync(path, deflateSync(Buffer.concat([head, object.data])));
  return id;
}

/** Tells whether this object folder has a loose object. */
export function hasLooseObject(folder: string, id: ObjectId): boolean {
  return existsSync(looseObjectPath(folder, id));
}

function looseObjectPath(folder: string, id: ObjectId): string {
  return join(folder, id.slice(0, 2), id.slice(2));
}

function readWhole(path: string): Buffer | undefined {
  const file = orElse(() => openSync(path, READ), undefined, isNotThere);
  if (file === undefined) return undefined;
  return whileOpen(file, () => readAt(file, Buffer.allocUnsafe(fstatSync(file).size), 0));
}
