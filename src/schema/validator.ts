import type { Ajv2020, ValidateFunction } from 'ajv/dist/2020.js';
import { canonicalJson, MAX_SCHEMA_BYTES } from '../cas/canonical.ts';
import { META_SCHEMA } from '../cas/node-hash.ts';
import { isShortOfFiles } from '../git/format/errors.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../json.ts';
import { DIALECT } from './built-in/schema-parts.ts';
import { createAjv } from './create-ajv.ts';
import { isSurelyOfDraft } from './generated-checks.ts';
import { faultOfDraft, InvalidSchema, readableErrors, type SchemaError } from './schema-error.ts';
import { runInTimeBox, ValidationTimeout } from './time-box.ts';
import { applicators, references, subschemas } from './typed-schema.ts';

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

/**
 * Checks that a schema compiles. A short one with simple keywords only always does if it is a schema of the draft, which generated code
 * tells: it is compiled when there is a value to check, because loading ajv takes longer than most commands.
 */
export async function assertCompiles(schema: JsonValue): Promise<void> {
  const isSimple = isJsonObject(schema) && !mayTakeLong(schema) && canonicalJson(schema).length < LARGE;
  if (!isSimple || faultOfDraft(schema) !== undefined || !isSurelyOfDraft(schema)) {
    await compileSchema(schema);
    return;
  }
  const fault = findSchemaFault(schema);
  if (fault !== undefined) throw new InvalidSchema([fault]);
}

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
      if (error instanceof RangeError)
        return [{ path: '', message: 'is nested too deep to be checked against its schema' }];
      // Ajv compares objects by their `valueOf` and `toString`. A value that has members of these names has no such methods.
      if (!(error instanceof TypeError)) throw error;
      const message = "cannot be compared with what its schema allows: it has a property 'valueOf' or 'toString'";
      return [{ path: '', message }];
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
  const ajv = createAjv({}, isBare);
  loading.set(isBare, ajv);
  return ajv;
}

/** More parts than any schema has that a person wrote; compiling so many takes seconds. */
const MAX_PARTS = 2_000;
/** How many parts of a schema may be applied to one value by references alone: each takes a call of a function. */
const MAX_APPLIED = 10_000;
const MAX_CHAIN = 100;

/**
 * Says why uwf cannot work with a schema although it may be a JSON Schema: it refers to something outside itself, it applies
 * itself to the same value too often, or it is too large. `undefined` if nothing is wrong.
 */
export function findSchemaFault(schema: JsonValue): SchemaError | undefined {
  const bytes = Buffer.byteLength(canonicalJson({ payload: schema, type: META_SCHEMA }));
  if (bytes > MAX_SCHEMA_BYTES)
    return { path: '', message: `takes ${bytes} bytes, and ${MAX_SCHEMA_BYTES} is the most` };
  let count = 0;
  for (const { schema: part } of subschemas(schema)) {
    count += 1;
    if (count > MAX_PARTS) return { path: '', message: `has more than ${MAX_PARTS} schemas in it` };
    for (const keyword of references) {
      const reference = part[keyword];
      if (typeof reference === 'string' && !reference.startsWith('#') && reference !== DIALECT) {
        return { path: '', message: `${keyword} '${reference}' leads out of the schema` };
      }
    }
    // References are resolved from the root alone; a part with an address of its own would shift their base.
    if (count > 1 && part['$id'] !== undefined) {
      return { path: '', message: "only the schema as a whole can have an '$id'" };
    }
    const message = faultOfPattern(part);
    if (message !== undefined) return { path: '', message };
  }
  const message = faultOfApplication(schema);
  return message === undefined ? undefined : { path: '', message };
}

/** V8 compiles an expression when it is first used, and may find only then that it is too large. */
function faultOfPattern({ pattern, patternProperties }: JsonObject): string | undefined {
  for (const source of [pattern, ...Object.keys(patternProperties ?? {})]) {
    if (typeof source !== 'string') continue;
    try {
      new RegExp(source, 'u').exec('');
    } catch (error) {
      // V8 puts the expression in front of the reason.
      return `the pattern '${source.slice(0, 40)}' cannot be used: ${String(error).replace(/.*: /s, '')}`;
    }
  }
  return undefined;
}

/** The cost of applying a schema to one value: how many schemas are applied, and how deep they are nested. */
type Extent = { applied: number; chain: number };

/** Finds subschemas that apply others to the same value endlessly or too often, by reference or a keyword such as `allOf`. */
function faultOfApplication(root: JsonValue): string | undefined {
  const extents = new Map<JsonObject, Extent>();
  const open = new Set<JsonObject>();
  const measure = (schema: JsonObject): Extent => {
    const known = extents.get(schema);
    if (known) return known;
    if (open.has(schema)) throw new Endless('refers to itself without going into the value, which never ends');
    open.add(schema);
    if (open.size > MAX_CHAIN) throw new Endless(`applies more than ${MAX_CHAIN} schemas inside one another`);
    const extent: Extent = { applied: 1, chain: 1 };
    for (const { schema: part } of applicators(root, schema).flatMap(({ parts }) => parts)) {
      if (!isJsonObject(part)) continue;
      const inner = measure(part);
      extent.applied += inner.applied;
      extent.chain = Math.max(extent.chain, inner.chain + 1);
      if (extent.applied > MAX_APPLIED) throw new Endless(`applies more than ${MAX_APPLIED} schemas to one value`);
      if (extent.chain > MAX_CHAIN) throw new Endless(`applies more than ${MAX_CHAIN} schemas inside one another`);
    }
    open.delete(schema);
    extents.set(schema, extent);
    return extent;
  };
  try {
    for (const { schema } of subschemas(root)) measure(schema);
    return undefined;
  } catch (error) {
    if (error instanceof Endless) return error.message;
    throw error;
  }
}

/** Ends a walk over schemas that is endless or takes too long. */
class Endless extends Error {}
