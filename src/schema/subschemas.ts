import { isJsonObject } from '../json.ts';
import type { JsonObject, JsonValue } from '../json.ts';

const single = [
  'items',
  'contains',
  'additionalProperties',
  'unevaluatedItems',
  'unevaluatedProperties',
  'propertyNames',
  'contentSchema',
  'if',
  'then',
  'else',
  'not',
];
const listed = ['allOf', 'anyOf', 'oneOf', 'prefixItems'];
const named = ['properties', 'patternProperties', 'dependentSchemas', 'dependencies', '$defs', 'definitions'];

/**
 * Visits a schema and all schemas in it, each once, the outermost first; boolean schemas are left out.
 *
 * Only the places where JSON Schema 2020-12 has schemas are entered: what stands in `const`, `enum`, `default` or
 * `examples` is data. References are not followed.
 */
export function* subschemas(schema: JsonValue): Generator<JsonObject> {
  const pending: JsonValue[] = [schema];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (!isJsonObject(next)) continue;
    yield next;
    pending.push(...directSubschemas(next).toReversed());
  }
}

function directSubschemas(schema: JsonObject): JsonValue[] {
  const found: JsonValue[] = [];
  for (const keyword of single) {
    const value = schema[keyword];
    if (value !== undefined) found.push(value);
  }
  for (const keyword of listed) {
    const value = schema[keyword];
    if (Array.isArray(value)) found.push(...value);
  }
  for (const keyword of named) {
    const value = schema[keyword];
    if (isJsonObject(value)) found.push(...Object.values(value));
  }
  return found;
}

/**
 * Resolves a reference within a schema: `#`, a JSON pointer (`#/$defs/x`) or an anchor (`#name`).
 *
 * `undefined` for a reference to elsewhere, and for one that names nothing.
 * Source: RFC 6901 §6, JSON Schema 2020-12 core §8.2.
 */
export function resolveLocalRef(root: JsonValue, ref: string): JsonValue | undefined {
  if (!ref.startsWith('#')) return undefined;
  const fragment = decodeFragment(ref.slice(1));
  if (fragment === undefined) return undefined;
  if (fragment === '') return root;
  if (fragment.startsWith('/')) return atPointer(root, fragment);
  for (const schema of subschemas(root)) {
    if (schema['$anchor'] === fragment || schema['$dynamicAnchor'] === fragment) return schema;
  }
  return undefined;
}

function decodeFragment(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function atPointer(root: JsonValue, pointer: string): JsonValue | undefined {
  let value: JsonValue | undefined = root;
  for (const step of pointer.slice(1).split('/')) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (Array.isArray(value)) value = /^\d+$/.test(key) ? value[Number(key)] : undefined;
    else if (isJsonObject(value) && Object.hasOwn(value, key)) value = value[key];
    else return undefined;
  }
  return value;
}
