import { randomBytes } from 'node:crypto';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { beforeEach, describe, expect, test } from 'vitest';
import { CorruptObject, ObjectTooLarge } from '../../../../src/git/format/errors.ts';
import { hashObject, parseObjectId } from '../../../../src/git/format/object-id.ts';
import type { GitObject, ObjectId } from '../../../../src/git/format/object-id.ts';
import { encodePackIndex } from '../../../../src/git/stores/disk/pack-writer.ts';
import { Pack, PackFiles } from '../../../../src/git/stores/disk/pack.ts';
import { createTemporaryFolder } from '../../../helpers/temporary-repository.ts';

const id = parseObjectId('07'.repeat(20));
const head = Buffer.from('PACK\0\0\0\x02\0\0\0\x01', 'latin1');
const trailer = Buffer.alloc(20);
let dir: string;
let files: PackFiles;

beforeEach(() => {
  dir = createTemporaryFolder();
  files = new PackFiles();
  return () => files.closeAll();
});

/** A whole object of fewer than 16 bytes. */
const blob = (text: string): Buffer => Buffer.concat([Buffer.of(0x30 | text.length), deflateSync(text)]);

/** A delta that appends a text to its base, which lies some bytes before, or which is named. */
function delta(base: number | ObjectId, baseSize: number, text: string): Buffer {
  const bytes = Buffer.from([baseSize, baseSize + text.length, 0x90, baseSize, text.length, ...Buffer.from(text)]);
  const [type, where] = typeof base === 'number' ? [0x60, Buffer.of(base)] : [0x70, Buffer.from(base, 'hex')];
  return Buffer.concat([Buffer.of(type | bytes.length), where, deflateSync(bytes)]);
}

/** Writes a pack of these entries, and returns it with their offsets. */
function write(entries: readonly Buffer[], ids: readonly ObjectId[] = []): { pack: Pack; at: number[] } {
  const at: number[] = [];
  let end = head.length;
  for (const entry of entries) {
    at.push(end);
    end += entry.length;
  }
  writeFileSync(join(dir, 'pack-a.pack'), Buffer.concat([head, ...entries, trailer]));
  const indexed = ids.map((name, number) => ({ id: name, offset: at[number] ?? 0, crc32: 0 }));
  writeFileSync(join(dir, 'pack-a.idx'), encodePackIndex({ entries: indexed, checksum: trailer }));
  return { pack: new Pack(join(dir, 'pack-a'), files), at };
}

const read = (pack: Pack, offset: number, maxBytes = Infinity): string =>
  Buffer.from(pack.read(offset, id, maxBytes).data).toString();

function expectDamaged(act: () => unknown, reason: string): void {
  expect(act).toThrow(CorruptObject);
  expect(act).toThrow(`the pack ${join(dir, 'pack-a.pack')} cannot be read: ${reason}`);
}

