import { isJsonObject, type JsonObject, type JsonValue } from '../../json.ts';
import { applicators, resolveLocalRef } from '../../schema/typed-schema.ts';
import { checkValue, extractReply } from './extract-reply.ts';

/** More shapes than an instruction can usefully show; the rest is left out of it, never out of the validation. */
const MAX_VARIANTS = 16;
const MAX_DEPTH = 16;

/**
 * Lists the shapes that a schema of a reply allows, each as one flat object schema.
 *
 * `oneOf` and `anyOf` give a variant for each branch, a `$status` with several values one for each value; `allOf` and
 * local `$ref`s are merged in. A variant is for showing and for wording messages: it may allow more than the schema
 * (conditions are left out), so what has to hold is validated against the schema itself.
 */
export function schemaVariants(
  schema: JsonObject,
  root: JsonObject = schema,
  most: number = MAX_VARIANTS,
): JsonObject[] {
  return expand(schema, root, 0).flatMap(splitStatus).slice(0, most);
}

/** The properties of an object schema that are schemas themselves, in order. */
export function propertiesOf(schema: JsonObject): [name: string, schema: JsonObject][] {
  const properties = schema['properties'];
  if (!isJsonObject(properties)) return [];
  return Object.entries(properties).map(([name, property]) => [name, isJsonObject(property) ? property : {}]);
}

export function requiredOf(schema: JsonObject): string[] {
  const required = schema['required'];
  return Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [];
}

/** The object schema that a local `$ref` names; anything else is `undefined`. */
export function resolveReference(root: JsonObject, reference: string): JsonObject | undefined {
  const schema = resolveLocalRef(root, reference)?.schema;
  return isJsonObject(schema) ? schema : undefined;
}

function expand(schema: JsonObject, root: JsonObject, depth: number): JsonObject[] {
  if (depth > MAX_DEPTH) return [];
  const { $ref: _reference, allOf: _all, oneOf: _one, anyOf: _any, ...base } = schema;
  let variants: JsonObject[] = [base];
  const product = (shapes: readonly JsonObject[]): void => {
    variants = variants.flatMap((variant) => shapes.map((shape) => merge(variant, shape))).slice(0, MAX_VARIANTS);
  };
  for (const { keyword, parts } of applicators(root, schema)) {
    const shapes = (): JsonObject[][] =>
      parts.map((part) => (isJsonObject(part.schema) ? expand(part.schema, root, depth + 1) : []));
    if (keyword === 'allOf') shapes().forEach(product);
    else if (keyword === 'oneOf' || keyword === 'anyOf') product(shapes().flat());
    else if (keyword === '$ref') product(shapes()[0] ?? [{}]);
  }
  return variants;
}

function merge(left: JsonObject, right: JsonObject): JsonObject {
  const properties = new Map(propertiesOf(left));
  for (const [name, schema] of propertiesOf(right)) {
    properties.set(name, { ...properties.get(name), ...schema });
  }
  return {
    ...left,
    ...right,
    properties: Object.fromEntries(properties),
    required: [...new Set([...requiredOf(left), ...requiredOf(right)])],
  };
}

function splitStatus(variant: JsonObject): JsonObject[] {
  const properties = Object.fromEntries(propertiesOf(variant));
  const { enum: statuses, ...status } = properties['$status'] ?? {};
  // A branch that names its status has it fixed already.
  if (!Array.isArray(statuses) || status['const'] !== undefined) return [variant];
  return statuses.map((value) => ({
    ...variant,
    properties: { ...properties, $status: { ...status, const: value } },
  }));
}

/** One field of a reply's front matter, in words for the person or the model that fills it in. */
type FieldWords = {
  name: string;
  /** `required`, `optional`, or when it is: `required with $status rejected`. */
  need: string;
  isRequired: boolean;
  /** What a value looks like, and what the schema says it means: `integer from 1: how many words`. */
  words: string;
};

/** Describes the fields of all variants of a schema, each once, in the order in which they are first named. */
export function fieldWords(variants: readonly JsonObject[]): FieldWords[] {
  const shapes = new Map<string, JsonObject[]>();
  for (const variant of variants) {
    for (const [name, schema] of propertiesOf(variant)) shapes.set(name, [...(shapes.get(name) ?? []), schema]);
    for (const name of requiredOf(variant)) if (!shapes.has(name)) shapes.set(name, [{}]);
  }
  return [...shapes].map(([name, schemas]) => {
    const needing = variants.filter((variant) => requiredOf(variant).includes(name));
    const isRequired = needing.length === variants.length;
    return { name, isRequired, need: isRequired ? 'required' : needOf(needing), words: wordsOf(schemas) };
  });
}

function needOf(needing: readonly JsonObject[]): string {
  if (needing.length === 0) return 'optional';
  const statuses = needing.flatMap((variant) => {
    const status = new Map(propertiesOf(variant)).get('$status')?.['const'];
    return typeof status === 'string' ? [status] : [];
  });
  return statuses.length < needing.length ? 'required in some cases' : `required with $status ${listed(statuses)}`;
}

