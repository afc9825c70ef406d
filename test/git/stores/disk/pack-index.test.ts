import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { encodePackIndex } from '../../../../src/git/stores/disk/encode-pack-index.ts';
import { PackFiles } from '../../../../src/git/stores/disk/pack-files.ts';
import { PackIndex } from '../../../../src/git/stores/disk/pack-index.ts';
import { parseObjectId } from '../../../../src/git/format/object-id.ts';
import type { ObjectId } from '../../../../src/git/format/object-id.ts';

const folder = mkdtempSync(join(tmpdir(), 'uwf-pack-index-'));
const files = new PackFiles();
afterAll(() => {
  files.closeAll();
  rmSync(folder, { recursive: true });
});

function indexOf(ids: readonly ObjectId[]): PackIndex {
  const path = join(folder, `pack-${createHash('sha1').update(ids.join()).digest('hex')}.idx`);
  const entries = ids.map((id, at) => ({ id, offset: 12 + at, crc32: 0 }));
  writeFileSync(path, encodePackIndex({ entries, checksum: Buffer.alloc(20) }));
  return new PackIndex(path, files);
}

const hashed = (text: string): string => createHash('sha1').update(text).digest('hex');
const idsBy = (count: number, make: (at: number) => string): ObjectId[] =>
  Array.from({ length: count }, (_, at) => parseObjectId(make(at)));

describe('the index of a pack', () => {
  test.each([
    ['spread as hashes are', (at: number) => hashed(`there ${at}`), (at: number) => hashed(`not there ${at}`)],
    [
      // As no hashes are, but somebody might have them so.
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
    const there = idsBy(40_000, makeThere);
    const index = indexOf(there);
    expect(there.map((id) => index.find(id))).toEqual(there.map((_id, at) => 12 + at));
    expect(idsBy(2000, makeOther).filter((id) => index.find(id) !== undefined)).toEqual([]);
  });
});
