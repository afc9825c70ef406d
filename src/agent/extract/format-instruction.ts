import { isJsonObject, type JsonObject, type JsonValue } from '../../json.ts';
import { checkValue, renderFields } from './extract-reply.ts';
import { fieldWords, propertiesOf, requiredOf, resolveReference, schemaVariants } from './schema-variants.ts';

const BODY = 'What you have to say, in Markdown.\n';

/**
 * Writes for an agent how its reply has to look: the fields of the front matter, and one worked example for each variant
 * of the schema.
 *
 * Every example satisfies the schema. A variant for which none could be made (a `pattern`, a condition) has its fields
 * described and no example.
 */
export async function formatInstruction(schema: JsonObject): Promise<string> {
  const fields = fieldWords(schemaVariants(schema)).map(({ name, need, words }) => `- ${name} (${need}): ${words}\n`);
  const examples = await exampleReplies(schema);
  const parts = [
    'Begin your reply with front matter: a line ---, the fields as YAML, a line ---. Then comes your text, in Markdown.\n' +
      "Put a value into double quotes where it holds ': ' or ' #'.\n",
    fields.length === 0 ? '' : `Fields:\n\n${fields.join('')}`,
    ...examples.map((example, index) => `${index === 0 ? 'Example:' : 'Or:'}\n\n${example}`),
    'If you cannot go on without an answer from a person:\n\n' +
      '---\n$status: $SUSPEND\nreason: what you need to know\n---\n',
  ];
  return parts.filter((part) => part !== '').join('\n');
}

/** A reply for each variant of a schema that it accepts; for `formatInstruction` and for trying agents out. */
export async function exampleReplies(schema: JsonObject): Promise<string[]> {
  const replies = new Set<string>();
  for (const variant of schemaVariants(schema)) {
    const meta = await exampleOf(variant, schema);
    if (meta !== undefined) replies.add(`---\n${renderFields(meta)}---\n${BODY}`);
  }
  return [...replies];
}

async function exampleOf(variant: JsonObject, schema: JsonObject): Promise<JsonObject | undefined> {
  for (const extent of ['required', 'all'] as const) {
    const sample = sampleValue({ type: 'object', ...variant }, schema, extent);
    // A reply without any field shows nothing, where the schema knows some.
    if (!isJsonObject(sample) || (extent === 'required' && Object.keys(sample).length === 0)) continue;
    if ((await checkValue(schema, sample, 'meta')).length === 0) return sample;
  }
  return undefined;
}

const MAX_DEPTH = 12;

/** What stands for a value of a string format; the dates are as good as any. */
const SAMPLE_OF_FORMAT: Readonly<Record<string, string>> = {
  cas_ref: '0123456789ABC',
  'date-time': '2026-01-31T12:00:00Z',
  date: '2026-01-31',
  time: '12:00:00Z',
  duration: 'PT1H',
  email: 'name@example.org',
  hostname: 'example.org',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://example.org/',
  'uri-reference': '/path',
  uuid: '01234567-89ab-4cde-8f01-23456789abcd',
  'json-pointer': '/path',
  regex: '.*',
};

/** Which properties of the outermost object a sample has. */
type SampleExtent = 'required' | 'all';

/**
 * Makes a value that a schema most likely accepts, from its constants, examples, defaults, bounds and formats.
 *
 * It ignores a `pattern` and conditions, so the caller validates the sample.
 */
function sampleValue(schema: JsonObject, root: JsonObject, extent: SampleExtent): JsonValue {
  return sample(schema, root, extent, 0);
}

