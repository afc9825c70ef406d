import * as fc from 'fast-check';
import { ulid } from 'ulid';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import vectors from '../../fixtures/golden/hash-vectors.json' with { type: 'json' };
import {
  base32,
  deterministicCbor,
  digest,
  hashNode,
  InvalidNodeHash,
  isNodeHash,
  parseNodeHash,
  prepareHashing,
} from '../../src/cas/hash.ts';
import { META_SCHEMA } from '../../src/cas/node-hash.ts';
import type { JsonValue } from '../../src/json.ts';
import { builtInSchema } from '../../src/schema/built-in.ts';

beforeAll(prepareHashing);

const hashOf = (payload: JsonValue): string => hashNode('FRBAB1BF0ZBCS', payload);

describe('the published vectors', () => {
  test.each(vectors.digest)('XXH64 of "$input" is $base32', ({ input, xxh64, base32: text }) => {
    const bits = digest(new TextEncoder().encode(input));
    expect(bits).toBe(BigInt(`0x${xxh64}`));
    expect(base32(bits)).toBe(text);
  });

  test.each(vectors.cbor)('CBOR $hex', ({ value, hex }) => {
    // The rows of the file are JSON; TypeScript sees their union with absent keys.
    expect(Buffer.from(deterministicCbor(value as JsonValue)).toString('hex')).toBe(hex);
  });

  test.each(vectors.node)('node $hash', ({ type, payload, hash }) => {
    // As above.
    expect(hashNode(type, payload as JsonValue)).toBe(hash);
  });

  test.each(vectors.ulid)('ULID $ulid', ({ timestampMs, ulid: expected }) => {
    expect(ulid(timestampMs, () => 0)).toBe(expected);
  });
});

describe('the form of a hash', () => {
  test.each([
    '',
    'eyhpv6x8xhtcs',
    'GYHPV6X8XHTCS',
    'EYHPV6X8XHTC',
    'EYHPV6X8XHTCSS',
    'EYHPV6X8XHTCI',
    'EYHPV6X8XHTC\n',
  ])('%j is none', (text) => {
    expect(isNodeHash(text)).toBe(false);
    expect(() => parseNodeHash(text)).toThrow(InvalidNodeHash);
  });

  test('every number of 64 bits has one, and they sort as the numbers do', () => {
    const bits = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
    fc.assert(
      fc.property(bits, bits, (a, b) => {
        expect(isNodeHash(base32(a))).toBe(true);
        expect(base32(a) < base32(b)).toBe(a < b);
        expect(base32(a) === base32(b)).toBe(a === b);
      }),
    );
  });
});

describe('hashing', () => {
  test('does not see the order of keys', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (object) => {
        const entries = Object.entries(object);
        // fast-check's JSON values are JSON values.
        const [forward, backward] = [entries, entries.toReversed()].map(
          (list) => Object.fromEntries(list) as JsonValue,
        );
        expect(hashOf(forward as JsonValue)).toBe(hashOf(backward as JsonValue));
      }),
    );
  });

  test('takes negative zero for zero', () => {
    expect(hashOf({ a: -0 })).toBe(hashOf({ a: 0 }));
  });

  test('sees the type', () => {
    expect(hashNode('FRBAB1BF0ZBCS', null)).not.toBe(hashNode('7VQ43ZSJTEWA7', null));
  });

  test('leaves the type out for the meta-schema alone, which is its own type', () => {
    const metaSchema = builtInSchema('meta-schema');
    expect(hashNode(META_SCHEMA, metaSchema)).toBe(META_SCHEMA);
    expect(hashNode('FRBAB1BF0ZBCS', metaSchema)).not.toBe(META_SCHEMA);
    const schema = { type: 'string' };
    const prefixed = Buffer.concat([Buffer.from(META_SCHEMA), deterministicCbor(schema)]);
    expect(hashNode(META_SCHEMA, schema)).toBe(base32(digest(prefixed)));
  });

  test('before the hash function was loaded is a bug of the caller', async () => {
    vi.resetModules();
    const fresh = await import('../../src/cas/hash.ts');
    expect(() => fresh.digest(new Uint8Array())).toThrow('prepareHashing() has to be awaited');
    await fresh.prepareHashing();
    expect(fresh.digest(new Uint8Array())).toBe(digest(new Uint8Array()));
  });

  test.each(['__proto__', 'constructor', 'toString', 'length', '10'])('sees the key %s', (key) => {
    const value: JsonValue = JSON.parse(`{"${key}": 1}`);
    expect(hashOf(value)).not.toBe(hashOf({}));
    expect(hashOf(value)).not.toBe(hashOf(JSON.parse(`{"${key}": 2}`)));
  });
});
