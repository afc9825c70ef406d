import type { ErrorObject } from 'ajv';
import { UwfError } from '../errors.ts';
import { isJsonObject, type JsonValue, mapValues } from '../json.ts';
import { withArticle } from '../text/wording.ts';
import { DIALECT } from './built-in/schema-parts.ts';
import { keywordsOfForm, type SchemaPath, subschemas } from './typed-schema.ts';

/** A value is not a JSON Schema (draft 2020-12) that uwf can work with. */
export class InvalidSchema extends UwfError {
  readonly errors: readonly SchemaError[];
  constructor(errors: readonly SchemaError[], cause?: unknown) {
    const hints = errors.flatMap(({ path }) => hintForDraft(path.split('/')) ?? []);
    super(`this is not a schema: ${describeErrors(errors)}`, {
      code: 'invalid-schema',
      kind: 'data',
      hint: hints[0] ?? 'schemas are JSON Schema draft 2020-12, complete in themselves',
      cause,
    });
    this.errors = errors;
  }
}

export class SchemaViolation extends UwfError {
  /** What was checked: the name of a type, `meta` … */
  readonly subject: string;
  readonly errors: readonly SchemaError[];
  constructor(subject: string, errors: readonly SchemaError[]) {
    super(`${subject} does not match its schema: ${describeErrors(errors)}`, {
      code: 'schema-violation',
      kind: 'data',
    });
    this.subject = subject;
    this.errors = errors;
  }
}

function describeErrors(errors: readonly SchemaError[]): string {
  const lines = errors.slice(0, 5).map(({ path, message }) => (path === '' ? message : `${path} ${message}`));
  return lines.join('; ') + (errors.length > 5 ? `; and ${errors.length - 5} more` : '');
}

export type SchemaError = {
  /** Where, as a JSON pointer; empty for the value as a whole. */
  path: string;
  /** A sentence without its subject: `must be a string`. */
  message: string;
};

const MAX_ERRORS = 50;

/**
 * Writes the errors of a validator in plain words, for people and for agents that have to correct a reply.
 *
 * For a union (`oneOf`, `anyOf`) whose variants differ in a constant, only the errors of the variant that was meant are
 * returned, or, if none was, the possible constants. Returns at most 50 errors, without duplicates.
 */
export function readableErrors(found: readonly ErrorObject[] | null | undefined): SchemaError[] {
  const errors = found ?? [];
  let rest = [...errors];
  const readable: SchemaError[] = [];
  // Inner unions come before the outer ones.
  for (const union of errors.filter(isUnion)) {
    const verdict = judgeUnion(union, rest);
    rest = verdict.rest;
    readable.push(...verdict.found);
  }
  readable.push(...rest.map((error) => ({ path: error.instancePath, message: sentence(error) })));
  const unique = new Map(readable.map((error) => [`${error.path}\n${error.message}`, error]));
  return [...unique.values()].slice(0, MAX_ERRORS);
}

function isUnion(error: ErrorObject): boolean {
  return error.keyword === 'anyOf' || error.params['passingSchemas'] === null;
}

function judgeUnion(union: ErrorObject, errors: readonly ErrorObject[]): { rest: ErrorObject[]; found: SchemaError[] } {
  const prefix = `${union.schemaPath}/`;
  const isInside = (error: ErrorObject): boolean =>
    error.schemaPath.startsWith(prefix) && error.instancePath.startsWith(union.instancePath);
  const branches = new Map<string, ErrorObject[]>();
  for (const error of errors.filter(isInside)) {
    const branch = error.schemaPath.slice(prefix.length).split('/', 1).join();
    branches.set(branch, [...(branches.get(branch) ?? []), error]);
  }
  const outside = errors.filter((error) => error !== union && !isInside(error));
  const mistaken = [...branches.values()].map((branch) => branch.filter((error) => rulesOut(error, union)));
  const [meant, ...others] = [...branches.values()].filter((branch) => !branch.some((error) => rulesOut(error, union)));
  if (meant !== undefined && others.length === 0 && branches.size > 1)
    return { rest: [...outside, ...meant], found: [] };
  const choice = choiceOf(mistaken);
  return choice === undefined ? { rest: [...errors], found: [] } : { rest: outside, found: [choice] };
}

/** An error that shows that this variant was not meant: the wrong constant in a member, or the wrong type altogether. */
function rulesOut(error: ErrorObject, union: ErrorObject): boolean {
  const below = error.instancePath.slice(union.instancePath.length);
  if (error.keyword === 'type') return below === '';
  return isConstant(error) && below.split('/').length <= 2;
}

function isConstant({ keyword }: ErrorObject): boolean {
  return keyword === 'const' || keyword === 'enum';
}

function choiceOf(mistaken: readonly ErrorObject[][]): SchemaError | undefined {
  const constants = mistaken.map((branch) => branch.find(isConstant)).filter((error) => error !== undefined);
  const path = constants[0]?.instancePath;
  if (path === undefined || constants.length < mistaken.length) return undefined;
  if (constants.some((error) => error.instancePath !== path)) return undefined;
  return { path, message: `must be one of ${listValues(constants.flatMap(allowedValues))}` };
}

function allowedValues(error: ErrorObject): unknown[] {
  if (error.keyword === 'const') return [error.params['allowedValue']];
  const values: unknown = error.params['allowedValues'];
  return Array.isArray(values) ? values : [];
}

