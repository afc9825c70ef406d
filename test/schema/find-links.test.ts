import { describe, expect, test } from 'vitest';
import type { JsonValue } from '../../src/json.ts';
import { collectRefs, findCasRefs, findLinks } from '../../src/schema/find-links.ts';
import { ValidationTimeout } from '../../src/schema/time-box.ts';

const a = '000000000000A';
const b = '000000000000B';
const c = '000000000000C';
const link = { type: 'string', format: 'cas_ref' };

describe('inline pointers', () => {
  test('are found anywhere, in order of appearance, each once', () => {
    const value = { z: { $cas: b }, list: [{ deep: { $cas: a } }, { $cas: b }], text: c };
    expect(findCasRefs(value)).toEqual([b, a]);
  });

  test('may carry more than the hash', () => {
    expect(findCasRefs({ $cas: a, title: 'notes', more: { $cas: b } })).toEqual([a, b]);
  });

  test('are one link each, also where the schema says that the hash is one', () => {
    const schema = { properties: { $cas: link, x: link } };
    expect(findLinks(schema, { $cas: a, x: b })).toEqual([
      { hash: a, path: '', types: undefined },
      { hash: b, path: '/x', types: undefined },
    ]);
  });

  test('may stand in a member of that name that is none itself', () => {
    expect(findLinks({}, { $cas: { $cas: a } })).toEqual([{ hash: a, path: '/$cas', types: undefined }]);
  });

  test.each<[string, JsonValue]>([
    ['a string', a],
    ['a hash in lower case', { $cas: a.toLowerCase() }],
    ['a hash that is too long', { $cas: `${a}0` }],
    ['no string', { $cas: [a] }],
    ['null', null],
  ])('are not: %s', (_, value) => {
    expect(findCasRefs(value)).toEqual([]);
  });
});

describe('a schema leads to links through', () => {
  test.each<[string, JsonValue, JsonValue, string[]]>([
    ['the value itself', link, a, [a]],
    ['properties', { properties: { x: link } }, { x: a, y: b }, [a]],
    ['patternProperties', { patternProperties: { '^h': link } }, { h1: a, x: b, h2: c }, [a, c]],
    ['patterns of whole characters', { patternProperties: { '^.$': link } }, { '\u{1F600}': a }, [a]],
    [
      'additionalProperties',
      { properties: { no: true }, patternProperties: { '^n': {} }, additionalProperties: link },
      { no: a, n2: b, x: c },
      [c],
    ],
    ['unevaluatedProperties', { unevaluatedProperties: link }, { x: a }, [a]],
    ['dependentSchemas', { dependentSchemas: { on: { properties: { x: link } } } }, { on: 1, x: a }, [a]],
    [
      'dependentSchemas of what is absent, not',
      { dependentSchemas: { on: { properties: { x: link } } } },
      { x: a },
      [],
    ],
    [
      'dependentSchemas of a name that every object inherits, not',
      { dependentSchemas: { constructor: { properties: { x: link } } } },
      { x: a },
      [],
    ],
    ['dependentSchemas for a text, not', { dependentSchemas: { 0: link } }, a, []],
    ['items', { items: link }, [b, 'text', 1, null, a], [b, a]],
    ['prefixItems', { prefixItems: [true, link] }, [a, b, c], [b]],
    ['items after prefixItems', { prefixItems: [true], items: link }, [a, b, c], [b, c]],
    ['contains', { contains: link }, [a], [a]],
    ['unevaluatedItems', { prefixItems: [true], unevaluatedItems: link }, [a, b], [b]],
    ['allOf', { allOf: [{ properties: { x: link } }, { properties: { y: link } }] }, { y: b, x: a }, [b, a]],
    ['anyOf', { anyOf: [{ type: 'null' }, link] }, a, [a]],
    ['oneOf', { properties: { x: { oneOf: [{ type: 'number' }, link] } } }, { x: a }, [a]],
    [
      'if, then and else',
      // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
      { if: { properties: { x: link } }, then: { properties: { y: link } }, else: { properties: { z: link } } },
      { x: a, y: b, z: c },
      [a, b, c],
    ],
    ['$defs', { $defs: { l: link }, properties: { x: { $ref: '#/$defs/l' } } }, { x: a }, [a]],
    ['an escaped pointer', { $defs: { 'a/b~%': link }, $ref: '#/$defs/a~1b~0%25' }, a, [a]],
    ['an anchor', { $defs: { l: { $anchor: 'link', ...link } }, items: { $ref: '#link' } }, [a], [a]],
    ['a dynamic reference', { $defs: { l: { $dynamicAnchor: 'd', ...link } }, items: { $dynamicRef: '#d' } }, [a], [a]],
    [
      'itself',
      { properties: { next: { $ref: '#' }, hash: link } },
      { hash: a, next: { hash: b, next: { hash: c } } },
      [a, b, c],
    ],
    ['not, not', { not: link }, a, []],
    ['const, not', { properties: { x: { const: { format: 'cas_ref' } } } }, { x: a }, []],
    ['names that every object inherits', { properties: { constructor: link } }, { constructor: a }, [a]],
    ['null or a link', { type: ['string', 'null'], format: 'cas_ref' }, a, [a]],
  ])('%s', (_, schema, value, hashes) => {
    expect(collectRefs(schema, value)).toEqual(hashes);
  });

  test.each<[string, JsonValue, JsonValue]>([
    ['a string that is no hash', { anyOf: [{ type: 'string' }, link] }, 'just a text'],
    ['a number', link, 1],
    ['another format', { format: 'uri' }, a],
    ['a boolean schema', true, a],
  ])('but not to %s', (_, schema, value) => {
    expect(collectRefs(schema, value)).toEqual([]);
  });

  test('circles of references, and comes to an end', () => {
    const schema = {
      $defs: { x: { $ref: '#/$defs/y' }, y: { anyOf: [{ $ref: '#/$defs/x' }, link] } },
      $ref: '#/$defs/x',
    };
    expect(collectRefs(schema, a)).toEqual([a]);
    const ofReferences = { $defs: { x: { $ref: '#/$defs/y' }, y: { $ref: '#/$defs/x' } }, $ref: '#/$defs/x' };
    expect(collectRefs(ofReferences, a)).toEqual([]);
  });

  test('schemas that double at every level, without taking for ever', () => {
    const $defs: Record<string, JsonValue> = { d0: link };
    for (let level = 1; level <= 60; level++) {
      $defs[`d${level}`] = { allOf: [{ $ref: `#/$defs/d${level - 1}` }, { $ref: `#/$defs/d${level - 1}` }] };
    }
    expect(collectRefs({ $defs, $ref: '#/$defs/d60' }, a)).toEqual([a]);
  });

  test('patterns that are none, which match nothing', () => {
    expect(collectRefs({ patternProperties: { '(': link } }, { '(': a })).toEqual([]);
  });

  test('a pattern that never ends, which is stopped', () => {
    const schema = { patternProperties: { '^(a+)+$': link } };
    expect(() => collectRefs(schema, { [`${'a'.repeat(50)}!`]: a })).toThrow(ValidationTimeout);
  });

  test('no pattern for a member that cannot be a link or hold one', () => {
    const schema = { patternProperties: { '^(a+)+$': link }, properties: { x: link } };
    const key = `${'a'.repeat(50)}!`;
    for (const member of ['text', 1, true, null]) expect(collectRefs(schema, { [key]: member, x: a })).toEqual([a]);
  });

  test('no pattern where nothing in the value is a hash', () => {
    const schema = { patternProperties: { '^(a+)+$': link } };
    expect(collectRefs(schema, { [`${'a'.repeat(50)}!`]: {}, text: 'x', none: null, number: 1 })).toEqual([]);
  });
});

