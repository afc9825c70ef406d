import { lookThrough, parseExpression, variableUses, type CompiledExpression } from './compile-expression.ts';
import { JSONATA_FUNCTIONS, STEP_FUNCTIONS } from './function-names.ts';
import { findListComparisons, type ListComparison } from './list-comparison.ts';
import {
  childrenOf,
  nodeAt,
  nodeList,
  nodesOf,
  offsetOf,
  variableName,
  type SyntaxNode,
  type VariableUse,
} from './syntax-tree.ts';

/** A role that an expression names as a literal: `$last('coder')`. */
export type RoleUse = { functionName: string; role: string; offset: number };

/** A compiled expression with further properties, for the checks of workflows and for replays. */
export type InspectedExpression = CompiledExpression & {
  /** Variables that are neither JSONata's own nor bound by the expression; the caller has to bind them. */
  readonly free: readonly VariableUse[];
  readonly roles: readonly RoleUse[];
  readonly listComparisons: readonly ListComparison[];
  /** Names without `$` that are looked up in the input document. */
  readonly bareNames: readonly VariableUse[];
};

/**
 * Analyses an expression for all that can be known without evaluating it.
 * @throws {ExpressionSyntaxError} as `compileExpression`
 */
export async function inspectExpression(source: string): Promise<InspectedExpression> {
  const tree = await parseExpression(source);
  const nodes = [...nodesOf(tree)];
  const bound = new Set(nodes.flatMap(namesBoundBy));
  return {
    ...lookThrough(source, tree),
    free: variableUses(nodes).filter((use) => !bound.has(use.name) && !JSONATA_FUNCTIONS.has(use.name)),
    roles: nodes.flatMap(roleUse),
    listComparisons: findListComparisons(tree),
    bareNames: findBareNames(tree),
  };
}

/** The free variables that are not in `known` (such as `RULE_NAMES`). Each is a mistake, because it never has a value. */
export function unknownVariables({ free }: InspectedExpression, known: readonly string[]): VariableUse[] {
  return free.filter((use) => !known.includes(use.name));
}

// Scopes are not distinguished: a name that is bound anywhere in the expression counts as bound everywhere in it.
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

/** Nodes below which names are looked up in something else than the input document. */
const OTHER_CONTEXTS: ReadonlySet<string> = new Set(['lambda', 'transform', 'partial']);

/**
 * Finds names without `$` that are looked up in the input document: `score` in `score > 7`. After a `.`, in `[…]` and in
 * functions that the expression defines, names are fields of another context.
 */
function findBareNames(root: SyntaxNode): VariableUse[] {
  const found: VariableUse[] = [];
  const waiting = [root];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (node.type === 'name' && typeof node.value === 'string')
      found.push({ name: node.value, offset: offsetOf(node) });
    else waiting.push(...childrenInContext(node).toReversed());
  }
  return found;
}

/** The nodes right below one that are evaluated in the same context. */
function childrenInContext(node: SyntaxNode): SyntaxNode[] {
  if (OTHER_CONTEXTS.has(node.type)) return [];
  if (node.type === 'path') return nodeList(node, 'steps').slice(0, 1);
  const filters = new Set([...nodeList(node, 'predicate'), ...nodeList(node, 'stages'), nodeAt(node, 'group')]);
  return childrenOf(node).filter((child) => !filters.has(child));
}
