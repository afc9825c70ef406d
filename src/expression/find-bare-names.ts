import type { SyntaxNode, VariableUse } from './syntax-tree.ts';
import { childrenOf, nodeAt, nodeList, offsetOf } from './syntax-tree.ts';

/** Nodes below which names are looked up in something else than the input document. */
const OTHER_CONTEXTS: ReadonlySet<string> = new Set(['lambda', 'transform', 'partial']);

/**
 * Finds names without `$` that are looked up in the input document: `score` of `score > 7`. Behind a `.`, inside of `[…]` and
 * in functions of its own an expression has another context, and names there are fields of that.
 */
export function findBareNames(root: SyntaxNode): VariableUse[] {
  if (OTHER_CONTEXTS.has(root.type)) return [];
  if (root.type === 'name' && typeof root.value === 'string') return [{ name: root.value, offset: offsetOf(root) }];
  if (root.type === 'path') {
    const [first] = nodeList(root, 'steps');
    return first === undefined ? [] : findBareNames(first);
  }
  // A function that is called by a plain name, and what is passed to it.
  if (root.type === 'function') {
    const procedure = nodeAt(root, 'procedure');
    return [...(procedure ? [procedure] : []), ...nodeList(root, 'arguments')].flatMap(findBareNames);
  }
  const filters = new Set([...nodeList(root, 'predicate'), ...nodeList(root, 'stages'), nodeAt(root, 'group')]);
  return childrenOf(root)
    .filter((child) => !filters.has(child))
    .flatMap(findBareNames);
}
