import { pointer } from '../../cas/canonical.ts';
import { isNodeHash } from '../../cas/hash.ts';
import type { NodeHash } from '../../cas/hash.ts';
import { isJsonObject } from '../../json.ts';
import type { JsonObject, JsonValue } from '../../json.ts';
import { markRefs } from './mark-refs.ts';
import type { RefMarks } from './mark-refs.ts';

/** The key of an inline pointer, `{ "$cas": "<hash>" }`. */
export const CAS_KEY = '$cas';

/** A link as it stands in a payload. */
export type Link = {
  hash: NodeHash;
  /** Where it stands, as a JSON pointer. */
  path: string;
  /** What the schema says the node's type may be: names of built-in types, or hashes; `undefined` for any. */
  types: readonly string[] | undefined;
};

/**
 * Finds all links of a payload, in the order in which they stand in it: strings that a schema says are `cas_ref`, and
 * inline pointers anywhere.
 *
 * Where a schema offers alternatives (`anyOf`, `oneOf`, `if`) every one counts, provided that the string at that place
 * has the form of a hash. A hash that stands in two places is two links.
 * @param metaSchema holds for the payload's member `meta`, beside the schema of the whole
 */
export function findLinks(schema: JsonValue, payload: JsonValue, metaSchema: JsonValue = {}): Link[] {
  if (!mayHoldLinks(payload)) return [];
  const marks: RefMarks = new Map();
  markRefs(schema, schema, payload, marks);
  markRefs(metaSchema, { properties: { meta: metaSchema } }, payload, marks);
  const links: Link[] = [];
  const path: (string | number)[] = [];
  const descend = (value: JsonValue, step: string | number): void => {
    path.push(step);
    gather(value);
    path.pop();
  };
  const gather = (value: JsonValue): void => {
    if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) descend(item, index);
    } else if (isJsonObject(value)) {
      const inline = inlinePointer(value);
      if (inline !== undefined) links.push({ hash: inline, path: pointer(path), types: undefined });
      for (const [key, member] of Object.entries(value)) {
        if (key !== CAS_KEY || inline === undefined) descend(member, key);
      }
    } else if (isNodeHash(value)) {
      const at = pointer(path);
      if (marks.has(at)) links.push({ hash: value, path: at, types: marks.get(at) });
    }
  };
  gather(payload);
  return links;
}

/**
 * The hashes a payload links to under a schema, inline pointers included: in order of appearance, each once.
 *
 * Follows `format: cas_ref` through properties, patternProperties, additionalProperties, dependentSchemas, items,
 * prefixItems, contains, allOf, anyOf, oneOf, if/then/else and references within the schema; not through `not`, which
 * says what a value is not.
 */
export function collectRefs(schema: JsonValue, payload: JsonValue): NodeHash[] {
  return [...new Set(findLinks(schema, payload).map(({ hash }) => hash))];
}

/** The hashes of all inline pointers (`{ "$cas": "<hash>" }`) in a value: in order of appearance, each once. */
export function findCasRefs(value: JsonValue): NodeHash[] {
  return collectRefs({}, value);
}

/** Tells whether anything in a value looks like a hash. Most nodes are texts, and no schema needs to be asked about those. */
function mayHoldLinks(value: JsonValue): boolean {
  if (typeof value === 'string') return isNodeHash(value);
  if (typeof value !== 'object' || value === null) return false;
  return Object.values(value).some(mayHoldLinks);
}

function inlinePointer(object: JsonObject): NodeHash | undefined {
  const hash = Object.hasOwn(object, CAS_KEY) ? object[CAS_KEY] : undefined;
  return isNodeHash(hash) ? hash : undefined;
}
