import { reasonForChild } from './confinement.ts';
import { ExpressionSyntaxError } from '../expression-errors.ts';
import { findUnsafeUses, type UnsafeUse } from './find-unsafe-uses.ts';
import { REFUSED_FUNCTIONS } from './function-names.ts';
import { keepLoaded, takeLoaded } from './load-expression.ts';
import { plainComparison, seenByComparison } from './plain-comparison.ts';
import { NOTHING_SEEN, stepsSeen, withoutRoles, type StepsSeen } from './steps-seen.ts';
import { isSyntaxNode, nodesOf, offsetOf, variableName, type SyntaxNode, type VariableUse } from './syntax-tree.ts';
import { inPlaceOf } from '../../or-else.ts';

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

/** Analyses how an expression has to be evaluated. */
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

/**
 * Parses an expression.
 * @throws {ExpressionSyntaxError} as `compileExpression`
 */
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
