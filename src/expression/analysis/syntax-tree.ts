/**
 * A node of JSONata's syntax tree, as far as uwf looks at it.
 *
 * The tree is JSONata's own and not part of its promise: whatever is not recognised counts as dangerous.
 */
export type SyntaxNode = {
  readonly type: string;
  readonly value?: unknown;
  readonly position?: number;
  readonly [key: string]: unknown;
};

/** A variable where it is named; `name` is without the `$`, `offset` points at the `$`. */
export type VariableUse = { name: string; offset: number };

/** Tells whether a value is a node. Entries of `stages` and `predicate` count as nodes too; slots of `%` do not. */
export function isSyntaxNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

/** In the order in which they are stored, whatever property holds them. */
export function childrenOf(node: SyntaxNode): SyntaxNode[] {
  const children: SyntaxNode[] = [];
  const collect = (value: unknown): void => {
    if (isSyntaxNode(value)) children.push(value);
    else if (Array.isArray(value)) value.forEach(collect);
    else if (typeof value === 'object' && value !== null && !(value instanceof RegExp))
      Object.values(value).forEach(collect);
  };
  for (const [key, value] of Object.entries(node)) {
    // A lambda's signature is a parser object of its own, with types and no expressions.
    if (key !== 'signature') collect(value);
  }
  return children;
}

/** Parents before children. */
export function* nodesOf(root: SyntaxNode): Generator<SyntaxNode> {
  const waiting = [root];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    yield node;
    waiting.push(...childrenOf(node).toReversed());
  }
}

/** The list under `key`, keeping only its nodes; empty where there is none. */
export function nodeList(node: SyntaxNode, key: string): SyntaxNode[] {
  const list = node[key];
  return Array.isArray(list) ? list.filter(isSyntaxNode) : [];
}

export function nodeAt(node: SyntaxNode, key: string): SyntaxNode | undefined {
  const child = node[key];
  return isSyntaxNode(child) ? child : undefined;
}

/** Where a node's token begins. JSONata stores where it ends. */
export function offsetOf(node: SyntaxNode): number {
  const length = typeof node.value === 'string' ? node.value.length + (node.type === 'variable' ? 1 : 0) : 1;
  return Math.max(0, (node.position ?? 0) - length);
}

/** The variable that a node names, without `$`; `undefined` for other nodes and for `$` and `$$`. */
export function variableName(node: SyntaxNode): string | undefined {
  if (node.type !== 'variable' || typeof node.value !== 'string') return undefined;
  return node.value === '' || node.value === '$' ? undefined : node.value;
}

/** The expressions in `[…]` behind a step of a path. */
export function filtersOf(step: SyntaxNode): SyntaxNode[] {
  const filters = [...nodeList(step, 'predicate'), ...nodeList(step, 'stages')];
  return filters.flatMap((filter) => nodeAt(filter, 'expr') ?? []);
}

/** JSONata's functions whose result is not a function of their arguments, and `$eval`, which hides what it names. */
export const REFUSED_FUNCTIONS: ReadonlySet<string> = new Set(['now', 'millis', 'random', 'shuffle', 'eval']);

/** All functions of JSONata 2.2, without `$`. Source: https://docs.jsonata.org, sections "… functions". */
export const JSONATA_FUNCTIONS: ReadonlySet<string> = new Set(
  `string length substring substringBefore substringAfter uppercase lowercase trim pad contains split join match replace eval
  base64encode base64decode encodeUrlComponent encodeUrl decodeUrlComponent decodeUrl number abs floor ceil round power sqrt random
  formatNumber formatBase formatInteger parseInteger sum max min average boolean not exists count append sort reverse shuffle distinct
  zip keys lookup spread merge sift each error assert type now millis fromMillis toMillis map filter single reduce clone`.split(
    /\s+/,
  ),
);

/** The functions over `$steps` that uwf adds wherever `$steps` is bound. */
export const STEP_FUNCTIONS: ReadonlySet<string> = new Set(['first', 'last', 'visits']);

export const COMPARISONS: readonly string[] = ['=', '!=', '<', '<=', '>', '>='];

/** Operators whose result is no larger than what they are given. */
export const PLAIN_OPERATORS: ReadonlySet<unknown> = new Set([...COMPARISONS, ...'+ - * / % and or in'.split(' ')]);

export const LITERALS: ReadonlySet<string> = new Set(['string', 'number', 'value']);

/** What `when` of a rule may name beside JSONata's own functions. */
export const RULE_NAMES: readonly string[] = ['steps', 'start', 'threadId', ...STEP_FUNCTIONS];

/** A variable of rules from a block, and of its `join`: the branches. */
export const BRANCHES = 'branches';

/** What the `join` of a block may name beside JSONata's own functions. */
export const JOIN_NAMES: readonly string[] = [BRANCHES, 'total'];

/** What a role's `check` may name beside JSONata's own functions. */
export const CHECK_NAMES: readonly string[] = ['meta', 'steps', 'start', ...STEP_FUNCTIONS];
