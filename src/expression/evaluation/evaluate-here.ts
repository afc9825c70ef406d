import type jsonata from 'jsonata';
import { processFields } from '../../git/system/process-identity.ts';
import type { JsonValue } from '../../json.ts';
import { monotonicMs } from '../../time/clock.ts';
import {
  type CompiledExpression,
  compileExpression,
  keepLoaded,
  loadExpression,
  takeLoaded,
} from '../analysis/compile-expression.ts';
import { JSONATA_FUNCTIONS, REFUSED_FUNCTIONS, type SyntaxNode } from '../analysis/syntax-tree.ts';
import { ExpressionFailed, ExpressionRefused, ExpressionTimeout, readJsonataError } from '../expression-errors.ts';
import { copyJson, type Scope, stepFunctions } from './scope.ts';

/** An expression, its limits, and the kind of its result. Plain data, so that it can be sent to the child. */
export type EvaluationTask = {
  readonly source: string;
  /** Processor time, checked between any two nodes of the tree. The load of the machine does not change the result. */
  readonly timeoutMs: number;
  /** `truth`: the result of `$boolean` for the value; false if there is none. */
  readonly wanted: 'value' | 'truth';
  /** Leaves `$now` and the like in place, for a query that is never replayed. */
  readonly mayVary: boolean;
};

/** @throws {ExpressionRefused} when it names a function that a replay forbids, or reaches into JSONata itself */
export function assertHarmless({ source, refused, unsafe }: CompiledExpression, mayVary: boolean): void {
  const [varying] = mayVary ? [] : refused;
  if (varying !== undefined) {
    throw new ExpressionRefused(source, {
      reason: `uses $${varying.name}, and a decision must come out the same when it is replayed`,
      hint: "use what the steps themselves record, for instance '$steps[-1].completedAtMs'",
      offset: varying.offset,
    });
  }
  if (unsafe[0] !== undefined) throw new ExpressionRefused(source, unsafe[0]);
}

/**
 * Evaluates an expression in this process, within JSONata's own limits.
 *
 * These stop recursion and lists that multiply, but not a single slow function: such expressions are for the child, see
 * `reasonForChild`. The same scope gives the same result in both.
 * @returns plain JSON, or `undefined` if JSONata has no result
 * @throws as `evaluate`
 */
export async function evaluateHere(task: EvaluationTask, scope: Scope): Promise<JsonValue | undefined> {
  const compiled = await compileExpression(task.source);
  assertHarmless(compiled, task.mayVary);
  const clone = await closeOwnFunctions(loadExpression);
  const loaded = await takeLoaded(task.source);
  loaded.box.hasWallMs = startTimeBox(task.timeoutMs);
  const { expression } = loaded;
  // An expression that needs no child cannot make functions and read their parts, so only others are watched.
  if (compiled.reasonForChild !== undefined) watchEvaluation(expression, clone);
  const copied = copyJson({ input: scope.input, bindings: { ...scope.bindings } });
  // Copies share values without lists. A transform, or a query that may vary, could change these, so it gets a full copy.
  const own: typeof copied = compiled.mayChange || task.mayVary ? JSON.parse(JSON.stringify(copied)) : copied;
  const bindings: Record<string, unknown> = { ...stepFunctions(own.bindings.steps, scope.roles), ...own.bindings };
  if (!task.mayVary) for (const name of REFUSED_FUNCTIONS) bindings[name] = undefined;
  try {
    const value: unknown = await expression.evaluate(own.input, bindings);
    return task.wanted === 'truth' ? await truthOf(value) : plain(task.source, value);
  } catch (error) {
    throw evaluationError(task, error);
  } finally {
    // A watched expression keeps its watcher, so it is not cached.
    if (compiled.reasonForChild === undefined) keepLoaded(task.source, loaded);
  }
}

let toBoolean: Awaited<ReturnType<typeof loadExpression>> | undefined;

