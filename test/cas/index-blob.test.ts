import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { base32 } from '../../src/cas/hash.ts';
import { formatIndex, type IndexEntry, InvalidIndex, parseIndex } from '../../src/cas/commit-nodes.ts';
import { parseObjectId } from '../../src/git/format/object-id.ts';

const a = '0000000000001';
const b = '0000000000002';
const oid = 'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391';

const entry: fc.Arbitrary<IndexEntry> = fc.record({
  hash: fc.bigInt({ min: 0n, max: 9n }).map(base32),
  oid: fc
    .uint8Array({ minLength: 20, maxLength: 20 })
    .map((bytes) => parseObjectId(Buffer.from(bytes).toString('hex'))),
  path: fc.string({ minLength: 1, unit: 'grapheme' }).filter((path) => !path.includes('\n')),
});

describe('an index', () => {
  test('comes back from its text, in order', () => {
    fc.assert(
      fc.property(fc.uniqueArray(entry, { selector: ({ path }) => path }), (entries) => {
        const read = parseIndex(formatIndex(entries));
        expect(read).toHaveLength(entries.length);
        expect(read).toEqual(expect.arrayContaining(entries));
        expect(formatIndex(read)).toBe(formatIndex(entries.toReversed()));
      }),
    );
  });

  test('is sorted by hash, then by the bytes of the path', () => {
    const paths = ['\u{1f600}', '\uff5e', 'b c', 'Z'];
    // A surrogate pair sorts before U+FF5E by its code units, and after it by its bytes.
    const entries = paths.map((path) => ({ hash: base32(1n), oid: parseObjectId(oid), path }));
    expect(formatIndex(entries)).toBe(
      ['Z', 'b c', '\uff5e', '\u{1f600}'].map((path) => `${a} ${oid} ${path}\n`).join(''),
    );
  });

  test.each<[what: string, text: string, line: number, reason: string]>([
    ['a last line that is cut off', `${a} ${oid} x`, 0, 'its last line is cut off'],
    ['lines out of order', `${b} ${oid} x\n${a} ${oid} y\n`, 2, 'out of order'],
    ['paths out of order', `${a} ${oid} y\n${a} ${oid} x\n`, 2, 'out of order'],
    ['a line twice', `${a} ${oid} x\n${a} ${oid} x\n`, 2, 'out of order'],
    ['a path twice', `${a} ${oid} x\n${b} ${oid} x\n`, 2, "'x' is listed twice"],
    ['no path', `${a} ${oid} \n`, 1, 'it names no path'],
    ['no hash', `x ${oid} y\n`, 1, 'it does not start with a node hash'],
    ['a hash in lower case', `${a.replace('1', 'a')} ${oid} y\n`, 1, 'it does not start with a node hash'],
    ['no object id', `${a} ${oid.slice(1)} yy\n`, 1, 'its second word is not an object id'],
    ['a second word that does not end', `${a} ${oid}x\n`, 1, 'its second word is not an object id'],
    ['a tab for a space', `${a}\t${oid} y\n`, 1, 'it does not start with a node hash'],
    ['an empty line', `\n${a} ${oid} y\n`, 1, 'it does not start with a node hash'],
  ])('with %s is refused', (_, text, line, reason) => {
    expect(() => parseIndex(text)).toThrow(InvalidIndex);
    expect(() => parseIndex(text)).toThrow(expect.objectContaining({ line, reason }));
  });

  test.each(['', 'a\nb'])('cannot list the path %j', (path) => {
    expect(() => formatIndex([{ hash: base32(1n), oid: parseObjectId(oid), path }])).toThrow(InvalidIndex);
  });
});
