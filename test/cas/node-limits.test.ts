import { describe, expect, test } from 'vitest';
import { assertNodeFits, countOf, MAX_SCHEMA_BYTES, NODE_LIMITS, whyNoJson } from '../../src/cas/canonical.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const limits = { maxDepth: 3, maxValues: 6 };

describe('a text that is not given to a parser', () => {
  test.each<[string, string | undefined]>([
    ['{"a":{"b":{}}}', undefined],
    ['{"a":{"b":[]}}', undefined],
    ['{"a":{"b":{"c":{}}}}', 'it is nested more than 3 deep'],
    ['{"a":[[[]]]}', 'it is nested more than 3 deep'],
    // What was closed does not count.
    ['{"a":{},"b":{},"c":{},"d":[]}', 'it has more than 6 values'],
    ['{"a":[{}],"b":[]}', undefined],
    ['{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6}', undefined],
    ['{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7}', 'it has more than 6 values'],
    // Nothing inside of a text counts, and an escaped quote does not end it.
    ['{"a":"{{{{[[[[,,,,,,,,"}', undefined],
    ['{"a":"\\"{{{{,,,,,,,,","b":{}}', undefined],
    ['{"a":"\\\\","b":{"c":{"d":{}}}}', 'it is nested more than 3 deep'],
    // Only what may be a node is looked at.
    ['[[[[[[[[', undefined],
    ['', undefined],
  ])('%s: %s', (text, reason) => {
    expect(whyNoJson(bytes(text), limits)).toBe(reason);
  });

  test('is looked through only where it may be too much', () => {
    expect(whyNoJson(bytes('{"a":1}'), { maxDepth: 1, maxValues: 7 })).toBeUndefined();
    expect(whyNoJson(bytes('{"a":[]'), { maxDepth: 1, maxValues: 7 })).toBe('it is nested more than 1 deep');
    expect(whyNoJson(bytes('{,'), { maxDepth: 1, maxValues: 1 })).toBe('it has more than 1 values');
    expect(whyNoJson(bytes('{,'), { maxDepth: 1, maxValues: 2 })).toBeUndefined();
  });
});

describe('a node', () => {
  test('may be as large as a fetch takes, and no larger', () => {
    const largest = new Uint8Array(NODE_LIMITS.maxBytes).fill(97);
    expect(() => assertNodeFits(largest)).not.toThrow();
    expect(() => assertNodeFits(new Uint8Array(NODE_LIMITS.maxBytes + 1))).toThrow(
      `this cannot be stored as a node: it has ${16 * 1024 * 1024 + 1} bytes, more than the ${16 * 1024 * 1024} of the largest`,
    );
  });

  test('may not be nested too deep', () => {
    const nested = (depth: number): Uint8Array => bytes(`{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`);
    expect(() => assertNodeFits(nested(500))).not.toThrow();
    expect(() => assertNodeFits(nested(501))).toThrow('it is nested more than 500 deep');
  });

  test('may not have too many values', () => {
    expect(() => assertNodeFits(bytes(`{${','.repeat(499_999)}`))).not.toThrow();
    expect(() => assertNodeFits(bytes(`{${','.repeat(500_000)}`))).toThrow('it has more than 500000 values');
  });
});

test('a schema has a limit of its own', () => {
  expect(MAX_SCHEMA_BYTES).toBe(262_144);
});

describe('counting', () => {
  test.each([
    ['', '{', 5, 0],
    ['{{{', '{', 5, 3],
    ['{{{', '{', 2, 3],
    ['{{{{{{', '{', 2, 3],
    ['a{b{', '{', 0, 1],
  ])('%j', (text, wanted, most, count) => {
    expect(countOf(bytes(text), wanted, most)).toBe(count);
  });

  test('looks at the bytes that are meant, and not at those around them', () => {
    expect(countOf(bytes('{{a{{').subarray(2, 4), '{', 9)).toBe(1);
  });
});
