import { describe, expect, test } from 'vitest';
import type { JsonObject, JsonValue } from '../../src/json.ts';
import {
  applicators,
  atPointer,
  keywordsOfForm,
  resolveLocalRef,
  schemaWords,
  subschemas,
} from '../../src/schema/typed-schema.ts';

const pathsIn = (schema: JsonValue): string[] => [...subschemas(schema)].map(({ path }) => path.join('/'));

describe('the schemas in a schema', () => {
  test.each<[string, JsonValue, string[]]>([
    ...['items', 'contains', 'additionalProperties', 'unevaluatedItems', 'unevaluatedProperties'].map(single),
    ...['propertyNames', 'contentSchema', 'if', 'then', 'else', 'not'].map(single),
    ...['allOf', 'anyOf', 'oneOf', 'prefixItems'].map((keyword): [string, JsonValue, string[]] => [
      keyword,
      { [keyword]: [{}, true, {}] },
      ['', `${keyword}/0`, `${keyword}/2`],
    ]),
    ...['properties', 'patternProperties', 'dependentSchemas', 'dependencies', '$defs', 'definitions'].map(
      (keyword): [string, JsonValue, string[]] => [keyword, { [keyword]: { a: {}, b: ['c'] } }, ['', `${keyword}/a`]],
    ),
    ['data', { const: {}, enum: [{}], default: {}, examples: [{}], required: ['a'] }, ['']],
    ['a list where a map stands', { properties: [{}] }, ['']],
    ['a map where a list stands', { allOf: { a: {} } }, ['']],
    ['nothing where a list or a map stands', { allOf: null, $defs: null, properties: 'x' }, ['']],
    ['a boolean', true, []],
    [
      'parts of parts, the outermost first',
      { items: { not: {} }, properties: { a: {} } },
      ['', 'items', 'items/not', 'properties/a'],
    ],
  ])('are under %s', (_, schema, paths) => {
    expect(pathsIn(schema)).toEqual(paths);
  });

  function single(keyword: string): [string, JsonValue, string[]] {
    return [keyword, { [keyword]: {} }, ['', keyword]];
  }

  test('stand under keywords of three forms', () => {
    expect(keywordsOfForm('list')).toEqual(['allOf', 'oneOf', 'anyOf', 'prefixItems']);
    expect(keywordsOfForm('map')).toEqual([
      'dependentSchemas',
      'dependencies',
      'properties',
      'patternProperties',
      '$defs',
      'definitions',
    ]);
    expect(keywordsOfForm('schema')).toHaveLength(11);
  });
});

describe('the schemas that apply to the same value', () => {
  const partsOf = (schema: JsonObject): [string, string[]][] =>
    [...applicators(schema, schema, ['at'])].map(({ keyword, parts }) => [
      keyword,
      parts.map(({ path }) => path.join('/')),
    ]);

  test('are those of references, then those of other keywords, with their paths', () => {
    expect(
      partsOf({
        $defs: { a: {} },
        properties: { x: {} },
        items: {},
        not: {},
        // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
        then: {},
        allOf: [{}, {}],
        dependentSchemas: { d: {} },
        $ref: '#/$defs/a',
        $dynamicRef: '#none',
        $recursiveRef: '#',
      }),
    ).toEqual([
      ['$ref', ['$defs/a']],
      ['$dynamicRef', []],
      ['$recursiveRef', ['']],
      ['allOf', ['at/allOf/0', 'at/allOf/1']],
      ['then', ['at/then']],
      ['not', ['at/not']],
      ['dependentSchemas', ['at/dependentSchemas/d']],
    ]);
  });

  test('are none of a schema of properties', () => {
    expect(partsOf({ properties: { a: {} } })).toEqual([]);
    expect(partsOf({ properties: { a: {} }, $ref: 1 })).toEqual([]);
  });

  test('have paths from the schema itself where none is given', () => {
    expect(applicators({}, { not: {} })).toEqual([{ keyword: 'not', parts: [{ schema: {}, path: ['not'] }] }]);
  });

  test('are none under keywords that hold something else', () => {
    expect(partsOf({ $ref: 1, allOf: {}, anyOf: 'x', dependentSchemas: 'x', dependencies: [{}] })).toEqual([]);
  });
});

describe('a reference', () => {
  const root: JsonValue = {
    $defs: {
      'a/b~c': { title: 'escaped' },
      list: [{ title: 'item' }],
      long: Array.from({ length: 11 }, () => ({})),
      map: { 0: {} },
      anchor: { $anchor: 'x' },
      dynamic: { $dynamicAnchor: 'y' },
    },
  };

  test.each<[string, (string | number)[] | undefined]>([
    ['#', []],
    ['#/$defs/a~1b~0c', ['$defs', 'a/b~c']],
    ['#/%24defs/list/0', ['$defs', 'list', 0]],
    ['#/$defs/long/10', ['$defs', 'long', 10]],
    ['#/$defs/map/0', ['$defs', 'map', '0']],
    ['#x', ['$defs', 'anchor']],
    ['#y', ['$defs', 'dynamic']],
    ['#z', undefined],
    ['#/$defs/none', undefined],
    ['#/$defs/list/1', undefined],
    ['#/$defs/list/-', undefined],
    ['#/$defs/list/', undefined],
    ['#/$defs/list/00', undefined],
    ['#/$defs/list/length', undefined],
    ['#/$defs/constructor', undefined],
    ['#/$defs/anchor/$anchor/0', undefined],
    ['#/%', undefined],
    ['other', undefined],
    ['ax', undefined],
    ['a/$defs/list', undefined],
    ['other#/$defs/list', undefined],
  ])('%s leads to %j', (reference, path) => {
    const found = resolveLocalRef(root, reference);
    expect(found?.path).toEqual(path);
    if (path !== undefined)
      expect(found?.schema).toBe(path.reduce<unknown>((value, key) => Reflect.get(Object(value), key), root));
  });

  test('a pointer leads into any value', () => {
    expect(atPointer([['a']], '/0/0')).toEqual({ schema: 'a', path: [0, 0] });
    expect(atPointer('a', '')).toEqual({ schema: 'a', path: [] });
    expect(atPointer({ '': 1 }, '/')).toEqual({ schema: 1, path: [''] });
    expect(atPointer([1], '/00x')).toBeUndefined();
  });
});

describe('the words of a schema', () => {
  test('are its properties and the texts of its constants', () => {
    const schema = {
      properties: { status: { enum: ['done', 1, ['deep']] }, other: { const: { key: 'value' } } },
      required: ['status', 'more'],
      title: 'not this',
      pattern: 'nor this',
    };
    expect([...schemaWords(schema)].toSorted()).toEqual(['deep', 'done', 'key', 'more', 'other', 'status', 'value']);
    expect(schemaWords(schema)).toBe(schemaWords(schema));
  });

  test('are none of a schema that is no object', () => {
    expect([...schemaWords(true), ...schemaWords(['a'])]).toEqual([]);
  });
});
