import type jsonata from 'jsonata';

import { JSONATA_FUNCTIONS } from '../analysis/function-names.ts';
import type { SyntaxNode } from '../analysis/syntax-tree.ts';

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
export function closeOwnFunctions(load: LoadExpression): Promise<unknown> {
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
export function watchEvaluation(expression: jsonata.Expression, clone: unknown): void {
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
export function isFunctionObject(value: unknown): boolean {
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
