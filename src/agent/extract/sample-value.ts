import { isJsonObject } from '../../json.ts';
import type { JsonObject, JsonValue } from '../../json.ts';
import { propertiesOf, requiredOf, resolveReference, schemaVariants } from './schema-variants.ts';

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
export type SampleExtent = 'required' | 'all';

/**
 * Makes a value that a schema most likely accepts, from its constants, examples, defaults, bounds and formats.
 *
 * It ignores a `pattern` and conditions, so the caller validates the sample.
 * @param root the schema that local `$ref`s start from
 */
export function sampleValue(schema: JsonObject, root: JsonObject, extent: SampleExtent): JsonValue {
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