describe('a link', () => {
  test('says where it stands and what it may lead to', () => {
    const schema = {
      properties: {
        'a/b': { ...link, cas_type: 'content' },
        any: link,
        two: {
          anyOf: [
            { ...link, cas_type: 'role' },
            { ...link, cas_type: ['agent', 'content'] },
          ],
        },
        open: { anyOf: [{ ...link, cas_type: 'role' }, link] },
        opened: { anyOf: [link, { ...link, cas_type: 'role' }] },
        same: {
          allOf: [
            { ...link, cas_type: 'role' },
            { ...link, cas_type: ['role', 1] },
          ],
        },
        odd: { ...link, cas_type: { name: 'role' } },
      },
    };
    const value = { 'a/b': a, any: a, two: b, open: b, opened: b, same: b, odd: b, inline: { $cas: c } };
    expect(findLinks(schema, value)).toEqual([
      { hash: a, path: '/a~1b', types: ['content'] },
      { hash: a, path: '/any', types: undefined },
      { hash: b, path: '/two', types: ['role', 'agent', 'content'] },
      { hash: b, path: '/open', types: undefined },
      { hash: b, path: '/opened', types: undefined },
      { hash: b, path: '/same', types: ['role'] },
      { hash: b, path: '/odd', types: undefined },
      { hash: c, path: '/inline', types: undefined },
    ]);
  });

  test('is found at each place of a hash, also where a reference leads to its schema', () => {
    const $defs = { link, holder: { properties: { x: { $ref: '#/$defs/link' } } } };
    const holder = { x: a };
    // One object at two places, as an alias in YAML gives it.
    const value = { list: [a, a], one: holder, two: holder };
    const ref = { $ref: '#/$defs/holder' };
    const schema = { $defs, properties: { list: { items: { $ref: '#/$defs/link' } }, one: ref, two: ref } };
    expect(findLinks(schema, value).map(({ path }) => path)).toEqual(['/list/0', '/list/1', '/one/x', '/two/x']);
  });

  test('is found in the meta under a schema of its own, in which references are resolved', () => {
    const metaSchema = { $defs: { l: link }, properties: { y: { $ref: '#/$defs/l' }, z: { $ref: '#/$defs/none' } } };
    const payload = { x: a, y: c, z: c, meta: { y: b, z: c } };
    const links = findLinks({ properties: { x: link } }, payload, metaSchema);
    expect(links.map(({ hash, path }) => [hash, path])).toEqual([
      [a, '/x'],
      [b, '/meta/y'],
    ]);
    expect(findLinks(link, a, link)).toHaveLength(1);
    expect(findLinks({}, { x: a, meta: 1 }, link)).toEqual([]);
  });
});
