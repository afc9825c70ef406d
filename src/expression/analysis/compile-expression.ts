import type jsonata from 'jsonata';
import { inPlaceOf } from '../../or-else.ts';
import { ExpressionSyntaxError, readJsonataError } from '../expression-errors.ts';
import { plainComparison, seenByComparison } from './plain-comparison.ts';
import { NOTHING_SEEN, stepsSeen, type StepsSeen, withoutRoles } from './steps-seen.ts';
import {
  childrenOf,
  isSyntaxNode,
  JSONATA_FUNCTIONS,
  LITERALS,
  nodeAt,
  nodeList,
  nodesOf,
  offsetOf,
  PLAIN_OPERATORS,
  REFUSED_FUNCTIONS,
  STEP_FUNCTIONS,
  type SyntaxNode,
  variableName,
  type VariableUse,
} from './syntax-tree.ts';

/** A valid expression, and the properties that decide how it is evaluated. Plain data. */
export type CompiledExpression = {
  readonly source: string;
  /** Uses of functions that a replay forbids, also under an alias. */
  readonly refused: readonly VariableUse[];
  /** Uses that reach JSONata's internals; they are always refused. */
  readonly unsafe: readonly UnsafeUse[];
  /** Whether it has a transform, which may change what it was given. */
  readonly mayChange: boolean;
  /** Why only a process that can be killed may evaluate it; `undefined` when any may. */
  readonly reasonForChild: string | undefined;
  readonly stepsSeen: StepsSeen;
};

/** A cache of the last compiled expressions, because a rule is tried once for each step. */
const known = new Map<string, CompiledExpression>();
let knownLength = 0;
/** The size of the cache in characters: enough for a workflow with 10,000 rules, so that a step does not parse them again. */
const MAX_KEPT = 524_288;
/** The size of an entry apart from its text. */
const ENTRY_LENGTH = 20;
const MAX_CACHED_LENGTH = 4096;

/**
 * Parses and analyses an expression, once. Evaluates nothing, and loads JSONata at the first call.
 * @throws {ExpressionSyntaxError} when it is not JSONata, or is longer or more deeply nested than the parser can take
 */
export async function compileExpression(source: string): Promise<CompiledExpression> {
  const found = known.get(source);
  if (found !== undefined) return found;
  const compiled = lookThrough(source, await parseExpression(source));
  if (source.length <= MAX_CACHED_LENGTH && !known.has(source)) keep(compiled);
  return compiled;
}

function keep(compiled: CompiledExpression): void {
  const length = compiled.source.length + ENTRY_LENGTH;
  if (knownLength + length > MAX_KEPT) {
    known.clear();
    knownLength = 0;
  }
  known.set(compiled.source, compiled);
  knownLength += length;
}

export function lookThrough(source: string, tree: SyntaxNode): CompiledExpression {
  const nodes = [...nodesOf(tree)];
  return {
    source,
    refused: variableUses(nodes).filter((use) => REFUSED_FUNCTIONS.has(use.name)),
    unsafe: findUnsafeUses(nodes),
    mayChange: nodes.some(({ type }) => type === 'transform'),
    reasonForChild: reasonForChild(tree),
    stepsSeen: stepsSeen(tree),
  };
}

/**
 * The part of the steps that an expression can see. One with a syntax error sees nothing, because its evaluation always fails.
 */
export async function seenByExpression(source: string): Promise<StepsSeen> {
  const comparison = plainComparison(source);
  if (comparison !== undefined) return seenByComparison(comparison);
  const compiled = await compileExpression(source).catch(inPlaceOf(ExpressionSyntaxError, undefined));
  if (compiled === undefined) return NOTHING_SEEN;
  // The child gets only the changes since the last evaluation, for which the steps must keep their order.
  return compiled.reasonForChild === undefined ? compiled.stepsSeen : withoutRoles(compiled.stepsSeen);
}

/** The variables that an expression names, its functions among them. */
export function variableUses(nodes: readonly SyntaxNode[]): VariableUse[] {
  return nodes.flatMap((node) => {
    const name = variableName(node);
    return name === undefined ? [] : [{ name, offset: offsetOf(node) }];
  });
}

/** @throws {ExpressionSyntaxError} as `compileExpression` */
export async function parseExpression(source: string): Promise<SyntaxNode> {
  const loaded = await takeLoaded(source);
  const tree: unknown = loaded.expression.ast();
  if (!isSyntaxNode(tree)) throw new ExpressionSyntaxError(source, 'it is empty');
  for (const node of nodesOf(tree)) {
    // JSONata copies the left side of ?: as JSON. A pattern becomes an empty object, which silently matches nothing.
    if (node.type === 'regex' && !(node.value instanceof RegExp)) {
      const reason = 'a regular expression on the left of ?: is lost; bind it to a variable';
      throw new ExpressionSyntaxError(source, reason, offsetOf(node));
    }
  }
  // Kept for the evaluation of the rule, which mostly follows: parsing takes as long as that.
  keepLoaded(source, loaded);
  return tree;
}

