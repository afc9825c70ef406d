import { JSONATA_FUNCTIONS, LITERALS, PLAIN_OPERATORS, STEP_FUNCTIONS } from './function-names.ts';
import type { SyntaxNode } from './syntax-tree.ts';
import { childrenOf, nodeAt, nodeList, nodesOf, variableName } from './syntax-tree.ts';

/**
 * Functions whose call takes time linear in an argument and returns a result no larger than it.
 *
 * Not in the list: functions that make new large values ($uppercase, $split, $reverse, $append), that are quadratic ($sort,
 * $distinct), that run patterns, or that build strings without a bound ($string, $join, $replace, $pad).
 */
const TAME_FUNCTIONS: ReadonlySet<string> = new Set([
  ...`count sum max min average number floor ceil round abs sqrt power boolean not exists type keys lookup length substring
      error assert map filter single sift each contains substringBefore substringAfter`.split(/\s+/),
  ...STEP_FUNCTIONS,
]);

/** Allowed only with a short literal to look for: a search for a long needle in a crafted text takes minutes. */
const SEARCH_FUNCTIONS: ReadonlySet<string> = new Set(['contains', 'substringBefore', 'substringAfter']);
const MAX_NEEDLE = 256;

const TAME_TYPES: ReadonlySet<string> = new Set([
  ...LITERALS,
  ...'path name variable wildcard condition block filter sort bind'.split(' '),
]);

/**
 * Returns why an expression must be evaluated in a process that can be killed; `undefined` if it may be evaluated here.
 *
 * JSONata checks its limits (time, depth, length of a sequence) between two nodes, never inside a function or an operator. This
 * process therefore evaluates only what does little between two nodes: no recursion, no builder that multiplies, no pattern.
 * The lists name what is allowed, so a function that JSONata adds later is not.
 */
export function reasonForChild(root: SyntaxNode): string | undefined {
  const tameLambdas = new Set<SyntaxNode>();
  for (const node of nodesOf(root)) {
    if (node.type === 'function')
      nodeList(node, 'arguments').forEach((argument) => argument.type === 'lambda' && tameLambdas.add(argument));
    const reason = reasonForShape(node) ?? reasonForNode(node, tameLambdas);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

// Grouping builds objects; a tuple stream (@, #, %) multiplies lists between two looks at the clock.
function reasonForShape(node: SyntaxNode): string | undefined {
  if (node.group !== undefined) return 'grouping';
  return node.tuple === true ? 'a join' : undefined;
}

function reasonForNode(node: SyntaxNode, tameLambdas: ReadonlySet<SyntaxNode>): string | undefined {
  switch (node.type) {
    case 'variable':
      return reasonForVariable(node);
    case 'function':
      return reasonForCall(node);
    case 'lambda':
      // JSONata turns a signature into a regular expression and matches it with the arguments of every call.
      if (node.signature !== undefined) return 'a function with a signature';
      return tameLambdas.has(node) || node.thunk === true ? undefined : 'a function of its own';
    case 'binary':
      return PLAIN_OPERATORS.has(node.value) ? undefined : `the operator ${String(node.value)}`;
    case 'unary':
      return reasonForUnary(node);
    default:
      if (TAME_TYPES.has(node.type)) return undefined;
      return node.type === 'regex' ? 'a regular expression' : `a '${node.type}' node`;
  }
}

function reasonForVariable(node: SyntaxNode): string | undefined {
  const name = variableName(node);
  return name === undefined || !JSONATA_FUNCTIONS.has(name) || TAME_FUNCTIONS.has(name) ? undefined : `$${name}`;
}

// A call of anything but a known function, a local one above all, is how recursion begins.
function reasonForCall(node: SyntaxNode): string | undefined {
  const procedure = nodeAt(node, 'procedure');
  const name = procedure && variableName(procedure);
  if (name === undefined || !TAME_FUNCTIONS.has(name))
    return name !== undefined && JSONATA_FUNCTIONS.has(name) ? `$${name}` : 'a call of a computed function';
  if (!SEARCH_FUNCTIONS.has(name)) return undefined;
  const needle = nodeList(node, 'arguments').at(-1);
  const isShortLiteral = needle?.type === 'string' && String(needle.value).length <= MAX_NEEDLE;
  return isShortLiteral ? undefined : `$${name} with a computed needle`;
}

function reasonForUnary(node: SyntaxNode): string | undefined {
  if (node.value === '-') return undefined;
  if (node.value === '[' && childrenOf(node).every((item) => LITERALS.has(item.type))) return undefined;
  return node.value === '[' ? 'an array that it builds' : 'an object that it builds';
}
