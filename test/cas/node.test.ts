import * as fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { CONTENT_TYPE, META_SCHEMA } from '../../src/cas/node-hash.ts';
import { hashNode, parseNodeHash, prepareHashing } from '../../src/cas/hash.ts';
import { NotJson } from '../../src/cas/canonical.ts';
import { decodeNode, encodeNode, HashMismatch, NotCanonical } from '../../src/cas/node.ts';
import type { JsonValue } from '../../src/json.ts';

beforeAll(prepareHashing);

const type = parseNodeHash('FRBAB1BF0ZBCS');
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const textOf = (blob: Uint8Array): string => Buffer.from(blob).toString('utf8');

describe('a node', () => {
  test('is stored as readable JSON', () => {
    const node = encodeNode(type, { name: 'Alice', age: 30 });
    expect(node.hash).toBe('9W3MGR3184QYE');
    expect(textOf(node.blob)).toBe(
      '{\n  "payload": {\n    "age": 30,\n    "name": "Alice"\n  },\n  "type": "FRBAB1BF0ZBCS"\n}\n',
    );
  });

  test('comes back from its blob', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
        // fast-check's JSON values are JSON values.
        const node = encodeNode(type, value as JsonValue);
        expect(decodeNode(node.hash, node.blob)).toEqual({ type, payload: node.payload });
        expect(JSON.stringify(node.payload)).toBe(JSON.stringify(decodeNode(node.hash, node.blob).payload));
      }),
    );
  });

  test('is detached from the value it was made of', () => {
    const payload = { list: [1] };
    const node = encodeNode(type, payload);
    payload.list.push(2);
    expect(node.payload).toEqual({ list: [1] });
  });

  test('cannot hold what JSON cannot', () => {
    expect(() => encodeNode(type, 'a\ud800')).toThrow(NotJson);
  });
});

describe('a content node', () => {
  test('is stored as its text', () => {
    const node = encodeNode(CONTENT_TYPE, { text: 'Hello\n' });
    expect(textOf(node.blob)).toBe('Hello\n');
    expect(decodeNode(node.hash, node.blob)).toEqual({ type: CONTENT_TYPE, payload: { text: 'Hello\n' } });
  });

  test('with refs is stored as JSON', () => {
    const node = encodeNode(CONTENT_TYPE, { text: 'Hello', refs: ['9W3MGR3184QYE'] });
    expect(textOf(node.blob)).toContain('"refs"');
    expect(decodeNode(node.hash, node.blob).payload).toEqual({ text: 'Hello', refs: ['9W3MGR3184QYE'] });
  });

  test('keeps a byte order mark, line ends and text that looks like JSON', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('\ufeffa', '', '{}', '\r\n', '{"payload":1,"type":2}')),
        (text) => {
          const node = encodeNode(CONTENT_TYPE, { text });
          expect(decodeNode(node.hash, node.blob).payload).toEqual({ text });
        },
      ),
    );
  });

  test('whose text is the JSON of a node is told from that node by the hash', () => {
    const inner = encodeNode(type, { name: 'Alice' });
    const outer = encodeNode(CONTENT_TYPE, { text: textOf(inner.blob) });
    expect(outer.blob).toEqual(inner.blob);
    expect(decodeNode(inner.hash, inner.blob).type).toBe(type);
    expect(decodeNode(outer.hash, inner.blob).type).toBe(CONTENT_TYPE);
  });

  test('stored as JSON although it is text alone is refused', () => {
    const hash = hashNode(CONTENT_TYPE, { text: 'a' });
    const blob = bytes(`{\n  "payload": {\n    "text": "a"\n  },\n  "type": "${CONTENT_TYPE}"\n}\n`);
    expect(() => decodeNode(hash, blob)).toThrow(NotCanonical);
  });
});

describe('a blob is refused', () => {
  const node = (): ReturnType<typeof encodeNode> => encodeNode(type, { a: 1, b: [2] });

  test.each<[string, (text: string) => string]>([
    ['other spacing', (text) => text.replace('\n  ', '\n ')],
    ['no final newline', (text) => text.trimEnd()],
    [
      'another order of keys',
      (text) => JSON.stringify({ type: JSON.parse(text).type, payload: JSON.parse(text).payload }),
    ],
    ['a key twice', (text) => text.replace('"a": 1', '"a": 3,\n    "a": 1')],
    ['a number in other words', (text) => text.replace('"a": 1', '"a": 1.0')],
    ['an escape that is not needed', (text) => text.replace('"a"', '"\\u0061"')],
  ])('that is the same node with %s', (_, change) => {
    const { hash, blob } = node();
    const changed = change(textOf(blob));
    expect(changed).not.toBe(textOf(blob));
    expect(() => decodeNode(hash, bytes(changed))).toThrow(NotCanonical);
  });

  test.each<[string, (text: string) => string]>([
    ['another value', (text) => text.replace('1', '3')],
    ['another member', (text) => text.replace('"type"', '"extra": 1,\n  "type"')],
    ['another type', (text) => text.replace(type, '7VQ43ZSJTEWA7')],
    ['nothing', () => ''],
    ['no JSON', () => '{'],
    ['nesting without end', () => '{"payload":' + '['.repeat(100_000)],
  ])('that holds %s', (_, change) => {
    const { hash, blob } = node();
    expect(() => decodeNode(hash, bytes(change(textOf(blob))))).toThrow(HashMismatch);
  });

  test('that is not UTF-8', () => {
    expect(() => decodeNode(node().hash, Uint8Array.of(0xff))).toThrow(HashMismatch);
  });
});

test('a schema has the meta-schema in front of it when it is hashed', () => {
  const schema = encodeNode(META_SCHEMA, { type: 'string' });
  expect(decodeNode(schema.hash, schema.blob)).toEqual({ type: META_SCHEMA, payload: { type: 'string' } });
});
