import { randomBytes } from 'node:crypto';
import { expect, test, vi } from 'vitest';
import { base32, hashBits, hashNode, prepareHashing, type NodeHash } from '../../../src/cas/hash.ts';
import { parseObjectId, type ObjectId } from '../../../src/git/format/object-id.ts';
import { builtIn } from '../../../src/schema/built-in.ts';
import { OidTable } from '../../../src/verify/chain/oid-table.ts';

await prepareHashing();
const hashOf = (number: number): NodeHash => hashNode(builtIn.content, { text: String(number) });

test.each([
  ['sha1', 20],
  ['sha256', 32],
] as const)('a table of %s gives back what was put in last, and nothing else', (format, bytes) => {
  const table = new OidTable(format);
  const expected = new Map<NodeHash, ObjectId>();
  for (let number = 0; number < 5_000; number++) {
    const hash = hashOf(number % 4_000);
    const oid = parseObjectId(randomBytes(bytes).toString('hex'));
    table.set(hash, oid);
    expected.set(hash, oid);
  }
  for (const [hash, oid] of expected) expect(table.get(hash)).toBe(oid);
  for (let number = 4_000; number < 5_000; number++) expect(table.get(hashOf(number))).toBeUndefined();
});

test('hashes that differ in their highest bits alone are found as fast as others', () => {
  const read = vi.spyOn(Buffer.prototype, 'readBigUInt64BE');
  const compared = (hashes: readonly NodeHash[]): number => {
    read.mockClear();
    const table = new OidTable('sha1');
    for (const hash of hashes) table.set(hash, parseObjectId('1'.repeat(40)));
    return read.mock.calls.length;
  };
  try {
    const usual = Array.from({ length: 2_000 }, (_, number) => hashOf(number));
    const chosen = usual.map((hash) => base32(BigInt.asUintN(64, hashBits(hash) << 44n)));
    expect(compared(chosen)).toBeLessThan(10 * compared(usual));
  } finally {
    read.mockRestore();
  }
});
