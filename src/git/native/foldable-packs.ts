import { openSync, readFileSync, readSync, closeSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isOwnPack } from '../disk/pack-name.ts';
import { namesIn } from '../names-in.ts';
import { errnoOf } from '../object-errors.ts';
import { objectIdFromBytes, type ObjectId } from '../object-id.ts';
import type { RepositoryLocation } from '../repository.ts';

/** A pack by its name and how large it is. */
type PackName = {
  /** `pack-<hash>`, without an ending. */
  name: string;
  bytes: number;
};

/** A pack that may be folded. */
export type FoldablePack = PackName & {
  /** What its objects are called, in order. */
  ids: readonly ObjectId[];
};

/** Where the packs of a repository's own object folder lie. */
export function packFolderOf({ commonDir }: RepositoryLocation): string {
  return join(commonDir, 'objects', 'pack');
}

/** Counts the packs of a repository's own object folder. */
export function countPacks(location: RepositoryLocation): number {
  return namesIn(packFolderOf(location)).filter((name) => /^pack-.*\.idx$/.test(name)).length;
}

/**
 * Lists the packs that uwf made, that are no larger than this and that nothing holds: none that has a keep, whose objects
 * a remote promises or git expires, and none that a multi-pack-index names. All other packs are the user's.
 *
 * @returns their names, without an ending, and how large they are
 */
export function listSmallPacks(folder: string, mostBytes: number): PackName[] {
  const names = new Set(namesIn(folder));
  // Of a chain of such indexes, each would have to be asked.
  if (names.has('multi-pack-index.d')) return [];
  const indexed = names.has('multi-pack-index') ? packsOfMultiPackIndex(join(folder, 'multi-pack-index')) : new Set();
  return [...names].flatMap((file) => {
    const name = /^(pack-.+)\.idx$/.exec(file)?.[1];
    if (name === undefined || !isOwnPack(name) || indexed.has(name)) return [];
    if (['keep', 'promisor', 'mtimes'].some((end) => names.has(`${name}.${end}`))) return [];
    const bytes = statSync(join(folder, `${name}.pack`), { throwIfNoEntry: false })?.size;
    return bytes === undefined || bytes > mostBytes ? [] : [{ name, bytes }];
  });
}

/** The smallest of several packs, as many as have so many bytes together. */
export function smallestPacks(packs: readonly PackName[], mostBytesTogether: number): PackName[] {
  let together = 0;
  return packs.toSorted((a, b) => a.bytes - b.bytes).filter(({ bytes }) => (together += bytes) <= mostBytesTogether);
}

/** Reads what is in small packs; one that was folded by somebody else meanwhile is left out. */
export function readSmallPacks(folder: string, packs: readonly PackName[]): FoldablePack[] {
  return packs.flatMap((pack) => {
    try {
      const ids = idsOf(readFileSync(join(folder, `${pack.name}.idx`)));
      return ids === undefined ? [] : [{ ...pack, ids }];
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return [];
      throw error;
    }
  });
}

/**
 * The ids that the index of a pack of less than 2 GiB names; `undefined` for another one, and for version 1.
 *
 * How long ids are tells the length of the file.
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
 * The packs that a multi-pack-index names, without their endings.
 *
 * Source: gitformat-pack(5), "multi-pack-index (MIDX) files": chunk `PNAM`.
 */
function packsOfMultiPackIndex(path: string): ReadonlySet<string> {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch (error) {
    // git has just thrown it away.
    if (errnoOf(error) === 'ENOENT') return new Set();
    throw error;
  }
  try {
    const head = Buffer.alloc(12 + 256 * 12);
    readSync(file, head, 0, head.length, 0);
    for (let at = 12; at + 24 <= head.length; at += 12) {
      if (head.toString('latin1', at, at + 4) !== 'PNAM') continue;
      const from = Number(head.readBigUInt64BE(at + 4));
      const names = Buffer.alloc(Number(head.readBigUInt64BE(at + 16)) - from);
      readSync(file, names, 0, names.length, from);
      return new Set(
        names
          .toString('latin1')
          .split('\0')
          .map((name) => name.replace(/\.(?:idx|pack)$/, '')),
      );
    }
    return new Set();
  } finally {
    closeSync(file);
  }
}
