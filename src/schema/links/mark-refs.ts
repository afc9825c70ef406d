import { pointer } from '../../cas/canonical.ts';
import { isNodeHash } from '../../cas/hash.ts';
import { isJsonObject } from '../../json.ts';
import type { JsonObject, JsonValue } from '../../json.ts';
import { applicators } from '../json-schema/walk-schema.ts';
import { runInTimeBox } from '../json-schema/time-box.ts';

/** The format of a string that is a node hash. */
export const CAS_REF = 'cas_ref';

/** The places (JSON pointers) at which a schema has links, and which types it allows there; `undefined` for any. */
export type RefMarks = Map<string, readonly string[] | undefined>;

const patternTimeoutMs = 1000;

/**
 * Marks the places of a value that a schema says are links. A place that holds no hash may be marked as well.
 *
 * Expects a schema that compiles (`compileSchema`); anything else has no links.
 * @param root the schema in which references are resolved
 */
export function markRefs(root: JsonValue, schema: JsonValue, value: JsonValue, marks: RefMarks): void {
  new Marker(root, marks).visit(schema, value, []);
}

const references: ReadonlySet<string> = new Set(['$ref', '$dynamicRef']);
/** Keywords whose schemas may hold for the value. `not` says what it is not; `dependentSchemas` depend on a member. */
const holding: ReadonlySet<string> = new Set([...references, 'allOf', 'anyOf', 'oneOf', 'if', 'then', 'else']);

class Marker {
  readonly #root: JsonValue;
  readonly #marks: RefMarks;
  /**
   * The places that each schema that a reference leads to was held against: it ends circles, which go through a reference,
   * and shared parts are cheap.
   */
  readonly #visited = new Map<JsonValue, Set<string>>();

  constructor(root: JsonValue, marks: RefMarks) {
    this.#root = root;
    this.#marks = marks;
  }

  visit(schema: JsonValue | undefined, value: JsonValue, path: (string | number)[]): void {
    if (!isJsonObject(schema)) return;
    if (schema['format'] === CAS_REF) this.#mark(pointer(path), schema['cas_type']);
    for (const { keyword, parts } of applicators(this.#root, schema)) {
      if (!holding.has(keyword)) continue;
      for (const { schema: part } of parts) {
        if (!references.has(keyword) || this.#isNew(part, path)) this.visit(part, value, path);
      }
    }
    if (Array.isArray(value)) this.#visitItems(schema, value, path);
    else if (isJsonObject(value)) this.#visitMembers(schema, value, path);
  }

  /** Notes that a schema was held against the value at a place; false if it was before. */
  #isNew(schema: JsonValue, path: (string | number)[]): boolean {
    const place = pointer(path);
    const known = this.#visited.get(schema) ?? new Set();
    this.#visited.set(schema, known);
    if (known.has(place)) return false;
    known.add(place);
    return true;
  }

  #visitItems(schema: JsonObject, list: readonly JsonValue[], path: (string | number)[]): void {
    const prefix = Array.isArray(schema['prefixItems']) ? schema['prefixItems'] : [];
    for (const [index, item] of list.entries()) {
      path.push(index);
      if (index < prefix.length) this.visit(prefix[index], item, path);
      else {
        this.visit(schema['items'], item, path);
        this.visit(schema['unevaluatedItems'], item, path);
      }
      this.visit(schema['contains'], item, path);
      path.pop();
    }
  }

  #visitMembers(schema: JsonObject, object: JsonObject, path: (string | number)[]): void {
    const properties = asObject(schema['properties']);
    const patterns = Object.entries(asObject(schema['patternProperties']));
    for (const [key, part] of Object.entries(asObject(schema['dependentSchemas']))) {
      if (Object.hasOwn(object, key)) this.visit(part, object, path);
    }
    for (const [key, member] of Object.entries(object)) {
      if (!mayBeMarked(member)) continue;
      path.push(key);
      const applicable: (JsonValue | undefined)[] = [];
      for (const [pattern, part] of patterns) if (matches(pattern, key)) applicable.push(part);
      if (Object.hasOwn(properties, key)) applicable.push(properties[key]);
      if (applicable.length === 0) applicable.push(schema['additionalProperties'], schema['unevaluatedProperties']);
      for (const part of applicable) this.visit(part, member, path);
      path.pop();
    }
  }

  #mark(place: string, casType: JsonValue | undefined): void {
    const types = typesOf(casType);
    const known = this.#marks.has(place) ? this.#marks.get(place) : [];
    // Two branches that disagree leave every type that one of them allows.
    this.#marks.set(place, known && types && [...new Set([...known, ...types])]);
  }
}

/** Nothing else can be a link, or hold one: no pattern needs to be tried for the name of anything else. */
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
  let expression: RegExp;
  try {
    expression = new RegExp(pattern, 'u');
  } catch {
    return false;
  }
  // The pattern may come from a fetched thread, and may backtrack without end.
  return runInTimeBox(() => expression.test(key), patternTimeoutMs);
}
