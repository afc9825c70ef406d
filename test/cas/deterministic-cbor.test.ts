import { decode, encode, rfc8949EncodeOptions } from 'cborg';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { deterministicCbor } from '../../src/cas/hash.ts';
import type { JsonValue } from '../../src/json.ts';

/** What another implementation of RFC 8949 §4.2.1 writes. */
function oracle(value: JsonValue): string {
  return Buffer.from(encode(value, rfc8949EncodeOptions)).toString('hex');
}

function written(value: JsonValue): string {
  return Buffer.from(deterministicCbor(value)).toString('hex');
}

/** Numbers at which the shortest form changes, and their neighbours. */
const hardNumber = fc.oneof(
  fc.tuple(fc.integer({ min: -30, max: 70 }), fc.integer({ min: -3, max: 3 })).map(([power, off]) => 2 ** power + off),
  fc
    .tuple(fc.integer({ min: -2048, max: 2048 }), fc.integer({ min: -26, max: 16 }))
    .map(([n, power]) => n * 2 ** power),
  fc.float({ noNaN: true, noDefaultInfinity: true }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(
    0,
    -0,
    23,
    24,
    255,
    256,
    65535,
    65536,
    2 ** 32 - 1,
    2 ** 32,
    2 ** 53 - 1,
    2 ** 53,
    -(2 ** 53),
    65504,
    65520,
  ),
);

const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.string({ minLength: 20, maxLength: 300 }),
  fc.constantFrom('\uffff', '\u{10000}', 'a'.repeat(23), 'a'.repeat(24), 'é'.repeat(12), 'é'.repeat(128), '__proto__'),
);

const { value: any } = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom<JsonValue>(null, true, false),
    hardNumber,
    text,
    fc.array(tie('value')),
    fc
      .uniqueArray(fc.tuple(text, tie('value')), { selector: ([key]) => key })
      // Parsed, so that `__proto__` is a key as any other.
      .map(
        (entries) =>
          JSON.parse(
            `{${entries.map((entry) => entry.map((part) => JSON.stringify(part)).join(':')).join(',')}}`,
          ) as JsonValue,
      ),
  ),
}));

describe('deterministic CBOR', () => {
  test('is byte for byte what another implementation writes', () => {
    fc.assert(
      fc.property(any, (value) => {
        expect(written(value)).toBe(oracle(value));
      }),
      { numRuns: 500 },
    );
  });

  test('has every number in its shortest form', () => {
    fc.assert(
      fc.property(hardNumber, (number) => {
        expect(written(number)).toBe(oracle(number));
        expect(decode(deterministicCbor(number))).toBe(number === 0 ? 0 : number);
      }),
      { numRuns: 2000 },
    );
  });

  test('is handed out: what is written next does not change it', () => {
    const first = deterministicCbor('first');
    deterministicCbor('other');
    expect(decode(first)).toBe('first');
  });

  test('is right for a list of many short texts', () => {
    const texts = Array.from({ length: 2000 }, (_, at) => 'x'.repeat(at % 25));
    expect(written(texts)).toBe(oracle(texts));
  });

  test('is right for a text of many megabytes, and after it', () => {
    const long = 'ä'.repeat(2_000_000);
    expect(decode(deterministicCbor([long, 1]))).toEqual([long, 1]);
    expect(written('short')).toBe(oracle('short'));
  });
});
