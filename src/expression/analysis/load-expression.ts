import type jsonata from 'jsonata';
import { ExpressionSyntaxError, readJsonataError } from '../expression-errors.ts';
import { countDefaults } from './count-defaults.ts';

/** The longest expression taken, in UTF-16 units. */
export const MAX_EXPRESSION = 65_536;

/** JSONata copies the left side of `?:` and `??` when it parses, so that nesting them doubles the tree each time. */
const MAX_DEFAULTS = 12;

/** Nesting of evaluations; a call of a function takes four or five. */
const MAX_NESTING = 5000;
/** The longest list that an expression may come to on its way. */
const MAX_SEQUENCE = 1_000_000;

/** An expression that can be evaluated, and the time box of its evaluation. */
export type LoadedExpression = { expression: jsonata.Expression; box: { hasWallMs: () => number } };

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
