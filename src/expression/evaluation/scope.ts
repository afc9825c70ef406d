import { isJsonObject, setMember, type JsonObject, type JsonValue } from '../../json.ts';

/**
 * What an expression is evaluated over. Never changed by evaluating; nor may the caller change it once it was used.
 *
 * Where `bindings.steps` is a list, `$first(role)`, `$last(role)` and `$visits(role)` are bound over it too.
 */
export type Scope = {
  /** The input document, `$` and `$$` at the top. */
  readonly input: JsonValue;
  /** Variables by name, without `$`. */
  readonly bindings: Readonly<Record<string, JsonValue>>;
};

/** A function as JSONata binds it. */
type StepFunction = (role: unknown) => unknown;

/**
 * The functions over the steps, for binding: the meta of a role's first and last step (nothing where there is none), and how
 * often it had a step.
 */
export function stepFunctions(steps: JsonValue | undefined): Record<string, StepFunction> {
  if (!Array.isArray(steps)) return {};
  let byRole: Map<unknown, JsonObject[]> | undefined;
  const ofRole = (role: unknown): JsonObject[] => {
    byRole ??= groupByRole(steps);
    return byRole.get(role) ?? [];
  };
  // Plain functions: JSONata reads their parameters out of their source, which it cannot with a shortened arrow.
  return {
    first: function (role) {
      return ofRole(role)[0]?.meta;
    },
    last: function (role) {
      return ofRole(role).at(-1)?.meta;
    },
    visits: function (role) {
      return ofRole(role).length;
    },
  };
}

function groupByRole(steps: readonly JsonValue[]): Map<unknown, JsonObject[]> {
  const groups = new Map<unknown, JsonObject[]>();
  for (const step of steps) {
    if (!isJsonObject(step)) continue;
    const group = groups.get(step.role);
    if (group === undefined) groups.set(step.role, [step]);
    else group.push(step);
  }
  return groups;
}

/** Members by which JSONata tells functions, and tables of variables, from other objects. */
const MARKS: ReadonlySet<string> = new Set(['_jsonata_lambda', '_jsonata_function', 'tupleStream']);

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