async function truthOf(value: unknown): Promise<boolean> {
  toBoolean ??= await loadExpression('$boolean($value)', {});
  return (await toBoolean.evaluate(null, { value })) === true;
}

// JSONata's sequences are arrays with extra properties. This returns plain JSON.
function plain(source: string, value: unknown): JsonValue | undefined {
  if (value === undefined) return undefined;
  const noFunction = (_key: string, part: unknown): unknown => {
    if (isFunctionObject(part)) throw new ExpressionFailed(source, 'it gives a function, not a value');
    return part;
  };
  return JSON.parse(JSON.stringify(value, noFunction));
}

const TIMED_OUT = 'D1012';

function evaluationError(task: EvaluationTask, error: unknown): Error {
  if (error instanceof ExpressionFailed) return error;
  const { code, message, position } = readJsonataError(error);
  if (code === TIMED_OUT) return new ExpressionTimeout(task.source, task.timeoutMs);
  const offset = position === undefined ? undefined : Math.max(0, position - 1);
  const [reason = ''] = message.split('\n', 1);
  return new ExpressionFailed(task.source, reason.replace(/\.$/, ''), offset, code);
}

/**
 * A function as JSONata keeps it: one of its own (`implementation`), or one that an expression made (`environment`, `body`).
 * Code that reads these parts has the evaluator itself: its variables, its guard rails, its limits.
 */
type FunctionObject = { implementation: Implementation };
type Implementation = (this: object, ...given: unknown[]) => unknown;
/** Where variables are looked up. */
type Frame = { lookup(name: string): unknown };

type LoadExpression = (source: string, options: jsonata.JsonataOptions) => Promise<jsonata.Expression>;

/** The properties by which JSONata recognises functions. */
const MARKS = ['_jsonata_function', '_jsonata_lambda'] as const;
/** JSONata calls what is bound to it after each node. Source: `evaluate` in jsonata.js. */
const AFTER_EACH_NODE = Symbol.for('jsonata.__evaluate_exit');
/** Functions that JSONata makes anew for each expression, and that take no function to call. */
const MADE_ANEW: ReadonlySet<string> = new Set(['now', 'millis']);

let hardened: Promise<unknown> | undefined;
const closed = new WeakSet<object>();

/**
 * Closes JSONata's own functions, which all expressions of a process share: expressions cannot read their parts, and the
 * functions that they call do not get the caller's environment.
 *
 * JSONata passes a function its environment as `this`, and calls any value that has an `apply`. An object `{'apply': $f}` in
 * place of a function would have `$f` called with that environment.
 * @returns the function `$clone`
 */
function closeOwnFunctions(load: LoadExpression): Promise<unknown> {
  return (hardened ??= closeAll(load));
}

async function closeAll(load: LoadExpression): Promise<unknown> {
  const names = [...JSONATA_FUNCTIONS].filter((name) => !MADE_ANEW.has(name));
  // These are the objects that all expressions share.
  const list = await load(`[${names.map((name) => `$${name}`).join(', ')}]`, {});
  const functions: unknown = await list.evaluate(null);
  if (!Array.isArray(functions) || !functions.every(isFunctionOfJsonata) || functions.length !== names.length) {
    throw new Error('JSONata does not give its functions as objects; this version of it cannot be confined');
  }
  for (const own of functions) {
    own.implementation = withoutCaller(own.implementation);
    closeFunction(own);
  }
  return functions[names.indexOf('clone')];
}

function isFunctionOfJsonata(value: unknown): value is FunctionObject {
  if (!isObject(value) || !Object.hasOwn(value, '_jsonata_function')) return false;
  return 'implementation' in value && typeof value.implementation === 'function';
}

/** Wraps a function so that its `this` has no own members: expressions cannot read inherited ones. */
function withoutCaller(implementation: Implementation): Implementation {
  const wrapped: Implementation = function (...given) {
    const caller: object = Object.freeze(Object.create(this));
    return implementation.apply(caller, given);
  };
  // JSONata counts the parameters of a function, and reads their names out of its source.
  return Object.defineProperties(wrapped, {
    length: { value: implementation.length },
    toString: { value: () => implementation.toString() },
  });
}

