import { pointer } from '../cas/canonical.ts';
import { isNodeHash, type NodeHash } from '../cas/hash.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../json.ts';
import { orElse } from '../or-else.ts';
import { runInTimeBox } from './time-box.ts';
import { applicators } from './typed-schema.ts';

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

/** The format of a string that is a node hash. */
export const CAS_REF = 'cas_ref';

/** The places (JSON pointers) at which a schema has links, and which types it allows there; `undefined` for any. */
type RefMarks = Map<string, readonly string[] | undefined>;

const patternTimeoutMs = 1000;

/**
 * Marks the places of a value that a schema says are links. A place that holds no hash may be marked as well.
 *
 * Expects a schema that compiles (`compileSchema`); anything else has no links.
 * @param root the schema in which references are resolved
 */
function markRefs(root: JsonValue, schema: JsonValue, value: JsonValue, marks: RefMarks): void {
  // For each schema that is the target of a reference, the places at which it was applied. This ends cycles of references,
  // and shared parts are visited once for each place.
  const visited = new Map<JsonValue, Set<string>>();
  const path: (string | number)[] = [];

  /** Records that a schema is applied at a place; false if it was recorded before. */
  function isNew(schema: JsonValue): boolean {
    const place = pointer(path);
    const known = visited.get(schema) ?? new Set();
    visited.set(schema, known);
    return !known.has(place) && known.add(place).size > 0;
  }

  function visit(schema: JsonValue | undefined, value: JsonValue): void {
    if (!isJsonObject(schema)) return;
    if (schema['format'] === CAS_REF) mark(marks, pointer(path), schema['cas_type']);
    for (const { keyword, parts } of applicators(root, schema)) {
      if (!holding.has(keyword)) continue;
      for (const { schema: part } of parts) if (!references.has(keyword) || isNew(part)) visit(part, value);
    }
    if (Array.isArray(value)) visitItems(schema, value);
    else if (isJsonObject(value)) visitMembers(schema, value);
  }

  function visitAll(schemas: readonly (JsonValue | undefined)[], key: string | number, value: JsonValue): void {
    path.push(key);
    for (const schema of schemas) visit(schema, value);
    path.pop();
  }

  function visitItems({ prefixItems, items, unevaluatedItems, contains }: JsonObject, list: JsonValue[]): void {
    const prefix = Array.isArray(prefixItems) ? prefixItems : [];
    for (const [index, item] of list.entries()) {
      const own = index < prefix.length ? [prefix[index]] : [items, unevaluatedItems];
      visitAll([...own, contains], index, item);
    }
  }

  function visitMembers(schema: JsonObject, object: JsonObject): void {
    const properties = asObject(schema['properties']);
    const patterns = Object.entries(asObject(schema['patternProperties']));
    for (const [key, part] of Object.entries(asObject(schema['dependentSchemas']))) {
      if (Object.hasOwn(object, key)) visit(part, object);
    }
    for (const [key, member] of Object.entries(object)) {
      if (!mayBeMarked(member)) continue;
      const applicable: (JsonValue | undefined)[] = [];
      for (const [pattern, part] of patterns) if (matches(pattern, key)) applicable.push(part);
      if (Object.hasOwn(properties, key)) applicable.push(properties[key]);
      if (applicable.length === 0) applicable.push(schema['additionalProperties'], schema['unevaluatedProperties']);
      visitAll(applicable, key, member);
    }
  }

  visit(schema, value);
}

const references: ReadonlySet<string> = new Set(['$ref', '$dynamicRef']);
/** Keywords whose schemas may hold for the value. `not` says what it is not; `dependentSchemas` depend on a member. */
const holding: ReadonlySet<string> = new Set([...references, 'allOf', 'anyOf', 'oneOf', 'if', 'then', 'else']);

function mark(marks: RefMarks, place: string, casType: JsonValue | undefined): void {
  const types = typesOf(casType);
  const known = marks.has(place) ? marks.get(place) : [];
  // If two alternatives name different types, the types of both are allowed.
  marks.set(place, known && types && [...new Set([...known, ...types])]);
}

/** Tells whether a value can be a link or hold one. The patterns of `patternProperties` are only tried for such members. */
function mayBeMarked(value: JsonValue): boolean {
  return typeof value === 'string' ? isNodeHash(value) : typeof value === 'object' && value !== null;
}

function asObject(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

function typesOf(casType: JsonValue | undefined): readonly string[] | undefined {
  if (typeof casType === 'string') return [casType];
  if (!Array.isArray(casType)) return undefined;
  return casType.filter((type) => typeof type === 'string');
}

function matches(pattern: string, key: string): boolean {
  const expression = orElse(() => new RegExp(pattern, 'u'), undefined);
  // The pattern may come from a fetched thread, and may backtrack for hours.
  return expression !== undefined && runInTimeBox(() => expression.test(key), patternTimeoutMs);
}