function sample(schema: JsonObject, root: JsonObject, extent: SampleExtent, depth: number): JsonValue {
  if (depth > MAX_DEPTH) return null;
  const given = givenValue(schema);
  if (given !== undefined) return given;
  const { $ref, ...beside } = schema;
  if (typeof $ref === 'string') {
    const target = resolveReference(root, $ref);
    // Not the variants of it: a reference to itself would be expanded at every level.
    if (target !== undefined) return sample({ ...target, ...beside }, root, extent, depth + 1);
  }
  if (['allOf', 'oneOf', 'anyOf'].some((keyword) => Array.isArray(schema[keyword]))) {
    const [variant] = schemaVariants(schema, root);
    if (variant !== undefined) return sample(variant, root, extent, depth + 1);
  }
  const type = typeOf(schema);
  if (type === 'object') return sampleObject(schema, root, extent, depth);
  if (type === 'array') return sampleArray(schema, root, depth);
  if (type === 'integer' || type === 'number') return sampleNumber(schema, type === 'integer');
  if (type === 'null') return null;
  return type === 'boolean' || sampleString(schema);
}

function givenValue(schema: JsonObject): JsonValue | undefined {
  const { const: constant, examples, default: preset, enum: choices } = schema;
  if (constant !== undefined) return constant;
  if (Array.isArray(examples) && examples[0] !== undefined) return examples[0];
  if (preset !== undefined) return preset;
  return Array.isArray(choices) ? choices[0] : undefined;
}

function typeOf(schema: JsonObject): JsonValue | undefined {
  const { type } = schema;
  if (Array.isArray(type)) return type.find((one) => one !== 'null') ?? 'null';
  if (type !== undefined) return type;
  if (schema['properties'] !== undefined || schema['required'] !== undefined) return 'object';
  return schema['items'] !== undefined || schema['prefixItems'] !== undefined ? 'array' : undefined;
}

function sampleObject(schema: JsonObject, root: JsonObject, extent: SampleExtent, depth: number): JsonObject {
  const properties = propertiesOf(schema);
  const required = requiredOf(schema);
  const named = new Map(properties);
  for (const name of required) if (!named.has(name)) named.set(name, {});
  const wanted = [...named].filter(([name]) => extent === 'all' || required.includes(name));
  return Object.fromEntries(wanted.map(([name, property]) => [name, sample(property, root, 'required', depth + 1)]));
}

function sampleArray(schema: JsonObject, root: JsonObject, depth: number): JsonValue[] {
  const { prefixItems, items, minItems, maxItems } = schema;
  const first = Array.isArray(prefixItems) ? prefixItems : [];
  const least = Math.max(numberOr(minItems, 0), first.length, 1);
  const length = Math.min(least, numberOr(maxItems, least));
  const rest = isJsonObject(items) ? items : {};
  return Array.from({ length }, (_, index) => {
    const item = first[index] ?? rest;
    return sample(isJsonObject(item) ? item : {}, root, 'required', depth + 1);
  });
}

function sampleNumber(schema: JsonObject, isInteger: boolean): number {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
  const above = numberOr(exclusiveMinimum, -Infinity);
  const below = numberOr(exclusiveMaximum, Infinity);
  const least = Math.max(numberOr(minimum, -Infinity), above);
  const most = Math.min(numberOr(maximum, Infinity), below);
  const unit = numberOr(schema['multipleOf'], 1);
  const near = Math.max(least, Math.min(most, unit));
  const count = Math.round(near / unit);
  // Of a fraction, the product may have a rounding error in its last digits.
  const multiples = [count, count + 1, count - 1].map((times) =>
    Number.isInteger(unit) ? times * unit : Number((times * unit).toPrecision(15)),
  );
  const fits = (value: number): boolean =>
    value >= least && value <= most && value !== above && value !== below && (!isInteger || Number.isInteger(value));
  return [...multiples, (least + most) / 2].find(fits) ?? near;
}

function sampleString(schema: JsonObject): string {
  const { format, minLength, maxLength } = schema;
  const known =
    typeof format === 'string' && Object.hasOwn(SAMPLE_OF_FORMAT, format) ? SAMPLE_OF_FORMAT[format] : undefined;
  if (known !== undefined) return known;
  return 'text'.padEnd(numberOr(minLength, 0), ' text').slice(0, numberOr(maxLength, Infinity));
}

function numberOr(value: JsonValue | undefined, otherwise: number): number {
  return typeof value === 'number' ? value : otherwise;
}
