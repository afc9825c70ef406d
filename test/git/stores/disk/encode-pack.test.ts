import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { hashObject, parseObjectId } from '../../../../src/git/format/object-id.ts';
import type { GitObject, ObjectFormat } from '../../../../src/git/format/object-id.ts';
import { type EncodedPack, encodePack, encodePackIndex } from '../../../../src/git/stores/disk/pack-writer.ts';
import { createTemporaryRepository, runGit } from '../../../helpers/temporary-repository.ts';

function encode(objects: readonly GitObject[], format?: ObjectFormat): { bytes: Buffer; pack: EncodedPack } {
  const chunks = encodePack(objects, format);
  const bytes: Uint8Array[] = [];
  for (;;) {
    const { value, done } = chunks.next();
    if (done === true) return { bytes: Buffer.concat(bytes), pack: value };
    bytes.push(value);
  }
}

/** Objects of all sizes at which the head of an entry, or zlib's buffer, changes. */
const objects: GitObject[] = [0, 1, 15, 16, 17, 255, 256, 2047, 2048, 4096, 4097, 65_536, 300_000].flatMap((size) => [
  { type: 'blob', data: Buffer.alloc(size, 'a reply') },
  { type: 'blob', data: randomBytes(size) },
]);

describe.each(['sha1', 'sha256'] as const)('a pack of %s', (format) => {
  test('is one that git reads, and its index is the one that git makes', () => {
    const { dir, git } = createTemporaryRepository({ bare: true, objectFormat: format });
    const tree: GitObject = { type: 'tree', data: Buffer.alloc(0) };
    const commit: GitObject = {
      type: 'commit',
      data: Buffer.from(`tree ${hashObject(tree, format)}\nauthor A <a> 1 +0000\ncommitter A <a> 1 +0000\n\nx\n`),
    };
    const tag: GitObject = {
      type: 'tag',
      data: Buffer.from(`object ${hashObject(commit, format)}\ntype commit\ntag v1\ntagger A <a> 1 +0000\n\nx\n`),
    };
    const all = [...objects, tree, commit, tag];
    // The second time an object is left out.
    const { bytes, pack } = encode([...all, ...all], format);
    const folder = mkdtempSync(join(dir, 'objects', 'pack', 'test-'));
    writeFileSync(join(folder, 'a.pack'), bytes);
    git('index-pack', '--strict', '-o', join(folder, 'a.idx'), join(folder, 'a.pack'));
    expect(encodePackIndex(pack, format).equals(readFileSync(join(folder, 'a.idx')))).toBe(true);
    runGit(dir, ['unpack-objects', '-q', '--strict'], bytes);
    for (const object of all.slice(-5)) {
      const id = hashObject(object, format);
      expect([git('cat-file', '-t', id), git('cat-file', '-s', id)]).toEqual([
        object.type,
        `${object.data.byteLength}`,
      ]);
    }
  });
});

test('is compressed', () => {
  const { bytes } = encode([{ type: 'blob', data: Buffer.alloc(300_000, 'a reply') }]);
  expect(bytes.byteLength).toBeLessThan(10_000);
});

test('of 2 GiB and more has offsets that git reads', () => {
  const { dir } = createTemporaryRepository({ bare: true });
  const offsets = [12, 2 ** 31 - 1, 2 ** 31, 2 ** 31 + 1, 2 ** 32, 2 ** 40 + 5];
  const ids = offsets.map((_, at) => parseObjectId(`${9 - at}`.repeat(40)));
  const entries = offsets.map((offset, at) => ({ id: ids[at]!, offset, crc32: 0x01020304 + at }));
  const index = encodePackIndex({ entries, checksum: Buffer.alloc(20, 7) });
  const lines = runGit(dir, ['show-index'], index).split('\n');
  const expected = entries.map(({ id, offset, crc32 }) => `${offset} ${id} (${crc32.toString(16).padStart(8, '0')})`);
  expect(lines).toEqual(expected.toReversed());
});