describe('an entry', () => {
  test('is an object, or a delta of one before it or of one that is named', () => {
    const [first, base] = [blob('one'), hashObject({ type: 'blob', data: Buffer.from('one') })];
    const second = delta(first.length, 3, ' two');
    const { pack, at } = write([first, second, delta(base, 3, ' three')], [base]);
    expect(at.map((offset) => read(pack, offset))).toEqual(['one', 'one two', 'one three']);
  });

  test('lies between the head of the pack and its checksum', () => {
    const entry = blob('one');
    const { pack } = write([entry]);
    for (const offset of [0, 11, 12 + entry.length, 1000]) {
      expectDamaged(() => read(pack, offset), 'an offset leads outside of it');
    }
    expect(read(pack, 12)).toBe('one');
  });

  test.each([
    ['of no type', Buffer.of(0x00), 'an entry has the type 0'],
    ['of the type that git reserves', Buffer.of(0x50), 'an entry has the type 5'],
    ['that is its own base', Buffer.of(0x60, 0x00), 'the base of a delta lies outside of it'],
    ['whose base does not end', Buffer.of(0x60, ...Buffer.alloc(60, 0x80)), 'the base of a delta lies outside of it'],
    ['whose size does not end', Buffer.of(0xb0, ...Buffer.alloc(60, 0xff)), 'a size cannot be'],
    ['whose base lies before the first', delta(1, 3, 'x'), 'the base of a delta lies outside of it'],
    ['whose base is in another pack', delta(id, 3, 'x'), `the base ${id} of a delta is not in it`],
    ['whose data is cut off', blob('one').subarray(0, -6), 'the data of an entry is truncated'],
    ['whose data is none', Buffer.concat([Buffer.of(0x33), Buffer.alloc(20)]), 'the data of an entry is damaged'],
    ['whose data is longer', Buffer.concat([Buffer.of(0x32), deflateSync('one')]), 'the data of an entry is too-long'],
    [
      'whose data is shorter',
      Buffer.concat([Buffer.of(0x34), deflateSync('one')]),
      'the data of an entry is too-short',
    ],
    [
      'that claims more than its bytes can hold',
      Buffer.concat([Buffer.of(0xbf, 0xff, 0xff, 0x7f), deflateSync('one')]),
      'a size cannot be',
    ],
  ])('%s is damage', (_, entry, reason) => {
    const { pack } = write([entry]);
    expectDamaged(() => read(pack, 12), reason);
  });

  test('whose data is longer than compressors make it is read all the same', () => {
    // Empty blocks before the data, as git never writes them.
    const stored = (text: string, isLast: boolean): Buffer =>
      Buffer.concat([Buffer.of(isLast ? 1 : 0, text.length, 0, ~text.length & 0xff, 0xff), Buffer.from(text)]);
    const [start, checksum] = [deflateSync('one').subarray(0, 2), deflateSync('one').subarray(-4)];
    const blocks = Array.from({ length: 100 }, () => stored('', false));
    const { pack } = write([Buffer.concat([Buffer.of(0x33), start, ...blocks, stored('one', true), checksum])]);
    expect(read(pack, 12)).toBe('one');
  });
});

describe('a file', () => {
  test.each([
    ['is shorter than a head', head.subarray(0, 11), 'it is no pack'],
    ['begins with something else', Buffer.from('pack\0\0\0\x02\0\0\0\x01 and more', 'latin1'), 'it is no pack'],
    [
      'has a version that is not known',
      Buffer.from('PACK\0\0\0\x04\0\0\0\x01 and more', 'latin1'),
      'its version 4 is not known',
    ],
  ])('that %s is no pack', (_, bytes, reason) => {
    const { pack } = write([]);
    writeFileSync(`${pack.path}.pack`, bytes);
    expectDamaged(() => read(pack, 12), reason);
  });

  test('of version 3 is a pack too', () => {
    const { pack } = write([blob('one')]);
    const bytes = Buffer.concat([head, blob('one'), trailer]);
    bytes.writeUInt32BE(3, 4);
    writeFileSync(`${pack.path}.pack`, bytes);
    expect(read(pack, 12)).toBe('one');
  });
});

describe('a chain of deltas', () => {
  test('is read from its base on, and neighbours need only what is new', () => {
    const first = blob('one');
    const second = delta(first.length, 3, ' two');
    const { pack, at } = write([first, second, delta(second.length, 7, ' six')]);
    const [base = 0, middle = 0, last = 0] = at;
    expect(read(pack, base)).toBe('one');
    expect(read(pack, last)).toBe('one two six');
    expect([base, middle, last].map((offset) => files.base(`${pack.path}:${offset}`) !== undefined)).toEqual([
      true,
      true,
      false,
    ]);
    // What is handed out is not what is kept.
    pack.read(middle, id, Infinity).data.fill(0);
    expect(read(pack, last)).toBe('one two six');
    expect(() => pack.read(middle, id, 6)).toThrow(ObjectTooLarge);
  });

  test('whose delta is for another base is damage', () => {
    const first = blob('one');
    const { pack, at } = write([first, delta(first.length, 4, 'x')]);
    expectDamaged(() => read(pack, at[1] ?? 0), 'a delta does not fit its base');
  });

  test('that does not end is damage', () => {
    const other = parseObjectId('08'.repeat(20));
    const { pack } = write([delta(other, 3, 'x'), delta(id, 3, 'x')], [id, other]);
    expectDamaged(() => read(pack, 12), 'a chain of deltas does not end');
    expectDamaged(() => read(pack, 12, 3), 'a chain of deltas does not end');
  });
});

