import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { CorruptObject } from '../../../../src/git/format/errors.ts';
import { encodePack, encodePackIndex } from '../../../../src/git/stores/disk/pack-writer.ts';
import { Pack, PackFiles } from '../../../../src/git/stores/disk/pack.ts';
import { hashObject, parseObjectId } from '../../../../src/git/format/object-id.ts';
import type { GitObject, ObjectId } from '../../../../src/git/format/object-id.ts';
import { createTemporaryRepository, runGit } from '../../../helpers/temporary-repository.ts';

const folder = mkdtempSync(join(tmpdir(), 'uwf-pack-index-'));
const files = new PackFiles();
afterAll(() => {
  files.closeAll();
  rmSync(folder, { recursive: true });
});

function indexOf(ids: readonly ObjectId[]): Pack {
  const path = join(folder, `pack-${createHash('sha1').update(ids.join()).digest('hex')}`);
  const entries = ids.map((id, at) => ({ id, offset: 12 + at, crc32: 0 }));
  writeFileSync(`${path}.idx`, encodePackIndex({ entries, checksum: Buffer.alloc(20) }));
  return new Pack(path, files);
}

const hashed = (text: string): string => createHash('sha1').update(text).digest('hex');
const idsBy = (count: number, make: (at: number) => string): ObjectId[] =>
  Array.from({ length: count }, (_, at) => parseObjectId(make(at)));

describe('the index of a pack', () => {
  test.each([
    ['spread as hashes are', (at: number) => hashed(`there ${at}`), (at: number) => hashed(`not there ${at}`)],
    [
      // No real ids are like these, but a forged index can have them.
      'all alike but for their ends',
      (at: number) => `07${'ab'.repeat(15)}${(at * 2 + 1).toString(16).padStart(8, '0')}`,
      (at: number) => `07${'ab'.repeat(15)}${(at * 2).toString(16).padStart(8, '0')}`,
    ],
    [
      'crowded at one end',
      (at: number) => (at * 2 + 1).toString(16).padStart(40, '0'),
      (at: number) => (at * 2).toString(16).padStart(40, '0'),
    ],
  ])('finds each of very many, and none that is not there: %s', (_, makeThere, makeOther) => {
    const there = idsBy(5_000, makeThere);
    const index = indexOf(there);
    expect(there.map((id) => index.find(id))).toEqual(there.map((_id, at) => 12 + at));
    expect(idsBy(1000, makeOther).filter((id) => index.find(id) !== undefined)).toEqual([]);
  });
});

describe('an index that git wrote', () => {
  test.each(['1', '2', '2,0x40'])('gives the places that git reads: version %s', (version) => {
    const { dir, git } = createTemporaryRepository({ bare: true });
    const texts = Array.from({ length: 300 }, (_, at): GitObject => ({
      type: 'blob',
      data: Buffer.from(hashed(`${at}`)),
    }));
    const ids = texts.map((object) => hashObject(object));
    writeFileSync(join(dir, 'a.pack'), Buffer.concat([...encodePack(texts)]));
    const path = join(dir, 'a');
    git('index-pack', `--index-version=${version}`, '-o', `${path}.idx`, join(dir, 'a.pack'));
    const places = runGit(dir, ['show-index'], readFileSync(`${path}.idx`)).split('\n');
    const byGit = new Map(places.map((line) => [line.split(' ')[1], Number(line.split(' ')[0])]));
    expect(byGit.size).toBe(300);
    const index = new Pack(path, files);
    for (const id of ids) expect(index.find(id)).toBe(byGit.get(id));
    expect(index.find(parseObjectId(git('mktree')))).toBeUndefined();
    index.close();
  });

  test('of no objects has none', () => {
    expect(indexOf([]).find(parseObjectId('0'.repeat(40)))).toBeUndefined();
  });

  test('has the first and the last id there can be', () => {
    const ends = idsBy(2, (at) => (at === 0 ? '0' : 'f').repeat(40));
    expect(ends.map((id) => indexOf(ends).find(id))).toEqual([12, 13]);
    expect(indexOf(ends.slice(1)).find(ends[0]!)).toBeUndefined();
  });
});

describe('a damaged index', () => {
  const id = parseObjectId('07'.repeat(20));
  const fanOutAt = 8;
  const idsAt = fanOutAt + 1024;
  const offsetAt = idsAt + 24;
  const largeAt = offsetAt + 4;
  /** An index of one object, at a place that takes eight bytes. */
  const sound = (): Buffer =>
    encodePackIndex({ entries: [{ id, offset: 3 * 1024 ** 3, crc32: 0 }], checksum: Buffer.alloc(20) });
  let number = 0;
  const find = (bytes: Uint8Array): number | undefined => {
    const path = join(folder, `damaged-${(number += 1)}`);
    writeFileSync(`${path}.idx`, bytes);
    return new Pack(path, files).find(id);
  };
  const changed = (change: (bytes: Buffer) => unknown): Buffer => {
    const bytes = sound();
    change(bytes);
    return bytes;
  };

  test('is none as long as it is whole', () => {
    expect(find(sound())).toBe(3 * 1024 ** 3);
  });

  test.each([
    ['is empty', Buffer.alloc(0), 'it is cut off'],
    ['ends in its first table', sound().subarray(0, idsAt - 1), 'it is cut off'],
    ['ends in its tables', sound().subarray(0, largeAt + 39), 'it is cut off'],
    [
      'of version 1 ends in its table',
      Buffer.concat([Buffer.alloc(1023), Buffer.of(1), Buffer.alloc(24 + 39)]),
      'it is cut off',
    ],
    ['has an unknown version', changed((bytes) => bytes.writeUInt32BE(3, 4)), 'its version 3 is not known'],
    [
      'counts more ids before than after',
      changed((bytes) => bytes.writeUInt32BE(2, fanOutAt + 6 * 4)),
      'its fan-out table is not in order',
    ],
    [
      'counts more ids than there are',
      changed((bytes) => bytes.writeUInt32BE(2, fanOutAt + 7 * 4)),
      'its fan-out table is not in order',
    ],
    [
      'has an offset outside of its table',
      changed((bytes) => bytes.writeUInt32BE(0x80000001, offsetAt)),
      'an offset leads outside of it',
    ],
    [
      'has an offset that no number holds',
      changed((bytes) => bytes.writeUInt32BE(0x00200000, largeAt)),
      'an offset cannot be',
    ],
  ])('that %s is an error, which names it', (_, bytes, reason) => {
    expect(() => find(bytes)).toThrow(CorruptObject);
    expect(() => find(bytes)).toThrow(`cannot be read: ${reason}`);
  });

  test('may have the largest offset that a number holds', () => {
    const largest = changed((bytes) => bytes.writeBigUInt64BE(BigInt(Number.MAX_SAFE_INTEGER), largeAt));
    expect(find(largest)).toBe(Number.MAX_SAFE_INTEGER);
  });
});
