import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { canonicalJson } from '../../../src/cas/canonical.ts';
import type { JsonObject, JsonValue } from '../../../src/json.ts';
import type * as ajvModule from '../../../src/schema/create-ajv.ts';
import type * as boxModule from '../../../src/schema/time-box.ts';
import type * as validatorModule from '../../../src/schema/validator.ts';

const createAjv = '../../../src/schema/create-ajv.ts';
const generatedChecks = '../../../src/schema/generated-checks.ts';
const timeBox = '../../../src/schema/time-box.ts';
const draft = 'https://json-schema.org/draft/2020-12/schema';

/** Which validators were made, by whether they are bare; how long each box may take; and whether schemas are surely schemas. */
const seen = { bare: [] as boolean[], boxes: [] as number[], isOfDraft: false };
/** What happens in place of a box's work. */
let inBox: (() => never) | undefined;

let validator: typeof validatorModule;
let box: typeof boxModule;

beforeEach(async () => {
  Object.assign(seen, { bare: [], boxes: [], isOfDraft: false });
  inBox = undefined;
  vi.resetModules();
  vi.doMock(generatedChecks, () => ({ isSurelyOfDraft: () => seen.isOfDraft }));
  vi.doMock(createAjv, async (importOriginal: <T>() => Promise<T>) => {
    const original = await importOriginal<typeof ajvModule>();
    const counted: typeof ajvModule.createAjv = (code, isBare) => {
      seen.bare.push(isBare === true);
      return original.createAjv(code, isBare);
    };
    return { createAjv: counted };
  });
  vi.doMock(timeBox, async (importOriginal: <T>() => Promise<T>) => {
    const original = await importOriginal<typeof boxModule>();
    const counted: typeof boxModule.runInTimeBox = (work, timeoutMs) => {
      seen.boxes.push(timeoutMs);
      return inBox === undefined ? work() : inBox();
    };
    return { ...original, runInTimeBox: counted };
  });
  // A validator that keeps nothing of earlier tests.
  validator = await import('../../../src/schema/validator.ts');
  box = await import('../../../src/schema/time-box.ts');
});

afterEach(() => {
  for (const mocked of [createAjv, generatedChecks, timeBox]) vi.doUnmock(mocked);
  vi.resetModules();
});

async function errorsOf(schema: JsonValue): Promise<unknown> {
  try {
    await validator.compileSchema(schema);
    return undefined;
  } catch (error) {
    expect(error).toMatchObject({ code: 'invalid-schema' });
    return Reflect.get(Object(error), 'errors');
  }
}

describe('the errors of a schema are said', () => {
  test.each<JsonValue>(['string', [], null, 1])('where it is none at all: %j', async (schema) => {
    expect(await errorsOf(schema)).toEqual([{ path: '', message: 'must be an object, true or false' }]);
    expect(seen.bare).toEqual([]);
  });

  test('by place where it is none of the draft', async () => {
    expect(await errorsOf({ minLength: -1, items: { title: 1 } })).toEqual([
      { path: '/items/title', message: 'must be a string' },
      { path: '/minLength', message: 'must be 0 or more' },
    ]);
  });

  test('where uwf cannot work with it', async () => {
    const message = 'refers to itself without going into the value, which never ends';
    expect(await errorsOf({ $ref: '#' })).toEqual([{ path: '', message }]);
    await expect(validator.compileSchema({ $ref: '#' })).rejects.toThrow(`this is not a schema: ${message}`);
    await expect(validator.compileSchema({})).resolves.toBeTypeOf('function');
  });

  test('where it does not compile', async () => {
    const message = "can't resolve reference #/$defs/none from id #";
    expect(await errorsOf({ $ref: '#/$defs/none' })).toEqual([{ path: '', message }]);
  });
});

/** A schema that is so long when it is written out. */
function ofLength(length: number): JsonObject {
  return { title: 'x'.repeat(length - canonicalJson({ title: '' }).length) };
}

describe('the time to compile is limited', () => {
  test('for a schema of 8192 characters or more', async () => {
    await validator.compileSchema(ofLength(8191));
    expect(seen.boxes).toEqual([]);
    await validator.compileSchema(ofLength(8192));
    expect(seen.boxes).toEqual([10_000]);
  });

  test.each<[string, () => unknown, string]>([
    ['it takes too long', () => new box.ValidationTimeout(1, undefined), 'takes longer than 10000 ms to compile'],
    ['the stack is too small', () => new RangeError('stack'), 'is too large or nested too deep to be compiled'],
    ['something else fails', () => new Error('odd'), 'odd'],
    ['what is thrown is no error', () => 'odd', 'odd'],
  ])('and it is refused where %s; what was cut off is not used again', async (_, makeError, message) => {
    await validator.compileSchema({});
    inBox = () => {
      throw makeError();
    };
    expect(await errorsOf(ofLength(9000))).toEqual([{ path: '', message }]);
    expect(seen.bare).toEqual([false]);
    inBox = undefined;
    expect(await errorsOf(ofLength(9000))).toBeUndefined();
    expect(seen.bare).toEqual([false, false]);
  });
});

