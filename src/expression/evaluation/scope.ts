import { isJsonObject, setMember, type JsonObject, type JsonValue } from '../../json.ts';

/** What `$visits`, `$first` and `$last` answer of a role. */
export type RoleSeen = { visits: number; first?: JsonObject | undefined; last?: JsonObject | undefined };

/**
 * What an expression is evaluated over. Never changed by evaluating; nor may the caller change it once it was used.
 *
 * Where `bindings.steps` is a list, `$first(role)`, `$last(role)` and `$visits(role)` are bound too: over `roles`, or else
 * over that list.
 */
export type Scope = {
  /** The input document, `$` and `$$` at the top. */
  readonly input: JsonValue;
  /** Variables by name, without `$`. */
  readonly bindings: Readonly<Record<string, JsonValue>>;
  /** Set where `bindings.steps` has not all steps. An expression that needs the child gets all. */
  readonly roles?: ReadonlyMap<unknown, RoleSeen> | undefined;
};

/** A function as JSONata binds it. */
type StepFunction = (role: unknown) => JsonValue | undefined;

/**
 * The functions over the steps, for binding: the meta of a role's first and last step (nothing where there is none), and how
 * often it had a step.
 */
export function stepFunctions(
  steps: JsonValue | undefined,
  roles?: ReadonlyMap<unknown, RoleSeen>,
): Record<string, StepFunction> {
  if (!Array.isArray(steps)) return {};
  let byRole = roles;
  const ofRole = (role: unknown): RoleSeen | undefined => (byRole ??= groupByRole(steps)).get(role);
  const copyOf = (meta: JsonObject | undefined): JsonObject | undefined => meta && copyJson(meta);
  // Plain functions: JSONata reads their parameters out of their source, which it cannot with a shortened arrow.
  return {
    first: function (role) {
      return copyOf(ofRole(role)?.first);
    },
    last: function (role) {
      return copyOf(ofRole(role)?.last);
    },
    visits: function (role) {
      return ofRole(role)?.visits ?? 0;
    },
  };
}

function groupByRole(steps: readonly JsonValue[]): Map<unknown, RoleSeen> {
  const roles = new Map<unknown, RoleSeen>();
  for (const step of steps) {
    if (!isJsonObject(step)) continue;
    const meta = isJsonObject(step['meta']) ? step['meta'] : undefined;
    const { visits, first } = roles.get(step['role']) ?? { visits: 0, first: meta };
    roles.set(step['role'], { visits: visits + 1, first, last: meta });
  }
  return roles;
}

/** Members by which JSONata tells functions, and tables of variables, from other objects. */
const MARKS: ReadonlySet<string> = new Set(['_jsonata_lambda', '_jsonata_function', 'tupleStream']);

/** Tells whether {@link copyJson} leaves out a member. */
export function isMark(key: string): boolean {
  return MARKS.has(key);
}

// A long thread is copied for each of its decisions, and most steps have no list: looking at them once is enough.
const withoutLists = new WeakSet<JsonObject>();

/**
 * Copies a value so deeply that JSONata may mark it as it likes: it sets `keepSingleton` on the very lists that it is given.
 *
 * What holds no list is shared. `__proto__` stays a key like any other; what JSONata takes for its own marks is left out: an
 * agent's meta would pass for a function, or bind variables.
 */
export function copyJson<T extends JsonValue>(value: T): T;
export function copyJson(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map((item) => copyJson(item));
  if (!isJsonObject(value) || withoutLists.has(value)) return value;
  const copy: Record<string, JsonValue> = {};
  let isShared = true;
  for (const key of Object.keys(value)) {
    const item = value[key];
    const own = item === undefined || MARKS.has(key) ? undefined : copyJson(item);
    if (own === undefined || own !== item) isShared = false;
    if (own === undefined) continue;
    if (key === '__proto__') setMember(copy, key, own);
    else copy[key] = own;
  }
  if (!isShared) return copy;
  withoutLists.add(value);
  return value;
}
