import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { base32, hashBits, hashHalves, hashNode, prepareHashing, type NodeHash } from '../../../src/cas/hash.ts';
import { parseObjectId, type ObjectId } from '../../../src/git/format/object-id.ts';
import { builtIn } from '../../../src/schema/built-in.ts';
import { firstSlotOf, OidTable } from '../../../src/verify/chain/oid-table.ts';

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

test.each<[string, (bits: bigint) => bigint]>([
  ['anywhere', (bits) => bits],
  ['in their highest bits alone', (bits) => bits << 44n],
  ['in their lowest bits alone', (bits) => bits & 0xf_ffffn],
  ['in the highest bits of both halves alone', (bits) => (bits << 54n) | (((bits >> 10n) & 0x3ffn) << 20n)],
])('hashes that differ %s are searched from many slots', (_, choose) => {
  const chosen = Array.from({ length: 2_000 }, (__, number) =>
    base32(BigInt.asUintN(64, choose(hashBits(hashOf(number))))),
  );
  const distinct = new Set(chosen).size;
  const firsts = new Set(chosen.map((hash) => firstSlotOf(hashHalves(hash), 4_096)));
  expect(firsts.size).toBeGreaterThan(distinct / 20);
});
