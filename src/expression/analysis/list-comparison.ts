import type { SyntaxNode } from './syntax-tree.ts';
import { COMPARISONS } from './function-names.ts';
import { filtersOf, nodeAt, nodeList, nodesOf, offsetOf, variableName } from './syntax-tree.ts';

/** A comparison of a whole list of values of steps, or of branches, with one value: false as soon as there are two. */
export type ListComparison = {
  list: 'steps' | 'branches';
  /** Where the list begins, in UTF-16 units from 0. */
  offset: number;
  /** What was most likely meant, as JSONata: `$last('checker').ok`. */
  suggestion: string;
};

const COMPARING: ReadonlySet<unknown> = new Set(COMPARISONS);
const CONDITIONS: ReadonlySet<unknown> = new Set([...COMPARISONS, 'and', 'or', 'in']);
const TESTS: ReadonlySet<unknown> = new Set(['not', 'exists', 'contains', 'boolean']);

/**
 * Finds comparisons such as `$steps[role='x'].meta.ok = true`, whose left side is a list.
 *
 * A list that a number narrows to one step (`$steps[-1]`, `$steps[role='x'][0]`) does not count, nor does the argument of a
 * function. An index that may be a number counts as one, so that every report is a real mistake.
 */
export function findListComparisons(root: SyntaxNode): ListComparison[] {
  const found: ListComparison[] = [];
  for (const node of nodesOf(root)) {
    if (node.type !== 'binary' || !COMPARING.has(node.value)) continue;
    for (const side of [nodeAt(node, 'lhs'), nodeAt(node, 'rhs')]) {
      const list = side && listOfSteps(side);
      if (list !== undefined) found.push(list);
    }
  }
  return found;
}

function listOfSteps(side: SyntaxNode): ListComparison | undefined {
  const [first, ...rest] = nodeList(side, 'steps');
  const list = first && variableName(first);
  if (side.type !== 'path' || first === undefined || rest.length === 0) return undefined;
  if (list !== 'steps' && list !== 'branches') return undefined;
  const narrowing = [first, ...rest.filter((step) => step.type === 'sort')].flatMap(filtersOf);
  if (!narrowing.every(isCondition)) return undefined;
  const offset = offsetOf(first);
  if (list === 'steps') return { list, offset, suggestion: suggestionFor(narrowing, rest) };
  // Keys are unique among branches.
  if (narrowing.some((filter) => comparedLiteral(filter, 'key') !== undefined)) return undefined;
  return { list, offset, suggestion: '$count($branches[…])' };
}

function isCondition(filter: SyntaxNode): boolean {
  if (filter.type === 'binary') return CONDITIONS.has(filter.value);
  const procedure = filter.type === 'function' ? nodeAt(filter, 'procedure') : undefined;
  return filter.type === 'path' || (procedure !== undefined && TESTS.has(variableName(procedure)));
}

function suggestionFor(filters: readonly SyntaxNode[], rest: readonly SyntaxNode[]): string {
  const names = rest.map((step) =>
    step.type === 'name' && typeof step.value === 'string' ? quoteName(step.value) : undefined,
  );
  const role = filters.length === 1 && filters[0] !== undefined ? comparedLiteral(filters[0], 'role') : undefined;
  const isOfMeta = names[0] === 'meta' || names[0] === 'output';
  if (role === undefined || !isOfMeta || names.includes(undefined))
    return filters.length === 0 ? '$steps[-1]' : '$steps[…][-1]';
  return [`$last('${role}')`, ...names.slice(1)].join('.');
}

/** The text in `role = 'x'`, whichever way round. */
function comparedLiteral(filter: SyntaxNode, member: string): string | undefined {
  if (filter.type !== 'binary' || filter.value !== '=') return undefined;
  const sides = [nodeAt(filter, 'lhs'), nodeAt(filter, 'rhs')];
  const isOfMember = sides.some(
    (side) =>
      side?.type === 'path' &&
      nodeList(side, 'steps')
        .map((step) => step.value)
        .join('.') === member,
  );
  const literal = sides.find((side) => side?.type === 'string')?.value;
  return isOfMember && typeof literal === 'string' ? literal : undefined;
}

function quoteName(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? name : `\`${name}\``;
}
