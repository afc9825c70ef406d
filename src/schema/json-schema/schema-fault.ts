import { canonicalJson } from '../../cas/canonical.ts';
import { META_SCHEMA } from '../../cas/frozen-types.ts';
import { MAX_SCHEMA_BYTES } from '../../cas/node-limits.ts';
import { isJsonObject } from '../../json.ts';
import type { JsonObject, JsonValue } from '../../json.ts';
import { DIALECT } from '../built-in/schema-parts.ts';
import type { SchemaError } from './schema-error.ts';
import { applicators, references, subschemas } from './walk-schema.ts';

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
