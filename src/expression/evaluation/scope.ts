import { isJsonObject, setMember, type JsonObject, type JsonValue } from '../../json.ts';

/** The results of `$visits`, `$first` and `$last` for a role. */
export type RoleSeen = { visits: number; first?: JsonObject | undefined; last?: JsonObject | undefined };

/**
 * The input of an evaluation. Evaluating does not change it, and the caller must not change it after the first use.
 *
 * Where `bindings.steps` is a list, `$first(role)`, `$last(role)` and `$visits(role)` are bound too: over `roles`, or else
 * over that list.
 */
export type Scope = {
  /** The input document, `$` and `$$` at the top. */
  readonly input: JsonValue;
  /** Variables by name, without `$`. */
  readonly bindings: Readonly<Record<string, JsonValue>>;
  /** Set if `bindings.steps` does not have all steps. An expression that needs the child gets all. */
  readonly roles?: ReadonlyMap<unknown, RoleSeen> | undefined;
};

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
  // Function expressions, because JSONata parses the parameters from their source, and cannot parse those of an arrow.
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

// A long thread is copied for each of its decisions. Most steps have no list, and are only searched for one once.
const withoutLists = new WeakSet<JsonObject>();

/**
 * Copies all lists of a value, with the objects around them, because JSONata sets `keepSingleton` on the lists that it gets.
 *
 * Values without lists are shared. `__proto__` stays a key like any other. Members that JSONata would take for its own marks
 * are left out: with them, an agent's meta could pass for a function, or bind variables.
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
