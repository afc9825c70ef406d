import { JSONATA_FUNCTIONS, STEP_FUNCTIONS } from './function-names.ts';
import type { SyntaxNode } from './syntax-tree.ts';
import { childrenOf, nodeAt, nodeList, nodesOf, variableName } from './syntax-tree.ts';

/**
 * Functions that one call of cannot hold the process: linear in an argument, with a result no larger than it.
 *
 * Left out on purpose, though harmless alone, is what makes new large values ($uppercase, $split, $reverse, $append), what is
 * quadratic ($sort, $distinct), what runs patterns, and what is an unchecked builder of strings ($string, $join, $replace, $pad).
 */
const TAME_FUNCTIONS: ReadonlySet<string> = new Set([
  ...`count sum max min average number floor ceil round abs sqrt power boolean not exists type keys lookup length substring
      error assert map filter single sift each contains substringBefore substringAfter`.split(/\s+/),
  ...STEP_FUNCTIONS,
]);

/** Tame only with a short literal to look for: a crafted text and a long needle search for minutes. */
const SEARCH_FUNCTIONS: ReadonlySet<string> = new Set(['contains', 'substringBefore', 'substringAfter']);
const LONGEST_NEEDLE = 256;

const TAME_OPERATORS: ReadonlySet<unknown> = new Set([
  '=',
  '!=',
  '<',
  '<=',
  '>',
  '>=',
  '+',
  '-',
  '*',
  '/',
  '%',
  'and',
  'or',
  'in',
]);

const LITERALS: ReadonlySet<string> = new Set(['string', 'number', 'value']);

const TAME_TYPES: ReadonlySet<string> = new Set([
  ...LITERALS,
  'path',
  'name',
  'variable',
  'wildcard',
  'condition',
  'block',
  'filter',
  'sort',
  'bind',
]);

/**
 * Says why an expression has to be evaluated in a process that can be killed, or `undefined` when it need not.
 *
 * JSONata's guard rails (time, depth, length of a sequence) are asked between two nodes, never inside a function or an operator. What is
 * left to this process is therefore only what provably does little between two nodes: no recursion, no builder that multiplies,
 * no pattern. The list says what is allowed, so that what JSONata adds one day is not.
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
      // JSONata makes a regular expression of it, and holds that against the arguments of every call.
      if (node.signature !== undefined) return 'a function with a signature';
      return tameLambdas.has(node) || node.thunk === true ? undefined : 'a function of its own';
    case 'binary':
      return TAME_OPERATORS.has(node.value) ? undefined : `the operator ${String(node.value)}`;
    case 'unary':
      return reasonForUnary(node);
    default:
      return TAME_TYPES.has(node.type)
        ? undefined
        : node.type === 'regex'
          ? 'a regular expression'
          : `a '${node.type}' node`;
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
  const isShortLiteral = needle?.type === 'string' && String(needle.value).length <= LONGEST_NEEDLE;
  return isShortLiteral ? undefined : `$${name} with a computed needle`;
}

function reasonForUnary(node: SyntaxNode): string | undefined {
  if (node.value === '-') return undefined;
  if (node.value === '[' && childrenOf(node).every((item) => LITERALS.has(item.type))) return undefined;
  return node.value === '[' ? 'an array that it builds' : 'an object that it builds';
}
