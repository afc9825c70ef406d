import { canonicalJson } from '../../cas/canonical.ts';
import { isNodeHash } from '../../cas/node-hash.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../json.ts';
import { succeeds } from '../../or-else.ts';
import { DIALECT } from '../built-in/schema-parts.ts';

/** A keyword: the form that its own value has in a plain schema, and what it asks of a value. */
type Keyword = {
  isPlain: (argument: JsonValue, depth: number) => boolean;
  accepts: (argument: JsonValue, value: JsonValue, schema: JsonObject) => boolean;
};

/** The longest plain schema, in characters. A shorter one is never too large to be compiled, and never has too many parts. */
const MAX_LENGTH = 24_576;
const MAX_DEPTH = 16;

const extension: Keyword = { isPlain: () => true, accepts: () => true };
const annotation: Keyword = { isPlain: (argument) => typeof argument === 'string', accepts: () => true };

/** Implements these keywords as the draft, and ajv in `compileSchema`, do. Source: JSON Schema 2020-12, validation §6. */
const keywords: ReadonlyMap<string, Keyword> = new Map(
  Object.entries<Keyword>({
    $schema: { isPlain: (argument) => argument === DIALECT, accepts: () => true },
    title: annotation,
    description: annotation,
    cas_type: {
      isPlain: (argument) => listOf(argument).every((type) => typeof type === 'string'),
      accepts: () => true,
    },
    default: { isPlain: isScalar, accepts: () => true },
    type: {
      isPlain: (argument) => listOf(argument).length > 0 && areUnique(argument, (one) => types.has(one)),
      accepts: (argument, value) => listOf(argument).some((type) => types.get(type)?.(value) === true),
    },
    const: { isPlain: isScalar, accepts: (argument, value) => value === argument },
    enum: {
      isPlain: (argument) => isFilledList(argument) && areUnique(argument, isScalar),
      accepts: (argument, value) => listOf(argument).includes(value),
    },
    format: {
      isPlain: (argument) => argument === 'cas_ref',
      accepts: (_argument, value) => typeof value !== 'string' || isNodeHash(value),
    },
    pattern: {
      isPlain: (argument) => typeof argument === 'string' && isLinear(argument),
      accepts: (argument, value) =>
        typeof argument !== 'string' || typeof value !== 'string' || new RegExp(argument, 'u').test(value),
    },
    minLength: bound(lengthOf, (length, least) => length >= least),
    maxLength: bound(lengthOf, (length, most) => length <= most),
    minItems: bound(countItems, (count, least) => count >= least),
    maxItems: bound(countItems, (count, most) => count <= most),
    minProperties: bound(countMembers, (count, least) => count >= least),
    minimum: limit((value, least) => value >= least),
    maximum: limit((value, most) => value <= most),
    exclusiveMinimum: limit((value, below) => value > below),
    uniqueItems: {
      isPlain: (argument) => typeof argument === 'boolean',
      accepts: (argument, value) =>
        argument === false ||
        !Array.isArray(value) ||
        new Set(value.map((item) => canonicalJson(item))).size === value.length,
    },
    required: {
      isPlain: (argument) => Array.isArray(argument) && areUnique(argument, (name) => typeof name === 'string'),
      accepts: (argument, value) =>
        !isJsonObject(value) ||
        listOf(argument).every((name) => typeof name === 'string' && Object.hasOwn(value, name)),
    },
    properties: {
      isPlain: (argument, depth) =>
        isJsonObject(argument) &&
        Object.entries(argument).every(([name, part]) => name !== '__proto__' && isPlain(part, depth)),
      accepts: (argument, value) =>
        !isJsonObject(value) ||
        !isJsonObject(argument) ||
        Object.keys(argument).every((name) => {
          const member = Object.hasOwn(value, name) ? value[name] : undefined;
          return member === undefined || accepts(argument[name] ?? true, member);
        }),
    },
    additionalProperties: {
      isPlain,
      accepts: (argument, value, { properties }) =>
        !isJsonObject(value) ||
        Object.keys(value).every(
          (name) =>
            (isJsonObject(properties) && Object.hasOwn(properties, name)) || accepts(argument, value[name] ?? null),
        ),
    },
    propertyNames: {
      isPlain,
      accepts: (argument, value) => !isJsonObject(value) || Object.keys(value).every((name) => accepts(argument, name)),
    },
    items: {
      isPlain,
      accepts: (argument, value) => !Array.isArray(value) || value.every((item) => accepts(argument, item)),
    },
    anyOf: {
      isPlain: arePlain,
      accepts: (argument, value) => listOf(argument).some((part) => accepts(part, value)),
    },
    oneOf: {
      isPlain: arePlain,
      accepts: (argument, value) => listOf(argument).filter((part) => accepts(part, value)).length === 1,
    },
  }),
);