/**
 * Watches one evaluation: closes every function when it is made, and refuses a transform that would change anything but an
 * object of its own copy.
 */
function watchEvaluation(expression: jsonata.Expression, clone: unknown): void {
  const patterns = new WeakSet<object>();
  const updates = new WeakSet<object>();
  const look = (node: SyntaxNode, _input: unknown, frame: Frame, result: unknown): void => {
    closeFunction(result);
    if (node.type === 'transform') {
      // The transform is evaluated before it is applied, so its pattern is known before the pattern is evaluated.
      if (isObject(node['pattern'])) patterns.add(node['pattern']);
      if (isObject(node['update'])) updates.add(node['update']);
    }
    if (patterns.has(node)) {
      if (frame.lookup('clone') !== clone) throw new Error('a transform needs the $clone of JSONata itself');
      const matches: readonly unknown[] = Array.isArray(result) ? result : [result];
      if (matches.some((match) => isFunctionObject(match) || Array.isArray(match))) {
        throw new Error('a transform changes objects, and no functions or lists');
      }
    }
    if (updates.has(node) && isObject(result) && Object.hasOwn(result, '__proto__')) {
      throw new Error('a transform sets no prototype');
    }
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `assign` binds what it is given; the types know of names alone.
  expression.assign(AFTER_EACH_NODE as unknown as string, look);
}

/** Tells whether JSONata takes a value for a function. */
function isFunctionObject(value: unknown): boolean {
  if (typeof value === 'function') return true;
  return isObject(value) && MARKS.some((mark) => mark in value);
}

/** Hides the parts of a function from expressions that list members. By name JSONata finds no member of a function. */
function closeFunction(value: unknown): void {
  if (!isObject(value) || closed.has(value) || !MARKS.some((mark) => Object.hasOwn(value, mark))) return;
  // Two of them JSONata adds when it calls a function, so that its errors can name it.
  for (const part of Object.keys({ token: 0, position: 0, ...value })) {
    Object.defineProperty(value, part, { enumerable: false, writable: true });
  }
  for (const mark of MARKS) {
    if (Object.hasOwn(value, mark)) Object.defineProperty(value, mark, { writable: false, configurable: false });
  }
  closed.add(value);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** Linux counts in hundredths of a second whatever the kernel does. Source: proc(5), times(7), `USER_HZ`. */
const MS_PER_TICK = 10;

/** The processor time of this process, and when it was asked for. */
let latest = { cpuMs: 0, askedMs: -Infinity };

/** Asking the system takes as long as a short evaluation, so a value is used again for this part of the time limit. */
const MAX_AGE = 0.01;

/**
 * Starts a time limit that counts only the processor time of this process, not the time of waiting for a processor.
 * @returns a function that returns the limit as wall time, in ms, as it is now
 */
export function startTimeBox(timeoutMs: number): () => number {
  const startedMs = monotonicMs();
  if (startedMs - latest.askedMs > timeoutMs * MAX_AGE) latest = { cpuMs: cpuMsNow(), askedMs: startedMs };
  const before = latest.cpuMs;
  return () => {
    const wallMs = monotonicMs() - startedMs;
    // Called for every part of an expression: asking the system takes longer than evaluating the part.
    if (wallMs < timeoutMs) return timeoutMs;
    return timeoutMs + Math.max(0, wallMs - (cpuMsNow() - before));
  };
}

function cpuMsNow(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** The processor time that another process has had, in ms; `undefined` where the system has no `/proc`, or it has ended. */
export function cpuTimeOf(pid: number): number | undefined {
  // User and system time are the fields 14 and 15 of all, and the state is the third.
  const [user, system] = processFields(pid).slice(11, 13).map(Number);
  return user === undefined || system === undefined ? undefined : (user + system) * MS_PER_TICK;
}
