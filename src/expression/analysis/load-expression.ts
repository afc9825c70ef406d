import type jsonata from 'jsonata';
import { ExpressionSyntaxError, readJsonataError } from '../expression-errors.ts';

/** The longest expression taken, in UTF-16 units. */
export const MAX_EXPRESSION = 65_536;

/** JSONata copies the left side of `?:` and `??` when it parses, so that nesting them doubles the tree each time. */
const MAX_DEFAULTS = 12;

/** Nesting of evaluations; a call of a function takes four or five. */
const MAX_NESTING = 5000;
/** The longest list that an expression may come to on its way. */
const MAX_SEQUENCE = 1_000_000;

/** An expression that can be evaluated, and the time box of its evaluation. */
type LoadedExpression = { expression: jsonata.Expression; box: { hasWallMs: () => number } };

/** Expressions that were used last: a replay evaluates the same ones for each step, and parsing takes as long. */
const idle = new Map<string, LoadedExpression>();
const MAX_IDLE = 100;
const MAX_IDLE_LENGTH = 4096;

/**
 * Takes an expression that {@link keepLoaded} kept, or loads it. An evaluation that begins before this one has ended loads its
 * own.
 * @throws {ExpressionSyntaxError} as `loadExpression`
 */
export async function takeLoaded(source: string): Promise<LoadedExpression> {
  const known = idle.get(source);
  idle.delete(source);
  if (known !== undefined) return known;
  const box = { hasWallMs: () => 0 };
  const limits = {
    // JSONata looks at it anew each time, and compares it with wall time.
    get timeout(): number {
      return box.hasWallMs();
    },
    stack: MAX_NESTING,
    sequence: MAX_SEQUENCE,
  };
  return { expression: await loadExpression(source, Object.freeze(limits)), box };
}

/** Keeps an expression for the next use. */
export function keepLoaded(source: string, loaded: LoadedExpression): void {
  if (idle.size >= MAX_IDLE) idle.clear();
  if (source.length <= MAX_IDLE_LENGTH) idle.set(source, loaded);
}

/**
 * Makes an expression that can be evaluated, with JSONata's guard rails set to `options`.
 * @throws {ExpressionSyntaxError} when it is not JSONata
 */
export async function loadExpression(source: string, options: jsonata.JsonataOptions): Promise<jsonata.Expression> {
  if (source.length > MAX_EXPRESSION)
    throw new ExpressionSyntaxError(source, `it is longer than ${MAX_EXPRESSION} characters`);
  if (countDefaults(source) > MAX_DEFAULTS) {
    throw new ExpressionSyntaxError(source, `it uses ?: and ?? more than ${MAX_DEFAULTS} times`);
  }
  const { default: compile } = await import('jsonata');
  try {
    return compile(source, options);
  } catch (error) {
    throw syntaxError(source, error);
  }
}

function syntaxError(source: string, error: unknown): ExpressionSyntaxError {
  if (error instanceof RangeError) return new ExpressionSyntaxError(source, 'it is nested too deeply');
  const { message, position, token } = readJsonataError(error);
  const tokenLength = typeof token === 'string' && token !== '(end)' ? token.length : 0;
  const offset = position === undefined ? undefined : Math.max(0, position - tokenLength);
  return new ExpressionSyntaxError(source, message, offset);
}

/** The tokens of JSONata 2, in its lexer's order; a slash that is neither comment nor division begins a pattern. */
const TOKEN = new RegExp(
  [
    String.raw`(?<blank>[ \t\n\r\v]+|/\*[^]*?\*/)`,
    String.raw`(?<default>\?[?:])`,
    String.raw`(?<operand>\*\*|[\])}]|"(?:\\[^]|[^"\\])*"|'(?:\\[^]|[^'\\])*'|\x60[^\x60]*\x60|(?:0|[1-9]\d*)(?:\.\d+)?(?:[Ee][-+]?\d+)?|[^ \t\n\r\v.[\](){},@#;:?+\-*/%|=<>^&!~]+)`,
    '[^]',
  ].join('|'),
  'uy',
);

/** Tokens that are operators behind an operand, and elsewhere a wildcard, the parent, a field of that name, or a pattern. */
const DOUBLE_MEANING: ReadonlySet<string> = new Set(['*', '%', 'and', 'or', 'in', '/']);

/**
 * Counts the operators `?:` and `??` of an expression. JSONata has not parsed it yet, because parsing them is what takes
 * long. Strings, names in backticks, comments and patterns (`/(?:a|b)/`) do not count.
 *
 * If only a parser can tell whether a slash is a division or begins a pattern, everything after it counts: the result may be
 * too large, but never too small. Text after a syntax error does not count, because JSONata's parser stops there.
 */
function countDefaults(source: string): number {
  let count = 0;
  let isAfterOperand = false;
  /** After `) <`, where a function's signature may begin: JSONata reads over its tokens. */
  let mayBeSignature = false;
  let before = '';
  for (TOKEN.lastIndex = 0; TOKEN.lastIndex < source.length;) {
    const at = TOKEN.lastIndex;
    const { groups, 0: token = '' } = TOKEN.exec(source) ?? {};
    if (groups === undefined) return count;
    if (groups['blank'] !== undefined) continue;
    if (groups['default'] !== undefined) count += 1;
    if (token === '/' && source[at + 1] === '*') return count;
    if (token === '/' && isAfterOperand) {
      if (mayBeSignature || /[\])}]/u.test(before)) return count + source.slice(at).split(/\?[?:]/u).length - 1;
    } else if (token === '/') {
      TOKEN.lastIndex = endOfPattern(source, TOKEN.lastIndex);
    }
    if (token === '<' && before === ')') mayBeSignature = true;
    if (token === '{') mayBeSignature = false;
    isAfterOperand = DOUBLE_MEANING.has(token) ? !isAfterOperand : groups['operand'] !== undefined;
    before = token;
  }
  return count;
}

/** Finds the end of a pattern as JSONata's lexer does: the first slash that is neither escaped nor in brackets. */
function endOfPattern(source: string, start: number): number {
  let depth = 0;
  let backslashes = 0;
  for (let at = start; at < source.length; at += 1) {
    const character = source.charAt(at);
    if (character === '/' && depth === 0 && backslashes % 2 === 0) return at + 1;
    if ('([{'.includes(character) && backslashes === 0) depth += 1;
    if (')]}'.includes(character) && backslashes === 0) depth -= 1;
    backslashes = character === '\\' ? backslashes + 1 : 0;
  }
  return source.length;
}
