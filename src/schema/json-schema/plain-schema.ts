import { canonicalJson } from '../../cas/canonical.ts';
import { isNodeHash } from '../../cas/node-hash.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../json.ts';

/** A keyword: the form that its own value has in a plain schema, and what it asks of a value. */
type Keyword = {
  isPlain: (argument: JsonValue, depth: number) => boolean;
  accepts: (argument: JsonValue, value: JsonValue, schema: JsonObject) => boolean;
};

/** Characters of a plain schema: it is never too large, and has never too many parts, to be compiled. */
const MAX_LENGTH = 4096;
const MAX_DEPTH = 16;

const annotation: Keyword = { isPlain: (argument) => typeof argument === 'string', accepts: () => true };

/** What the draft says of these keywords, and ajv as `compileSchema` sets it up. Source: JSON Schema 2020-12, validation §6. */
const keywords: ReadonlyMap<string, Keyword> = new Map(
  Object.entries<Keyword>({
    title: annotation,
    description: annotation,
    cas_type: annotation,
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
    minLength: bound((value) => (typeof value === 'string' ? [...value].length : Infinity)),
    minItems: bound((value) => (Array.isArray(value) ? value.length : Infinity)),
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
        Object.entries(argument ?? {}).every(([name, part]) => {
          const member = Object.hasOwn(value, name) ? value[name] : undefined;
          return member === undefined || accepts(part, member);
        }),
    },
    additionalProperties: {
      isPlain,
      accepts: (argument, value, { properties = {} }) =>
        !isJsonObject(value) ||
        Object.entries(value).every(
          ([name, member]) => Object.hasOwn(Object(properties), name) || accepts(argument, member),
        ),
    },
    items: {
      isPlain,
      accepts: (argument, value) => !Array.isArray(value) || value.every((item) => accepts(argument, item)),
    },
    oneOf: {
      isPlain: (argument, depth) => isFilledList(argument) && argument.every((part) => isPlain(part, depth)),
      accepts: (argument, value) => listOf(argument).filter((part) => accepts(part, value)).length === 1,
    },
  }),
);

/** Tells of a value whether it has a type of JSON Schema, by the type's name. */
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
 * Tells whether a schema consists of the few keywords that most roles need, and is valid. If this is false, the schema may be
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

function isPlain(schema: JsonValue, depth: number): boolean {
  if (typeof schema === 'boolean') return true;
  if (!isJsonObject(schema) || depth >= MAX_DEPTH) return false;
  return Object.entries(schema).every(([name, argument]) => keywords.get(name)?.isPlain(argument, depth + 1) === true);
}

function accepts(schema: JsonValue, value: JsonValue): boolean {
  if (!isJsonObject(schema)) return schema === true;
  return Object.entries(schema).every(
    ([name, argument]) => keywords.get(name)?.accepts(argument, value, schema) === true,
  );
}

/** A keyword that sets the least that something of a value can be. */
function bound(sizeOf: (value: JsonValue) => number): Keyword {
  return {
    isPlain: (argument) => Number.isSafeInteger(argument) && Number(argument) >= 0,
    accepts: (argument, value) => sizeOf(value) >= Number(argument),
  };
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