test('a schema is not refused because files cannot be opened', async () => {
  const { TooManyOpenFiles } = await import('../../../src/git/format/errors.ts');
  inBox = () => {
    throw new TooManyOpenFiles();
  };
  await expect(validator.compileSchema(ofLength(9000))).rejects.toThrow(TooManyOpenFiles);
});

describe('the time of a check is limited', () => {
  test.each<[JsonObject, JsonValue]>([
    [{ pattern: 'a' }, 'a'],
    [{ patternProperties: { a: true } }, {}],
    [{ format: 'date' }, '2026-11-21'],
    [{ uniqueItems: true }, []],
    [{ contains: true }, [1]],
    [{ multipleOf: 2 }, 2],
    [{ $ref: '#/$defs/a', $defs: { a: true } }, 1],
    [{ properties: { a: { items: { not: { pattern: 'a' } } } } }, {}],
    [{ cas_ref: 'cas_ref' }, 1],
    [{ unknown: 1 }, 1],
    [{ maxx: 1 }, 1],
    [{ '': 1 }, 1],
  ])('for %j', async (schema, value) => {
    expect((await validator.compileSchema(schema))(value)).toEqual([]);
    expect(seen.boxes).toEqual([2000]);
  });

  test.each<[JsonValue, JsonValue]>([
    [true, 1],
    [{}, 1],
    [
      {
        $schema: draft,
        $id: 'x',
        $comment: 'x',
        title: 'x',
        description: 'x',
        default: 1,
        examples: [],
        deprecated: true,
      },
      1,
    ],
    [{ type: 'object', properties: { a: true }, required: ['a'], additionalProperties: false }, { a: 1 }],
    [{ propertyNames: { maxLength: 1 }, minProperties: 1, maxProperties: 1 }, { a: 1 }],
    [{ items: { const: 1 }, prefixItems: [{ enum: [1] }], minItems: 1, maxItems: 1 }, [1]],
    [{ minLength: 1, maxLength: 1 }, 'a'],
    [{ minimum: 1, maximum: 1, exclusiveMinimum: 0, exclusiveMaximum: 2 }, 1],
    // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
    [{ anyOf: [true], oneOf: [true], allOf: [true], not: false, if: true, then: true, else: true }, 1],
    [{ format: 'cas_ref', cas_type: 'content', 'x-record': true }, 1],
  ])('but not for %j, which takes no longer than it is large', async (schema, value) => {
    expect((await validator.compileSchema(schema))(value)).toEqual([]);
    expect(seen.boxes).toEqual([]);
  });
});

describe('a schema is compiled once', () => {
  const other = async (at: number): Promise<unknown> => validator.compileSchema({ const: at });

  test('while no more than a hundred are kept', async () => {
    const first = await validator.compileSchema({ type: 'string' });
    for (let at = 1; at < 100; at++) await other(at);
    expect(await validator.compileSchema({ type: 'string' })).toBe(first);
    // That it was found has removed none of the others.
    const last = await other(99);
    expect(await other(99)).toBe(last);
    await other(100);
    expect(await validator.compileSchema({ type: 'string' })).not.toBe(first);
  });

  test('for as long as the object lives', async () => {
    const schema = { type: 'string' };
    const first = await validator.compileSchema(schema);
    for (let at = 0; at < 101; at++) await other(at);
    expect(await validator.compileSchema(schema)).toBe(first);
  });

  test('by a validator that is made once, also after a schema that was refused', async () => {
    await validator.compileSchema({ type: 'string' });
    await validator.compileSchema({ type: 'number' });
    await errorsOf({ type: 'text' });
    await errorsOf({ $ref: 'other' });
    await validator.compileSchema({ type: 'null' });
    expect(seen.bare).toEqual([false]);
  });
});

test('an $id may be that of the draft', async () => {
  expect((await validator.compileSchema({ $id: draft, type: 'string' }))(1)).toHaveLength(1);
});

describe('what is surely a schema', () => {
  beforeEach(() => {
    seen.isOfDraft = true;
  });

  test.each<[JsonValue, JsonValue, boolean]>([
    [true, 1, true],
    [{ type: 'string' }, 1, false],
    [{ format: 'cas_ref' }, 'a', false],
    [{ $ref: '#/$defs/a', $defs: { a: { type: 'string' } } }, 1, false],
    [{ $dynamicRef: '#a', $defs: { a: { $dynamicAnchor: 'a', type: 'string' } } }, 1, false],
  ])('is compiled by a bare validator: %j', async (schema, value, isValid) => {
    expect((await validator.compileSchema(schema))(value).length === 0).toBe(isValid);
    expect(seen.bare).toEqual([true]);
  });

  test.each<[JsonValue, JsonValue]>([
    [{ format: 'date' }, 'a'],
    [{ anyOf: [{ format: 'cas_ref' }, { format: 'date' }] }, 'a'],
    [{ $ref: draft }, { type: 'text' }],
  ])('needs more where it names what a bare validator does not know: %j', async (schema, value) => {
    expect((await validator.compileSchema(schema))(value)).not.toEqual([]);
    expect(seen.bare).toEqual([false]);
  });

  test('is not checked against the draft', async () => {
    expect(await errorsOf({ title: 1 })).toBeUndefined();
    expect(await errorsOf({ $ref: '#' })).toHaveLength(1);
  });
});
