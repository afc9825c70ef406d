import { type CompiledExpression, lookThrough, parseExpression, variableUses } from './compile-expression.ts';
import {
  childrenOf,
  COMPARISONS,
  filtersOf,
  JSONATA_FUNCTIONS,
  nodeAt,
  nodeList,
  nodesOf,
  offsetOf,
  STEP_FUNCTIONS,
  type SyntaxNode,
  variableName,
  type VariableUse,
} from './syntax-tree.ts';

/** A role that an expression names as a literal: `$last('coder')`. */
export type RoleUse = { functionName: string; role: string; offset: number };

export type InspectedExpression = CompiledExpression & {
  /** Variables that are neither JSONata's own nor bound by the expression; the caller has to bind them. */
  readonly free: readonly VariableUse[];
  readonly roles: readonly RoleUse[];
  readonly listComparisons: readonly ListComparison[];
  /** Names without `$` that are looked up in the input document. */
  readonly bareNames: readonly VariableUse[];
};

/** Analyses an expression for all that can be known without evaluating it. */
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
function findListComparisons(root: SyntaxNode): ListComparison[] {
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

/** What an expression can give, beside nothing. */
type Results = ReadonlySet<string | boolean>;

const TRUTHS: Results = new Set([true, false]);
const TRUTH_OPERATORS: ReadonlySet<unknown> = new Set([...COMPARISONS, 'and', 'or', 'in']);
const TRUTH_FUNCTIONS: ReadonlySet<string | undefined> = new Set(['boolean', 'not', 'exists', 'contains']);

/**
 * Lists the texts and truth values that an expression can give, as far as its form tells: a comparison gives true or false, a
 * condition what its branches give, a literal itself. `undefined` if it may give others.
 */
export async function literalResults(source: string): Promise<Results | undefined> {
  return resultsOf(await parseExpression(source));
}

function resultsOf(node: SyntaxNode | undefined): Results | undefined {
  if (node === undefined) return new Set();
  // These make a list or an object of the result.
  if (node['keepArray'] === true || node['group'] !== undefined) return undefined;
  const { type, value } = node;
  if (type === 'string' || type === 'value') {
    if (value === null) return new Set();
    return typeof value === 'string' || typeof value === 'boolean' ? new Set([value]) : undefined;
  }
  if (type === 'binary') return TRUTH_OPERATORS.has(value) ? TRUTHS : undefined;
  if (type === 'function' || type === 'apply') {
    const procedure = nodeAt(node, type === 'apply' ? 'rhs' : 'procedure');
    return TRUTH_FUNCTIONS.has(procedure && variableName(procedure)) ? TRUTHS : undefined;
  }
  if (type === 'block') return resultsOf(nodeList(node, 'expressions').at(-1));
  if (type !== 'condition') return undefined;
  const [first, second] = [resultsOf(nodeAt(node, 'then')), resultsOf(nodeAt(node, 'else'))];
  return first && second && new Set([...first, ...second]);
}
