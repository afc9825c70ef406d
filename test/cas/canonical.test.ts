import vm from 'node:vm';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { assertJsonValue, canonicalJson, MAX_DEPTH, NotJson, pointer } from '../../src/cas/canonical.ts';
import type { JsonValue } from '../../src/json.ts';

/** JSON values with hard keys: numbers in text, `__proto__`, and characters outside the basic plane. */
const json: fc.Arbitrary<JsonValue> = fc
  .jsonValue({ maxDepth: 4, stringUnit: 'binary' })
  // fast-check's type allows for more than it makes here.
  .map((value) => value as JsonValue);

function refusal(value: unknown): NotJson {
  try {
    assertJsonValue(value);
  } catch (error) {
    expect(error).toBeInstanceOf(NotJson);
    // Checked in the line before.
    return error as NotJson;
  }
  throw new Error('it was let pass');
}

describe('canonical JSON', () => {
  test('is read back as the same value', () => {
    fc.assert(
      fc.property(json, (value) => {
        assertJsonValue(value);
        // JSON.parse makes -0 of "-0" only; what is written is "0".
        expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  test('is the same for equal values, whatever the order of their keys', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.tuple(fc.string(), json), { selector: ([key]) => key }), (entries) => {
        const [a, b] = [entries, entries.toReversed()].map((list) => Object.fromEntries(list));
        expect(canonicalJson(a ?? {})).toBe(canonicalJson(b ?? {}));
      }),
    );
  });

  test('has its keys in the order of UTF-16 code units', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string({ unit: 'binary' }), { maxLength: 12 }), (keys) => {
        const object: JsonValue = Object.fromEntries(keys.map((key) => [key, 1]));
        const lines = canonicalJson(object).trimEnd().split('\n').slice(1, -1);
        const written = lines.map((line) => String(JSON.parse(line.trim().replace(/: 1,?$/, ''))));
        expect(written).toEqual([...keys].toSorted(byCodeUnits));
      }),
    );
  });

  test('is laid out for reading', () => {
    expect(canonicalJson({ b: [1, { c: null }], a: {}, '10': [], '9': true })).toBe(
      '{\n  "10": [],\n  "9": true,\n  "a": {},\n  "b": [\n    1,\n    {\n      "c": null\n    }\n  ]\n}\n',
    );
  });

  test('keeps __proto__ as data', () => {
    const value: JsonValue = JSON.parse('{"__proto__": {"a": 1}}');
    assertJsonValue(value);
    expect(canonicalJson(value)).toBe('{\n  "__proto__": {\n    "a": 1\n  }\n}\n');
  });

  // Source: RFC 8785, appendix B.
  test.each([
    [5e-324, '5e-324'],
    [-0, '0'],
    [1.7976931348623157e308, '1.7976931348623157e+308'],
    [9007199254740992, '9007199254740992'],
    [295147905179352830000, '295147905179352830000'],
    [9.999999999999997e22, '9.999999999999997e+22'],
    [1e23, '1e+23'],
    [0.000001, '0.000001'],
    [Number('333333333.33333329'), '333333333.3333333'],
  ])('writes the number %d as RFC 8785 does', (number, text) => {
    expect(canonicalJson(number)).toBe(`${text}\n`);
  });

  // Source: RFC 8785 §3.2.2.2.
  test('writes strings as RFC 8785 does', () => {
    expect(canonicalJson('\u20ac$\u000f\nA\'B"\\"/\u2028\u007f')).toBe(
      '"\u20ac$\\u000f\\nA\'B\\"\\\\\\"/\u2028\u007f"\n',
    );
  });
});

function byCodeUnits(a: string, b: string): number {
  for (let at = 0; at < Math.min(a.length, b.length); at++) {
    const difference = a.charCodeAt(at) - b.charCodeAt(at);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

describe('a value that cannot be stored', () => {
  class Point {
    readonly x = 1;
  }
  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  const listWithKey: unknown[] = Object.assign([1], { extra: 1 });

  test.each<[reason: string, value: unknown, path: string]>([
    ['undefined', { a: [undefined] }, '/a/0'],
    ['the number NaN', { a: NaN }, '/a'],
    ['the number -Infinity', [-Infinity], '/0'],
    ['a bigint', { n: 1n }, '/n'],
    ['a function', { 'a/b': () => 1 }, '/a~1b'],
    ['a symbol', Symbol('x'), ''],
    ['a string with half a surrogate pair', { s: 'a\ud800' }, '/s'],
    ['a key with half a surrogate pair', { '\udc00': 1 }, '/\udc00'],
    ['a list with holes or with keys of its own', { list: Array(1) }, '/list'],
    ['a list with holes or with keys of its own', listWithKey, ''],
    ['an object of class Date', { at: new Date(0) }, '/at'],
    ['an object of class Map', new Map(), ''],
    ['an object of class Uint8Array', { b: new Uint8Array(1) }, '/b'],
    ['an object of class Point', new Point(), ''],
    ['an object of class unknown', Object.create({ constructor: 'none' }), ''],
    ['an object with symbols for keys', { [Symbol('x')]: 1 }, ''],
    ['a cycle', cycle, '/self'],
  ])('is %s', (reason, value, path) => {
    expect(refusal(value)).toMatchObject({ reason, path });
  });

  test('is nested too deep', () => {
    const nested = (depth: number): unknown => {
      let value: unknown = 1;
      for (let level = 0; level < depth; level++) value = [value];
      return value;
    };
    expect(() => assertJsonValue(nested(MAX_DEPTH))).not.toThrow();
    expect(refusal(nested(MAX_DEPTH + 1)).reason).toContain('nesting');
    expect(refusal(nested(100_000)).reason).toContain('nesting');
  });

  test('says where it is and what it is', () => {
    expect(refusal({ a: { b: [NaN] } }).message).toBe('the value at /a/b/0 cannot be stored: the number NaN');
  });
});

describe('a value that can be stored', () => {
  test('may hold the same object twice, as long as it is no cycle', () => {
    const shared = { a: 1 };
    expect(() => assertJsonValue([shared, shared])).not.toThrow();
  });

  test('may come from another realm or have no prototype', () => {
    expect(() => assertJsonValue(vm.runInNewContext('({ a: [1] })'))).not.toThrow();
    expect(() => assertJsonValue(Object.assign(Object.create(null), { a: 1 }))).not.toThrow();
  });
});

test('a pointer escapes what RFC 6901 escapes', () => {
  expect(pointer(['a/b', '~', 0, ''])).toBe('/a~1b/~0/0/');
});