describe('what is kept', () => {
  test('of bases is bounded, the oldest goes first, and a large one is not kept', () => {
    const base = (megabytes: number): GitObject => ({ type: 'blob', data: Buffer.alloc(megabytes * 1024 * 1024) });
    for (let at = 0; at < 6; at += 1) files.keepBase(`${at}`, base(4));
    files.keepBase('large', base(5));
    expect(['0', '1', '2', '3', '4', '5', 'large'].filter((key) => files.base(key) !== undefined)).toEqual([
      '2',
      '3',
      '4',
      '5',
    ]);
  });

  test('of files is bounded: 64 are open, and of more each is opened again', () => {
    const paths = Array.from({ length: 70 }, (_, at) => join(dir, `${at}`));
    for (const path of paths) writeFileSync(path, path);
    const open = (): number => readdirSync('/proc/self/fd').length;
    const before = open();
    for (const path of [...paths, ...paths]) expect(files.reader(path)(0, 1000).toString()).toBe(path);
    expect(open() - before).toBeLessThanOrEqual(64);
    files.closeAll();
    expect(open()).toBe(before);
  });

  test('of a file is read by the page, across pages, past them and at the end', () => {
    const bytes = randomBytes(200_000);
    writeFileSync(join(dir, 'file'), bytes);
    const reader = files.reader(join(dir, 'file'));
    for (const [position, length] of [
      [0, 1],
      [16_000, 1000],
      [16_384, 16_384],
      [1000, 100_000],
      [199_990, 100],
      [300_000, 10],
    ] as const) {
      expect(reader(position, length).equals(bytes.subarray(position, position + length))).toBe(true);
    }
  });
});

describe('a limit', () => {
  test('is for the object, and is checked before it is made', () => {
    const first = blob('one');
    const { pack, at } = write([first, delta(first.length, 3, ' two')]);
    const [base = 0, made = 0] = at;
    expect([read(pack, base, 3), read(pack, made, 7)]).toEqual(['one', 'one two']);
    files.closeAll();
    for (const [offset, bytes] of [
      [base, 3],
      [made, 7],
    ] as const) {
      const attempt = (): string => read(pack, offset, bytes - 1);
      expect(attempt).toThrow(ObjectTooLarge);
      expect(attempt).toThrow(expect.objectContaining({ id, bytes, maxBytes: bytes - 1, type: 'blob' }));
    }
  });

  test('is not for the base, which can be far larger, up to 64 MiB', () => {
    const first = blob('a long base');
    const short = Buffer.from([11, 3, 0x91, 2, 3]);
    const { pack, at } = write([first, Buffer.concat([Buffer.of(0x65, first.length), deflateSync(short)])]);
    expect(read(pack, at[1] ?? 0, 3)).toBe('lon');
    files.closeAll();
    expect(() => read(pack, at[1] ?? 0, 2)).toThrow(expect.objectContaining({ bytes: 3, maxBytes: 2 }));
    // 64 MiB and one byte, of which there are only a few.
    const large = Buffer.concat([Buffer.of(0xb1, 0x80, 0x80, 0x80, 0x02), deflateSync('a long base')]);
    const other = write([large, Buffer.concat([Buffer.of(0x65, large.length), deflateSync(short)])]);
    const attempt = (maxBytes: number): string => read(other.pack, other.at[1] ?? 0, maxBytes);
    expect(() => attempt(3)).toThrow(expect.objectContaining({ bytes: 64 * 1024 ** 2 + 1, maxBytes: 64 * 1024 ** 2 }));
    expectDamaged(() => attempt(Infinity), 'a size cannot be');
  });

  test('needs the sizes at the start of a delta', () => {
    const first = blob('one');
    const cut = Buffer.concat([Buffer.of(0x61, first.length), deflateSync(Buffer.of(0x80))]);
    const { pack, at } = write([first, cut]);
    expectDamaged(() => read(pack, at[1] ?? 0, 100), 'a delta is cut off');
  });
});
