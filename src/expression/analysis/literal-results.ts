import { parseExpression } from './compile-expression.ts';
import { COMPARISONS } from './function-names.ts';
import { nodeAt, nodeList, variableName, type SyntaxNode } from './syntax-tree.ts';

/** What an expression can give, beside nothing. */
type Results = ReadonlySet<string | boolean>;

const TRUTHS: Results = new Set([true, false]);
const TRUTH_OPERATORS: ReadonlySet<unknown> = new Set([...COMPARISONS, 'and', 'or', 'in']);
const TRUTH_FUNCTIONS: ReadonlySet<string | undefined> = new Set(['boolean', 'not', 'exists', 'contains']);

/**
 * Lists the texts and truth values that an expression can give, as far as its form tells: a comparison gives true or false, a
 * condition what its branches give, a literal itself. `undefined` if it may give others.
 * @throws {ExpressionSyntaxError} as `compileExpression`
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
