import { JSONATA_FUNCTIONS, STEP_FUNCTIONS } from './function-names.ts';
import type { SyntaxNode } from './syntax-tree.ts';
import { nodeAt, nodeList, offsetOf, variableName } from './syntax-tree.ts';

/** A forbidden use and its place in the expression. The reason completes "the expression …". */
export type UnsafeUse = { reason: string; hint: string; offset: number; length: number };

/** Functions that JSONata itself looks up by name. No parameter may have such a name; other names are free. */
const CALLED_BY_JSONATA: ReadonlySet<string> = new Set(['clone']);
const FUNCTION_TYPES: ReadonlySet<string> = new Set(['lambda', 'partial', 'transform', 'regex']);

/**
 * Finds where an expression binds the name of one of JSONata's functions, and where a transform would change a function
 * (`$f ~> |$|{…}|`). Both lead into the evaluator. Uses that the syntax does not show are stopped during evaluation.
 */
export function findUnsafeUses(nodes: readonly SyntaxNode[]): UnsafeUse[] {
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
