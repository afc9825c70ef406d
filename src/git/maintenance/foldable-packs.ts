import { fstatSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isOwnPack } from '../stores/disk/pack-name.ts';
import { namesIn } from '../system/names-in.ts';
import { isNotThere } from '../format/object-errors.ts';
import { objectIdFromBytes, type ObjectId } from '../format/object-id.ts';
import type { RepositoryLocation } from '../repository.ts';
import { orElse } from '../../or-else.ts';
import { whileOpen } from '../system/while-open.ts';

/** How many packs git lets gather by default (`gc.autoPackLimit`). */
export const MAX_GATHERED = 50;

/** A smaller pack is small. Repacked packs soon exceed this. */
const MAX_SMALL_BYTES = 1024 * 1024;

/** The name and the size of a pack. */
type PackName = {
  /** `pack-<hash>`, without an ending. */
  name: string;
  bytes: number;
};

/** A pack that may be repacked. */
export type FoldablePack = PackName & {
  /** The sorted ids of its objects. */
  ids: readonly ObjectId[];
};

/** The folder of the packs of a repository's own object folder. */
export function packFolderOf({ commonDir }: RepositoryLocation): string {
  return join(commonDir, 'objects', 'pack');
}

/** Counts the packs of a repository's own object folder. */
export function countPacks(location: RepositoryLocation): number {
  return namesIn(packFolderOf(location)).filter((name) => /^pack-.*\.idx$/.test(name)).length;
}

/**
 * Lists the packs that uwf made, up to a size, and that are not in use: not those with a keep, a promisor file or an mtimes
 * file, and not those in a multi-pack-index. Other packs belong to the user.
 *
 * @returns their names, without an ending, and sizes
 */
export function listSmallPacks(folder: string, mostBytes: number): PackName[] {
  const names = new Set(namesIn(folder));
  // A chain of such indexes is not read.
  if (names.has('multi-pack-index.d')) return [];
  const indexed = names.has('multi-pack-index') ? packsOfMultiPackIndex(join(folder, 'multi-pack-index')) : new Set();
  if (indexed === undefined) return [];
  return [...names].flatMap((file) => {
    const name = /^(pack-.+)\.idx$/.exec(file)?.[1];
    if (name === undefined || !isOwnPack(name) || indexed.has(name)) return [];
    if (['keep', 'promisor', 'mtimes'].some((end) => names.has(`${name}.${end}`))) return [];
    const bytes = statSync(join(folder, `${name}.pack`), { throwIfNoEntry: false })?.size;
    return bytes === undefined || bytes > mostBytes ? [] : [{ name, bytes }];
  });
}

/** Counts the small packs that uwf made; see {@link listSmallPacks}. */
export function countSmallPacks(location: RepositoryLocation): number {
  return listSmallPacks(packFolderOf(location), MAX_SMALL_BYTES).length;
}

/** The smallest packs, up to a number of bytes together. */
export function smallestPacks(packs: readonly PackName[], mostBytesTogether: number): PackName[] {
  let together = 0;
  return packs.toSorted((a, b) => a.bytes - b.bytes).filter(({ bytes }) => (together += bytes) <= mostBytesTogether);
}

/** Reads the ids of small packs. Skips packs that another process has repacked meanwhile. */
export function readSmallPacks(folder: string, packs: readonly PackName[]): FoldablePack[] {
  return packs.flatMap((pack) => {
    const index = orElse(() => readFileSync(join(folder, `${pack.name}.idx`)), undefined, isNotThere);
    const ids = index && idsOf(index);
    return ids === undefined ? [] : [{ ...pack, ids }];
  });
}

/**
 * The ids in the index of a pack of less than 2 GiB; `undefined` for a larger pack, and for version 1.
 *
 * The length of the file shows the length of the ids.
 * Source: gitformat-pack(5), "Version 2 pack-*.idx files".
 */
function idsOf(index: Buffer): ObjectId[] | undefined {
  const idsAt = 8 + 256 * 4;
  if (index.length < idsAt || index.readUInt32BE(0) !== 0xff744f63 || index.readUInt32BE(4) !== 2) return undefined;
  const count = index.readUInt32BE(idsAt - 4);
  const idBytes = [20, 32].find((bytes) => index.length === idsAt + count * (bytes + 8) + 2 * bytes);
  if (idBytes === undefined) return undefined;
  return Array.from({ length: count }, (_, at) =>
    objectIdFromBytes(index.subarray(idsAt + at * idBytes, idsAt + (at + 1) * idBytes)),
  );
}

/**
 * The names of the packs in a multi-pack-index, without their endings; `undefined` if it is damaged.
 *
 * Source: gitformat-pack(5), "multi-pack-index (MIDX) files": chunk `PNAM`.
 */
function packsOfMultiPackIndex(path: string): ReadonlySet<string> | undefined {
  const file = orElse(() => openSync(path, 'r'), undefined, isNotThere);
  // git has just removed it.
  return file === undefined ? new Set() : whileOpen(file, readPackNames);
}

function readPackNames(file: number): ReadonlySet<string> | undefined {
  const head = Buffer.alloc(12 + 256 * 12);
  readSync(file, head, 0, head.length, 0);
  for (let at = 12; at + 24 <= head.length; at += 12) {
    if (head.toString('latin1', at, at + 4) !== 'PNAM') continue;
    const from = Number(head.readBigUInt64BE(at + 4));
    const to = Number(head.readBigUInt64BE(at + 16));
    if (from > to || to > fstatSync(file).size) return undefined;
    const names = Buffer.alloc(to - from);
    readSync(file, names, 0, names.length, from);
    const all = names.toString('latin1').split('\0');
    return new Set(all.map((name) => name.replace(/\.(?:idx|pack)$/, '')));
  }
  return new Set();
}
