import type { SyntaxNode, VariableUse } from './syntax-tree.ts';
import { childrenOf, nodeAt, nodeList, offsetOf } from './syntax-tree.ts';

/** Nodes below which names are looked up in something else than the input document. */
const OTHER_CONTEXTS: ReadonlySet<string> = new Set(['lambda', 'transform', 'partial']);

/**
 * Finds names without `$` that are looked up in the input document: `score` of `score > 7`. Behind a `.`, inside of `[…]` and
 * in functions of its own an expression has another context, and names there are fields of that.
 */
export function findBareNames(root: SyntaxNode): VariableUse[] {
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