/** Characters and classes of them, each repeated a fixed number of times but for at most one. */
const sequence = String.raw`(?:ATOM(?:\{\d{1,3}\})?)*(?:ATOM(?:[+*?]|\{\d{1,3},\d{1,3}\}))?(?:ATOM(?:\{\d{1,3}\})?)*`;
/** A pattern of such sequences, for whole texts: the time that it takes grows no faster than the text. */
const linearPattern = new RegExp(
  String.raw`^\^(?:${sequence}|\((?:\?:)?${sequence}(?:\|${sequence})*\))\$$`.replaceAll(
    'ATOM',
    String.raw`(?:\w|\[[\w.-]+\])`,
  ),
);
const MAX_PATTERN = 100;

function isLinear(pattern: string): boolean {
  return pattern.length <= MAX_PATTERN && linearPattern.test(pattern) && succeeds(() => new RegExp(pattern, 'u'));
}

/** Tests whether a value has a type of JSON Schema, by the name of the type. */
export const types: ReadonlyMap<JsonValue, (value: JsonValue) => boolean> = new Map<
  JsonValue,
  (value: JsonValue) => boolean
>([
  ['null', (value) => value === null],
  ['boolean', (value) => typeof value === 'boolean'],
  ['integer', (value) => Number.isInteger(value)],
  ['number', (value) => Number.isFinite(value)],
  ['string', (value) => typeof value === 'string'],
  ['array', (value) => Array.isArray(value)],
  ['object', isJsonObject],
]);

const known = new WeakMap<object, boolean>();

/**
 * Tells whether a schema consists of the keywords that uwf's own schemas and most roles need, and is valid. If this is false, the schema may be
 * valid too: `compileSchema` decides.
 *
 * Loading ajv and compiling a schema takes as long as half of Node's own start.
 */
export function isPlainSchema(schema: JsonValue): schema is JsonObject {
  if (!isJsonObject(schema)) return false;
  const answer = known.get(schema) ?? (canonicalJson(schema).length <= MAX_LENGTH && isPlain(schema, 0));
  known.set(schema, answer);
  return answer;
}

/** Tells whether a value satisfies a plain schema. If this is false, the value may be valid too: ajv decides, and says why not. */
export function isSurelyValid(schema: JsonValue, value: JsonValue): boolean {
  return isPlainSchema(schema) && accepts(schema, value);
}

/** Names that begin with `x-` are those of annotations. */
function keywordOf(name: string): Keyword | undefined {
  return keywords.get(name) ?? (name.startsWith('x-') ? extension : undefined);
}

function isPlain(schema: JsonValue, depth: number): boolean {
  if (typeof schema === 'boolean') return true;
  if (!isJsonObject(schema) || depth >= MAX_DEPTH) return false;
  return Object.entries(schema).every(([name, argument]) => keywordOf(name)?.isPlain(argument, depth + 1) === true);
}

/** Tells whether a value satisfies a schema that is known to be plain. */
export function accepts(schema: JsonValue, value: JsonValue): boolean {
  if (!isJsonObject(schema)) return schema === true;
  // A loop is faster than `every`, and verification calls this for each node.
  for (const name of Object.keys(schema)) {
    if (keywordOf(name)?.accepts(schema[name] ?? null, value, schema) !== true) return false;
  }
  return true;
}

/** A keyword that compares a size with a whole number; values that have no such size satisfy it. */
function bound(
  sizeOf: (value: JsonValue) => number | undefined,
  holds: (size: number, bound: number) => boolean,
): Keyword {
  return {
    isPlain: (argument) => Number.isSafeInteger(argument) && Number(argument) >= 0,
    accepts: (argument, value) => {
      const size = sizeOf(value);
      return size === undefined || holds(size, Number(argument));
    },
  };
}

/** A keyword that compares a number with another one. */
function limit(holds: (value: number, limit: number) => boolean): Keyword {
  return {
    isPlain: (argument) => typeof argument === 'number',
    accepts: (argument, value) => typeof value !== 'number' || holds(value, Number(argument)),
  };
}

function lengthOf(value: JsonValue): number | undefined {
  return typeof value === 'string' ? [...value].length : undefined;
}

function countItems(value: JsonValue): number | undefined {
  return Array.isArray(value) ? value.length : undefined;
}

function countMembers(value: JsonValue): number | undefined {
  return isJsonObject(value) ? Object.keys(value).length : undefined;
}

function arePlain(argument: JsonValue, depth: number): boolean {
  return isFilledList(argument) && argument.every((part) => isPlain(part, depth));
}

function isScalar(value: JsonValue): boolean {
  return typeof value !== 'object' || value === null;
}

function isFilledList(value: JsonValue): value is JsonValue[] {
  return Array.isArray(value) && value.length > 0;
}

function areUnique(argument: JsonValue, isRight: (item: JsonValue) => boolean): boolean {
  const list = listOf(argument);
  return new Set(list).size === list.length && list.every(isRight);
}

function listOf(argument: JsonValue): JsonValue[] {
  return Array.isArray(argument) ? argument : [argument];
}