function wordsOf(schemas: readonly JsonObject[]): string {
  const shapes = new Set(schemas.flatMap((schema) => shapesOf(schema)));
  const description = schemas.map((schema) => schema['description']).find((text) => typeof text === 'string');
  const shape = listed([...shapes]);
  return description === undefined ? shape : `${shape}: ${description}`;
}

function shapesOf(schema: JsonObject): string[] {
  const { const: constant, enum: choices, type, format } = schema;
  if (constant !== undefined) return [plainOrJson(constant)];
  if (Array.isArray(choices)) return choices.map(plainOrJson);
  if (format === 'cas_ref') return ['hash of a node (13 characters)'];
  if (typeof format === 'string') return [format];
  if (type === 'string' || type === undefined) return ['text'];
  if (type === 'array') return ['list'];
  if (type === 'boolean') return ['true or false'];
  const words = Array.isArray(type) ? type.map(plainOrJson).join(' or ') : plainOrJson(type);
  return [`${words}${boundsOf(schema)}`];
}

function boundsOf({ minimum, maximum }: JsonObject): string {
  const from = typeof minimum === 'number' ? ` from ${minimum}` : '';
  const to = typeof maximum === 'number' ? ` up to ${maximum}` : '';
  return from + to;
}

/** A text as it is, any other value as JSON. */
export function plainOrJson(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function listed(words: readonly string[]): string {
  return words.length < 3 ? words.join(' or ') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
}

/** The tool by which an agent reports its structured result. */
export const RESULT_TOOL = 'report_result';

/**
 * What the tool says of itself to a model.
 * @param text when the model is to say its text: the end of a sentence
 */
export function resultToolDescription(text: string): string {
  return (
    `Reports the structured result of your work. Call it once, when you are done; ${text}, without front ` +
    'matter. If you cannot go on without a person, report {"$status": "$SUSPEND", "reason": "what you need to know"}.'
  );
}

/** The name under which a schema that cannot be a tool's own lies in the tool's. */
const WRAPPED = 'result';
/** What the APIs of models take as the name of an argument. */
const ARGUMENT_NAME = /^[a-zA-Z0-9_.-]{1,64}$/u;

/**
 * The input schema of the tool that reports a result: the role's own, or an object with the role's as `result`.
 *
 * Servers of models refuse a tool, and with it the whole request, whose input is not `type: object`, has `oneOf` and the
 * like at its top, or has an argument with a `$` in its name, such as `$status`. Deeper down all of that is accepted.
 */
export function resultToolSchema(schema: JsonObject): JsonObject {
  if (isToolSchema(schema)) return schema;
  const { $schema: _, $id: __, ...plain } = schema;
  return {
    type: 'object',
    properties: { [WRAPPED]: isJsonObject(plain) ? moveReferences(plain) : plain },
    required: [WRAPPED],
    additionalProperties: false,
  };
}

/**
 * Reads what the tool was called with: a result as its schema asks for, wrapped or not.
 *
 * A result that suspends (`$status: $SUSPEND` with a `reason`) is one for every role.
 * @returns the result, or what is wrong with it in words for the agent
 */
export async function readResult(
  input: JsonValue,
  schema: JsonObject,
): Promise<{ kind: 'ok'; meta: JsonObject } | { kind: 'invalid'; errors: readonly string[] }> {
  if (!isJsonObject(input)) return { kind: 'invalid', errors: ['the result has to be an object'] };
  const inner = input[WRAPPED];
  const candidates = [...(isJsonObject(inner) ? [inner] : []), input];
  let errors: readonly string[] = [];
  for (const meta of candidates) {
    const verdict = await extractReply('', schema, meta);
    if (verdict.kind !== 'invalid') return { kind: 'ok', meta };
    if (errors.length === 0) errors = verdict.errors;
  }
  // Said of the arguments, where what is wrong is their outer form.
  const outer = isJsonObject(inner) ? [] : await checkValue(resultToolSchema(schema), input, 'input');
  return { kind: 'invalid', errors: outer.length > 0 ? outer : errors };
}

function isToolSchema(schema: JsonObject): boolean {
  const { type, properties } = schema;
  const hasAlternatives = ['oneOf', 'anyOf', 'allOf', 'not', 'if', '$ref', 'enum', 'const'].some(
    (word) => word in schema,
  );
  if (type !== 'object' || hasAlternatives) return false;
  return Object.keys(isJsonObject(properties) ? properties : {}).every((name) => ARGUMENT_NAME.test(name));
}

/** Turns references to parts of a schema that stood at the top into references to where it lies now. */
function moveReferences(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(moveReferences);
  if (!isJsonObject(value)) return value;
  const moved = Object.entries(value).map(([key, part]): [string, JsonValue] => {
    const isReference = key === '$ref' && typeof part === 'string' && /^#(?:\/|$)/u.test(part);
    return [key, isReference ? `#/properties/${WRAPPED}${part.slice(1)}` : moveReferences(part)];
  });
  return Object.fromEntries(moved);
}
