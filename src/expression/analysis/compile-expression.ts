import { reasonForChild } from './confinement.ts';
import { ExpressionSyntaxError } from '../expression-errors.ts';
import { findUnsafeUses, type UnsafeUse } from './find-unsafe-uses.ts';
import { REFUSED_FUNCTIONS } from './function-names.ts';
import { keepLoaded, takeLoaded } from './load-expression.ts';
import { plainComparison, seenByComparison } from './plain-comparison.ts';
import { NOTHING_SEEN, stepsSeen, withoutRoles, type StepsSeen } from './steps-seen.ts';
import { isSyntaxNode, nodesOf, offsetOf, variableName, type SyntaxNode, type VariableUse } from './syntax-tree.ts';
import { inPlaceOf } from '../../or-else.ts';

/** An expression that is JSONata, and what evaluating it depends on. Plain data. */
export type CompiledExpression = {
  readonly source: string;
  /** Uses of functions that a replay forbids, under whatever alias they are passed on. */
  readonly refused: readonly VariableUse[];
  /** Uses that lead into JSONata itself; they are always refused. */
  readonly unsafe: readonly UnsafeUse[];
  /** Whether it has a transform, which may change what it was given. */
  readonly mayChange: boolean;
  /** Why only a process that can be killed may evaluate it; `undefined` when any may. */
  readonly reasonForChild: string | undefined;
  readonly stepsSeen: StepsSeen;
};

/** What was found out of the expressions that were asked for last: a rule is tried once for each step. */
const known = new Map<string, CompiledExpression>();
let knownLength = 0;
/** Characters of all that are kept: those of a workflow with 10,000 rules, which would else be parsed again in each step. */
const MAX_KEPT = 524_288;
/** What is known of an expression takes room too. */
const ENTRY_LENGTH = 20;
const MAX_CACHED_LENGTH = 4096;

/**
 * Parses an expression and looks through it, once. Evaluates nothing, and loads JSONata at the first call.
 *
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

/** Finds out what evaluating an expression depends on. */
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
 * What an expression can see of the steps when it is evaluated. A syntax error sees nothing: its evaluation always fails.
 */
export async function seenByExpression(source: string): Promise<StepsSeen> {
  const comparison = plainComparison(source);
  if (comparison !== undefined) return seenByComparison(comparison);
  const compiled = await compileExpression(source).catch(inPlaceOf(ExpressionSyntaxError, undefined));
  if (compiled === undefined) return NOTHING_SEEN;
  // The child is told what has changed since the last evaluation, so the steps have to keep their order.
  return compiled.reasonForChild === undefined ? compiled.stepsSeen : withoutRoles(compiled.stepsSeen);
}

/** The variables that an expression names, its functions among them. */
export function variableUses(nodes: readonly SyntaxNode[]): VariableUse[] {
  return nodes.flatMap((node) => {
    const name = variableName(node);
    return name === undefined ? [] : [{ name, offset: offsetOf(node) }];
  });
}

/**
 * Parses an expression.
 * @throws {ExpressionSyntaxError} as `compileExpression`
 */
export async function parseExpression(source: string): Promise<SyntaxNode> {
  const loaded = await takeLoaded(source);
  const tree: unknown = loaded.expression.ast();
  if (!isSyntaxNode(tree)) throw new ExpressionSyntaxError(source, 'it is empty');
  for (const node of nodesOf(tree)) {
    // JSONata copies the left side of ?: through JSON, which makes an object of a pattern; it would match nothing, silently.
    if (node.type === 'regex' && !(node.value instanceof RegExp)) {
      const reason = 'a regular expression on the left of ?: is lost; bind it to a variable';
      throw new ExpressionSyntaxError(source, reason, offsetOf(node));
    }
  }
  // A rule is evaluated next, and parsing takes as long.
  keepLoaded(source, loaded);
  return tree;
}