/**
 * Functions whose call takes time linear in an argument and returns a result no larger than it.
 *
 * Not in the list: functions that make new large values ($uppercase, $split, $reverse, $append), that are quadratic ($sort,
 * $distinct), that run patterns, or that build strings without a bound ($string, $join, $replace, $pad).
 */
const TAME_FUNCTIONS: ReadonlySet<string> = new Set([
  ...`count sum max min average number floor ceil round abs sqrt power boolean not exists type keys lookup length substring
      error assert map filter single sift each contains substringBefore substringAfter`.split(/\s+/),
  ...STEP_FUNCTIONS,
]);

/** Allowed only with a short literal to look for: a search for a long needle in a crafted text takes minutes. */
const SEARCH_FUNCTIONS: ReadonlySet<string> = new Set(['contains', 'substringBefore', 'substringAfter']);
const MAX_NEEDLE = 256;

const TAME_TYPES: ReadonlySet<string> = new Set([
  ...LITERALS,
  ...'path name variable wildcard condition block filter sort bind'.split(' '),
]);

/**
 * Returns why an expression must be evaluated in a process that can be killed; `undefined` if it may be evaluated here.
 *
 * JSONata checks its limits (time, depth, length of a sequence) between two nodes, never inside a function or an operator. This
 * process therefore evaluates only what does little between two nodes: no recursion, no builder that multiplies, no pattern.
 * The lists name what is allowed, so a function that JSONata adds later is not.
 */
