import { canonicalJson } from '../../cas/canonical.ts';
import { isShortOfFiles } from '../../git/format/object-errors.ts';
import { isJsonObject } from '../../json.ts';
import type { JsonObject, JsonValue } from '../../json.ts';
import { compareAsJson } from './compare-as-json.ts';
import { createAjv } from './create-ajv.ts';
import { isSurelyOfDraft } from './generated-checks.ts';
import { faultOfDraft } from './earlier-drafts.ts';
import { InvalidSchema } from './invalid-schema.ts';
import { readableErrors } from './schema-error.ts';
import type { SchemaError } from './schema-error.ts';
import { findSchemaFault } from './schema-fault.ts';
import { subschemas } from './walk-schema.ts';
import { runInTimeBox, ValidationTimeout } from './time-box.ts';
import type { Ajv2020, ValidateFunction } from 'ajv/dist/2020.js';

/** Returns the errors of a value; an empty list means that it is valid. */
export type Validator = (value: JsonValue) => SchemaError[];

const timeoutMs = 2000;
// Long, because the machine may be busy. The size of a schema is limited as well.
const compileTimeoutMs = 10_000;
const MAX_CACHED = 100;
/** A shorter schema compiles in much less than the limit, so its time is not watched. */
const LARGE = 8192;
const compiled = new Map<string, Validator>();
// Found by identity first: writing a large schema as JSON, only to look it up, takes longer than most checks.
const byIdentity = new WeakMap<object, Validator>();

/**
 * Compiles a schema, once: an equal schema gives the same validator. A schema must not be changed after it was compiled.
 *
 * Keywords and formats that JSON Schema does not know say nothing; `cas_ref` is the form of a node hash. Nothing is ever
 * loaded from elsewhere. Checking stops after two seconds of processor time.
 * @throws {InvalidSchema} if it is no schema, refers to something outside itself, gives a part of it an `$id`, applies itself
 * to a value without end, or is too large
 * @throws {TooManyOpenFiles} if there is no room to watch the time it takes
 */
export async function compileSchema(schema: JsonValue): Promise<Validator> {
  const known = isJsonObject(schema) ? byIdentity.get(schema) : undefined;
  if (known !== undefined) return known;
  const key = canonicalJson(schema);
  let validator = compiled.get(key);
  if (validator === undefined) {
    validator = await compile(schema, key);
    if (compiled.size >= MAX_CACHED) compiled.clear();
    compiled.set(key, validator);
  }
  if (isJsonObject(schema)) byIdentity.set(schema, validator);
  return validator;
}

/** The names of the formats that are checked. */
export async function formatNames(): Promise<string[]> {
  return Object.keys((await loadAjv(false)).formats);
}

async function compile(schema: JsonValue, text: string): Promise<Validator> {
  if (typeof schema !== 'boolean' && !isJsonObject(schema)) {
    throw new InvalidSchema([{ path: '', message: 'must be an object, true or false' }]);
  }
  const otherDraft = faultOfDraft(schema);
  if (otherDraft !== undefined) throw new InvalidSchema([otherDraft]);
  const isOfDraft = isSurelyOfDraft(schema);
  const ajv = await loadAjv(isOfDraft && !needsMore.test(text));
  try {
    if (!isOfDraft && ajv.validateSchema(schema) !== true) throw new InvalidSchema(readableErrors(ajv.errors));
    const fault = findSchemaFault(schema);
    if (fault !== undefined) throw new InvalidSchema([fault]);
    const plain = withoutId(schema);
    const check =
      text.length < LARGE ? ajv.compile(plain) : runInTimeBox(() => ajv.compile(plain), compileTimeoutMs, false);
    // The validator is cached here; ajv's own cache would only grow.
    if (typeof plain !== 'boolean') ajv.removeSchema(plain);
    return validatorOf(check, mayTakeLong(schema));
  } catch (error) {
    if (error instanceof InvalidSchema || isShortOfFiles(error)) throw error;
    // The instance of ajv may be in any state if compiling was interrupted.
    loading.clear();
    throw new InvalidSchema([{ path: '', message: whyNotCompiled(error) }], error);
  }
}

function validatorOf(check: ValidateFunction, needsBox: boolean): Validator {
  return (value) => {
    try {
      const isValid = needsBox ? runInTimeBox(() => check(value), timeoutMs) : check(value);
      return isValid ? [] : readableErrors(check.errors);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      return [{ path: '', message: 'is nested too deep to be checked against its schema' }];
    }
  };
}

function whyNotCompiled(error: unknown): string {
  if (error instanceof ValidationTimeout) return `takes longer than ${compileTimeoutMs} ms to compile`;
  if (error instanceof RangeError) return 'is too large or nested too deep to be compiled';
  return error instanceof Error ? error.message : String(error);
}

/** Keywords whose cost is at most the size of the value times the size of the schema, and annotations. */
const bounded: ReadonlySet<string> = new Set(
  `$schema $id $comment title description default examples deprecated cas_type type const enum properties required
  additionalProperties propertyNames minProperties maxProperties items prefixItems minItems maxItems minLength maxLength
  minimum maximum exclusiveMinimum exclusiveMaximum anyOf oneOf allOf not if then else`.split(/\s+/),
);

/** Tells whether checking has to be watched. A watch takes a thread and a millisecond or two: most schemas need none. */
function mayTakeLong(schema: JsonValue): boolean {
  for (const { schema: part } of subschemas(schema)) {
    for (const [keyword, value] of Object.entries(part)) {
      // No keyword of JSON Schema begins with `x-`.
      const isBounded =
        bounded.has(keyword) || keyword.startsWith('x-') || (keyword === 'format' && value === 'cas_ref');
      if (!isBounded) return true;
    }
  }
  return false;
}

/** Removes the `$id`: ajv refuses two schemas with the same one, and nothing can refer to a schema by it. */
function withoutId(schema: boolean | JsonObject): boolean | JsonObject {
  if (typeof schema === 'boolean') return schema;
  const { $id: _, ...rest } = schema;
  return rest;
}

/** Matches schemas that a bare ajv cannot compile: they refer to the draft's own schema, or use a standard format. */
const needsMore = /"format": "(?!cas_ref")|ref": "[^#]/i;

const loading = new Map<boolean, Promise<Ajv2020>>();

function loadAjv(isBare: boolean): Promise<Ajv2020> {
  const known = loading.get(isBare);
  if (known !== undefined) return known;
  const ajv = createAjv({}, isBare).then((made) => {
    compareAsJson(made);
    return made;
  });
  loading.set(isBare, ajv);
  return ajv;
}
