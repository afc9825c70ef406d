import type jsonata from 'jsonata';

import { reasonForChild } from './confinement.ts';
import { ExpressionSyntaxError } from './expression-errors.ts';
import { countDefaults } from './count-defaults.ts';
import { findBareNames } from './find-bare-names.ts';
import type { UnsafeUse } from './find-unsafe-uses.ts';
import { findUnsafeUses } from './find-unsafe-uses.ts';
import { JSONATA_FUNCTIONS, REFUSED_FUNCTIONS, STEP_FUNCTIONS } from './function-names.ts';
import type { ListComparison } from './list-comparison.ts';
import { findListComparisons } from './list-comparison.ts';
import type { StepsSeen } from './steps-seen.ts';
import { stepsSeen } from './steps-seen.ts';
import type { SyntaxNode, VariableUse } from './syntax-tree.ts';
import { isSyntaxNode, nodeAt, nodeList, nodesOf, offsetOf, variableName } from './syntax-tree.ts';

/** A role that an expression names as a literal: `$last('coder')`. */
export type RoleUse = { functionName: string; role: string; offset: number };

/** An expression that is JSONata, and what can be said of it without evaluating it. Plain data. */
export type CompiledExpression = {
  readonly source: string;
  /** Uses of functions that a replay forbids, under whatever alias they are passed on. */
  readonly refused: readonly VariableUse[];
  /** What would lead into JSONata itself, whoever asks for it. */
  readonly unsafe: readonly UnsafeUse[];
  /** Whether it has a transform, which may change what it was given. */
  readonly mayChange: boolean;
  /** Variables that are neither JSONata's own nor bound by the expression itself; somebody has to bind them. */
  readonly free: readonly VariableUse[];
  readonly roles: readonly RoleUse[];
  readonly listComparisons: readonly ListComparison[];
  /** Names without `$` that are looked up in the input document. */
  readonly bareNames: readonly VariableUse[];
  /** Why only a process that can be killed may evaluate it; `undefined` when any may. */
  readonly reasonForChild: string | undefined;
  readonly stepsSeen: StepsSeen;
};

/** The longest expression taken, in UTF-16 units. */
export const LONGEST_EXPRESSION = 65_536;

/** JSONata copies the left side of `?:` and `??` when it parses, so that nesting them doubles the tree each time. */
const MOST_DEFAULTS = 12;

/** What was found out of the expressions that were asked for last: a rule is tried once for each step. */
const known = new Map<string, CompiledExpression>();
const MOST_KNOWN = 100;
const LONGEST_KNOWN = 4096;

/**
 * Parses an expression and looks through it, once. Evaluates nothing, and loads JSONata at the first call.
 *
 * @throws {ExpressionSyntaxError} when it is not JSONata, or is longer or more deeply nested than the parser can take
 */
export async function compileExpression(source: string): Promise<CompiledExpression> {
  const found = known.get(source);
  if (found !== undefined) return found;
  const compiled = await lookThrough(source);
  if (known.size >= MOST_KNOWN) known.clear();
  if (source.length <= LONGEST_KNOWN) known.set(source, compiled);
  return compiled;
}

async function lookThrough(source: string): Promise<CompiledExpression> {
  const tree = await parse(source);
  const nodes = [...nodesOf(tree)];
  const bound = new Set(nodes.flatMap(namesBoundBy));
  const uses = nodes.flatMap((node) => {
    const name = variableName(node);
    return name === undefined ? [] : [{ name, offset: offsetOf(node) }];
  });
  return {
    source,
    refused: uses.filter((use) => REFUSED_FUNCTIONS.has(use.name)),
    unsafe: findUnsafeUses(nodes),
    mayChange: nodes.some(({ type }) => type === 'transform'),
    free: uses.filter((use) => !bound.has(use.name) && !JSONATA_FUNCTIONS.has(use.name)),
    roles: nodes.flatMap(roleUse),
    listComparisons: findListComparisons(tree),
    bareNames: findBareNames(tree),
    reasonForChild: reasonForChild(tree),
    stepsSeen: stepsSeen(tree),
  };
}

/** The free variables that are not in `known`, for instance `RULE_NAMES`: each is a mistake, JSONata would see nothing there. */
export function unknownVariables(expression: CompiledExpression, known: readonly string[]): VariableUse[] {
  return expression.free.filter((use) => !known.includes(use.name));
}

/**
 * Makes an expression that can be evaluated, with JSONata's guard rails set to `options`.
 * @throws {ExpressionSyntaxError} when it is not JSONata
 */
export async function loadExpression(source: string, options: jsonata.JsonataOptions): Promise<jsonata.Expression> {
  if (source.length > LONGEST_EXPRESSION)
    throw new ExpressionSyntaxError(source, `it is longer than ${LONGEST_EXPRESSION} characters`);
  if (countDefaults(source) > MOST_DEFAULTS) {
    throw new ExpressionSyntaxError(source, `it uses ?: and ?? more than ${MOST_DEFAULTS} times`);
  }
  const { default: compile } = await import('jsonata');
  try {
    return compile(source, options);
  } catch (error) {
    throw syntaxError(source, error);
  }
}

async function parse(source: string): Promise<SyntaxNode> {
  const tree: unknown = (await loadExpression(source, {})).ast();
  if (!isSyntaxNode(tree)) throw new ExpressionSyntaxError(source, 'it is empty');
  for (const node of nodesOf(tree)) {
    // JSONata copies the left side of ?: through JSON, which makes an object of a pattern; it would match nothing, silently.
    if (node.type === 'regex' && !(node.value instanceof RegExp)) {
      throw new ExpressionSyntaxError(
        source,
        'a regular expression on the left of ?: is lost; bind it to a variable',
        offsetOf(node),
      );
    }
  }
  return tree;
}

function syntaxError(source: string, error: unknown): ExpressionSyntaxError {
  if (error instanceof RangeError) return new ExpressionSyntaxError(source, 'it is nested too deeply');
  // JSONata throws plain objects; which fields they have differs from error to error.
  const { message, position, token } = error as { message?: string; position?: number; token?: unknown };
  const tokenLength = typeof token === 'string' && token !== '(end)' ? token.length : 0;
  const offset = position === undefined ? undefined : Math.max(0, position - tokenLength);
  return new ExpressionSyntaxError(source, message ?? String(error), offset);
}

// Scopes are not told apart: a name bound anywhere in the expression counts as bound everywhere in it.
function namesBoundBy(node: SyntaxNode): string[] {
  const names: unknown[] = [node.focus, node.index];
  if (node.type === 'bind') names.push(nodeAt(node, 'lhs')?.value);
  if (node.type === 'index') names.push(node.value);
  if (node.type === 'lambda') names.push(...nodeList(node, 'arguments').map((parameter) => parameter.value));
  return names.filter((name) => typeof name === 'string');
}

function roleUse(node: SyntaxNode): RoleUse[] {
  const procedure = node.type === 'function' ? nodeAt(node, 'procedure') : undefined;
  const functionName = procedure && variableName(procedure);
  const argument = nodeList(node, 'arguments')[0];
  if (procedure === undefined || functionName === undefined || !STEP_FUNCTIONS.has(functionName)) return [];
  if (argument?.type !== 'string' || typeof argument.value !== 'string') return [];
  return [{ functionName, role: argument.value, offset: offsetOf(procedure) }];
}