function reasonForChild(root: SyntaxNode): string | undefined {
  const tameLambdas = new Set<SyntaxNode>();
  for (const node of nodesOf(root)) {
    if (node.type === 'function')
      nodeList(node, 'arguments').forEach((argument) => argument.type === 'lambda' && tameLambdas.add(argument));
    const reason = reasonForShape(node) ?? reasonForNode(node, tameLambdas);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

// Grouping builds objects; a tuple stream (@, #, %) multiplies lists between two looks at the clock.
function reasonForShape(node: SyntaxNode): string | undefined {
  if (node.group !== undefined) return 'grouping';
  return node.tuple === true ? 'a join' : undefined;
}

function reasonForNode(node: SyntaxNode, tameLambdas: ReadonlySet<SyntaxNode>): string | undefined {
  switch (node.type) {
    case 'variable':
      return reasonForVariable(node);
    case 'function':
      return reasonForCall(node);
    case 'lambda':
      // JSONata turns a signature into a regular expression and matches it with the arguments of every call.
      if (node.signature !== undefined) return 'a function with a signature';
      return tameLambdas.has(node) || node.thunk === true ? undefined : 'a function of its own';
    case 'binary':
      return PLAIN_OPERATORS.has(node.value) ? undefined : `the operator ${String(node.value)}`;
    case 'unary':
      return reasonForUnary(node);
    default:
      if (TAME_TYPES.has(node.type)) return undefined;
      return node.type === 'regex' ? 'a regular expression' : `a '${node.type}' node`;
  }
}

function reasonForVariable(node: SyntaxNode): string | undefined {
  const name = variableName(node);
  return name === undefined || !JSONATA_FUNCTIONS.has(name) || TAME_FUNCTIONS.has(name) ? undefined : `$${name}`;
}

// A call of anything but a known function, a local one above all, is how recursion begins.
function reasonForCall(node: SyntaxNode): string | undefined {
  const procedure = nodeAt(node, 'procedure');
  const name = procedure && variableName(procedure);
  if (name === undefined || !TAME_FUNCTIONS.has(name))
    return name !== undefined && JSONATA_FUNCTIONS.has(name) ? `$${name}` : 'a call of a computed function';
  if (!SEARCH_FUNCTIONS.has(name)) return undefined;
  const needle = nodeList(node, 'arguments').at(-1);
  const isShortLiteral = needle?.type === 'string' && String(needle.value).length <= MAX_NEEDLE;
  return isShortLiteral ? undefined : `$${name} with a computed needle`;
}

function reasonForUnary(node: SyntaxNode): string | undefined {
  if (node.value === '-') return undefined;
  if (node.value === '[' && childrenOf(node).every((item) => LITERALS.has(item.type))) return undefined;
  return node.value === '[' ? 'an array that it builds' : 'an object that it builds';
}

/** A forbidden use and its place in the expression. The reason completes "the expression …". */
type UnsafeUse = { reason: string; hint: string; offset: number; length: number };

/** Functions that JSONata itself looks up by name. No parameter may have such a name; other names are free. */
const CALLED_BY_JSONATA: ReadonlySet<string> = new Set(['clone']);
const FUNCTION_TYPES: ReadonlySet<string> = new Set(['lambda', 'partial', 'transform', 'regex']);

/**
 * Finds where an expression binds the name of one of JSONata's functions, and where a transform would change a function
 * (`$f ~> |$|{…}|`). Both lead into the evaluator. Uses that the syntax does not show are stopped during evaluation.
 */
function findUnsafeUses(nodes: readonly SyntaxNode[]): UnsafeUse[] {
  return nodes.flatMap((node) => [...rebindings(node), ...functionTransforms(node)]);
}

function rebindings(node: SyntaxNode): UnsafeUse[] {
  const target = node.type === 'bind' ? nodeAt(node, 'lhs') : undefined;
  const bound = [
    ...(target === undefined ? [] : [{ name: target.value, at: target }]),
    ...[node.focus, node.index].map((name) => ({ name, at: node })),
    ...(node.type === 'index' ? [{ name: node.value, at: node }] : []),
  ].filter(({ name }) => typeof name === 'string' && JSONATA_FUNCTIONS.has(name));
  const parameters = node.type === 'lambda' ? nodeList(node, 'arguments') : [];
  const taken = parameters.filter(({ value }) => typeof value === 'string' && CALLED_BY_JSONATA.has(value));
  return [...bound, ...taken.map((at) => ({ name: at.value, at }))].map(({ name, at }) => ({
    reason: `gives $${String(name)} another value, which is a function of JSONata`,
    hint: 'choose another name',
    offset: offsetOf(at),
    length: String(name).length + 1,
  }));
}

function functionTransforms(node: SyntaxNode): UnsafeUse[] {
  const target = node.type === 'transform' ? nodeAt(node, 'pattern') : transformed(node);
  if (target === undefined || !givesFunction(target)) return [];
  const length = (variableName(target)?.length ?? 0) + 1;
  return [{ reason: 'transforms a function', hint: 'transform an object', offset: offsetOf(target), length }];
}

/** The left side of `… ~> |…|…|`. */
function transformed(node: SyntaxNode): SyntaxNode | undefined {
  return node.type === 'apply' && nodeAt(node, 'rhs')?.type === 'transform' ? nodeAt(node, 'lhs') : undefined;
}

function givesFunction(node: SyntaxNode): boolean {
  if (FUNCTION_TYPES.has(node.type)) return true;
  const name = variableName(node);
  if (name !== undefined) return JSONATA_FUNCTIONS.has(name) || STEP_FUNCTIONS.has(name);
  const last = nodeList(node, 'steps').at(-1) ?? nodeList(node, 'expressions').at(-1);
  return last !== undefined && givesFunction(last);
}

/** The longest expression taken, in UTF-16 units. */
export const MAX_EXPRESSION = 65_536;

/** JSONata copies the left side of `?:` and `??` when it parses, so that nesting them doubles the tree each time. */
const MAX_DEFAULTS = 12;

/** Nesting of evaluations; a call of a function takes four or five. */
const MAX_NESTING = 5000;
/** The longest list that an expression may come to on its way. */
const MAX_SEQUENCE = 1_000_000;

/** An expression that can be evaluated, and the time box of its evaluation. */
type LoadedExpression = { expression: jsonata.Expression; box: { hasWallMs: () => number } };

/** Expressions that were used last: a replay evaluates the same ones for each step, and parsing takes as long. */
const idle = new Map<string, LoadedExpression>();
const MAX_IDLE = 100;
const MAX_IDLE_LENGTH = 4096;

/**
 * Takes an expression that {@link keepLoaded} kept, or loads it. An evaluation that begins before this one has ended loads its
 * own.
 */
export async function takeLoaded(source: string): Promise<LoadedExpression> {
  const known = idle.get(source);
  idle.delete(source);
  if (known !== undefined) return known;
  const box = { hasWallMs: () => 0 };
  const limits = {
    // JSONata looks at it anew each time, and compares it with wall time.
    get timeout(): number {
      return box.hasWallMs();
    },
    stack: MAX_NESTING,
    sequence: MAX_SEQUENCE,
  };
  return { expression: await loadExpression(source, Object.freeze(limits)), box };
}

export function keepLoaded(source: string, loaded: LoadedExpression): void {
  if (idle.size >= MAX_IDLE) idle.clear();
  if (source.length <= MAX_IDLE_LENGTH) idle.set(source, loaded);
}

/** Makes an expression that can be evaluated, with JSONata's guard rails set to `options`. */
export async function loadExpression(source: string, options: jsonata.JsonataOptions): Promise<jsonata.Expression> {
  if (source.length > MAX_EXPRESSION)
    throw new ExpressionSyntaxError(source, `it is longer than ${MAX_EXPRESSION} characters`);
  if (countDefaults(source) > MAX_DEFAULTS) {
    throw new ExpressionSyntaxError(source, `it uses ?: and ?? more than ${MAX_DEFAULTS} times`);
  }
  const { default: compile } = await import('jsonata');
  try {
    return compile(source, options);
  } catch (error) {
    throw syntaxError(source, error);
  }
}

function syntaxError(source: string, error: unknown): ExpressionSyntaxError {
  if (error instanceof RangeError) return new ExpressionSyntaxError(source, 'it is nested too deeply');
  const { message, position, token } = readJsonataError(error);
  const tokenLength = typeof token === 'string' && token !== '(end)' ? token.length : 0;
  const offset = position === undefined ? undefined : Math.max(0, position - tokenLength);
  return new ExpressionSyntaxError(source, message, offset);
}

/** The tokens of JSONata 2, in its lexer's order; a slash that is neither comment nor division begins a pattern. */
const TOKEN = new RegExp(
  [
    String.raw`(?<blank>[ \t\n\r\v]+|/\*[^]*?\*/)`,
    String.raw`(?<default>\?[?:])`,
    String.raw`(?<operand>\*\*|[\])}]|"(?:\\[^]|[^"\\])*"|'(?:\\[^]|[^'\\])*'|\x60[^\x60]*\x60|(?:0|[1-9]\d*)(?:\.\d+)?(?:[Ee][-+]?\d+)?|[^ \t\n\r\v.[\](){},@#;:?+\-*/%|=<>^&!~]+)`,
    '[^]',
  ].join('|'),
  'uy',
);

/** Tokens that are operators behind an operand, and elsewhere a wildcard, the parent, a field of that name, or a pattern. */
const DOUBLE_MEANING: ReadonlySet<string> = new Set(['*', '%', 'and', 'or', 'in', '/']);

/**
 * Counts the operators `?:` and `??` of an expression. JSONata has not parsed it yet, because parsing them is what takes
 * long. Strings, names in backticks, comments and patterns (`/(?:a|b)/`) do not count.
 *
 * If only a parser can tell whether a slash is a division or begins a pattern, everything after it counts: the result may be
 * too large, but never too small. Text after a syntax error does not count, because JSONata's parser stops there.
 */
function countDefaults(source: string): number {
  let count = 0;
  let isAfterOperand = false;
  /** After `) <`, where a function's signature may begin: JSONata reads over its tokens. */
  let mayBeSignature = false;
  let before = '';
  for (TOKEN.lastIndex = 0; TOKEN.lastIndex < source.length;) {
    const at = TOKEN.lastIndex;
    const { groups, 0: token = '' } = TOKEN.exec(source) ?? {};
    if (groups === undefined) return count;
    if (groups['blank'] !== undefined) continue;
    if (groups['default'] !== undefined) count += 1;
    if (token === '/' && source[at + 1] === '*') return count;
    if (token === '/' && isAfterOperand) {
      if (mayBeSignature || /[\])}]/u.test(before)) return count + source.slice(at).split(/\?[?:]/u).length - 1;
    } else if (token === '/') {
      TOKEN.lastIndex = endOfPattern(source, TOKEN.lastIndex);
    }
    if (token === '<' && before === ')') mayBeSignature = true;
    if (token === '{') mayBeSignature = false;
    isAfterOperand = DOUBLE_MEANING.has(token) ? !isAfterOperand : groups['operand'] !== undefined;
    before = token;
  }
  return count;
}

/** Finds the end of a pattern as JSONata's lexer does: the first slash that is neither escaped nor in brackets. */
function endOfPattern(source: string, start: number): number {
  let depth = 0;
  let backslashes = 0;
  for (let at = start; at < source.length; at += 1) {
    const character = source.charAt(at);
    if (character === '/' && depth === 0 && backslashes % 2 === 0) return at + 1;
    if ('([{'.includes(character) && backslashes === 0) depth += 1;
    if (')]}'.includes(character) && backslashes === 0) depth -= 1;
    backslashes = character === '\\' ? backslashes + 1 : 0;
  }
  return source.length;
}