function listValues(values: readonly unknown[]): string {
  return values.map((value) => JSON.stringify(value)).join(', ');
}

type Sentence = (params: Readonly<Record<string, string>>, error: ErrorObject) => string;

const atLeast: Sentence = ({ limit }, { keyword }) => `must have at least ${countOf(keyword, limit)}`;
const atMost: Sentence = ({ limit }, { keyword }) => `must have at most ${countOf(keyword, limit)}`;

const sentences: ReadonlyMap<string, Sentence> = new Map(
  Object.entries<Sentence>({
    required: ({ missingProperty }) => `lacks the property '${missingProperty}'`,
    dependentRequired: lacksNeeded,
    dependencies: lacksNeeded,
    additionalProperties: ({ additionalProperty }) => `must not have the property '${additionalProperty}'`,
    unevaluatedProperties: ({ unevaluatedProperty }) => `must not have the property '${unevaluatedProperty}'`,
    propertyNames: ({ propertyName }) => `must not have the property '${propertyName}': its name is not allowed`,
    type: (_, { params }) => `must be ${[params['type']].flat().map(nameOfType).join(' or ')}`,
    const: (_, error) => `must be ${listValues(allowedValues(error))}`,
    enum: (_, error) => `must be one of ${listValues(allowedValues(error))}`,
    minimum: ({ limit }) => `must be ${limit} or more`,
    maximum: ({ limit }) => `must be ${limit} or less`,
    exclusiveMinimum: ({ limit }) => `must be more than ${limit}`,
    exclusiveMaximum: ({ limit }) => `must be less than ${limit}`,
    multipleOf: ({ multipleOf }) => `must be a multiple of ${multipleOf}`,
    minLength: atLeast,
    minItems: atLeast,
    minProperties: atLeast,
    maxLength: atMost,
    maxItems: atMost,
    maxProperties: atMost,
    uniqueItems: ({ i, j }) => `must not have the same item twice (items ${j} and ${i}, from 0)`,
    pattern: ({ pattern }) => `must match the pattern '${pattern}'`,
    format: ({ format }) => (format === 'cas_ref' ? 'must be a node hash' : `must have the format '${format}'`),
    anyOf: () => 'must match one of the variants in its schema',
    oneOf: () => 'must match one of the variants in its schema, and no other',
    not: () => 'must not match what its schema excludes',
    'false schema': () => 'must not be there',
  }),
);

function sentence(error: ErrorObject): string {
  const { keyword, params, message = `fails '${keyword}'` } = error;
  // The constant may be any value. Making a text of an object would call a `toString` that the object may hold.
  const isPlain = (value: unknown): value is string | number => typeof value === 'string' || typeof value === 'number';
  const texts = mapValues(params, (value: unknown) => (isPlain(value) ? String(value) : ''));
  return sentences.get(keyword)?.(texts, error) ?? message;
}

function lacksNeeded({ missingProperty, property }: Readonly<Record<string, string>>): string {
  return `lacks the property '${missingProperty}', which '${property}' needs`;
}

function nameOfType(type: unknown): string {
  return type === 'null' ? 'null' : withArticle(String(type));
}

/** `1 character`, `3 items`: what a keyword such as `minLength` counts. */
function countOf(keyword: string, limit: string | undefined): string {
  const one = keyword.endsWith('Length') ? 'character' : keyword.endsWith('Items') ? 'item' : 'property';
  const many = one === 'property' ? 'properties' : `${one}s`;
  return `${limit} ${limit === '1' ? one : many}`;
}

const lists =
  "a list of schemas, one for each of the first items, is 'prefixItems' in draft 2020-12, and 'items' is the schema of the others";

/** What to write for a keyword that earlier drafts have otherwise, or that has no meaning any more. */
const hints: ReadonlyMap<string, string> = new Map([
  [
    '$schema',
    "delete the line; draft 2020-12 has 'prefixItems' for a list under 'items', 'items' for 'additionalItems', and numbers under 'exclusiveMinimum' and 'exclusiveMaximum'; 'definitions' and 'dependencies' are as before",
  ],
  ['items', lists],
  ['additionalItems', lists],
  ['exclusiveMinimum', "write the number here, in place of 'minimum'"],
  ['exclusiveMaximum', "write the number here, in place of 'maximum'"],
  ['required', "it is a list of names beside 'properties', each once: required: [name]"],
]);

const mapsOfSchemas = keywordsOfForm('map');

/** Returns what to write for the keyword at the end of a path in a schema, if earlier drafts have it otherwise. */
export function hintForDraft(path: SchemaPath): string | undefined {
  const [around, keyword] = [path.at(-2), path.at(-1)];
  // In a map of schemas it is a name of the user's own.
  return mapsOfSchemas.includes(String(around)) ? undefined : hints.get(String(keyword));
}

/** Says which draft a schema, or one in it, names that is not 2020-12; `undefined` if none does. */
export function faultOfDraft(schema: JsonValue): SchemaError | undefined {
  if (!isJsonObject(schema)) return undefined;
  for (const { schema: part, path } of subschemas(schema)) {
    const draft = part['$schema'];
    // The form with an empty fragment names the same draft.
    if (typeof draft !== 'string' || draft.replace(/#$/, '') === DIALECT) continue;
    const pointer = [...path, '$schema'].map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`);
    return { path: pointer.join(''), message: `names the draft '${draft}', and uwf reads draft 2020-12` };
  }
  return undefined;
}
