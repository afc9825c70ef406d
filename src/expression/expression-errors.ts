import { UwfError } from '../errors.ts';

/** An expression that is no JSONata. */
export class ExpressionSyntaxError extends UwfError {
  readonly expression: string;
  /** Why, in the parser's words. */
  readonly reason: string;
  /** Where, in UTF-16 units from 0; `undefined` where the parser does not say. */
  readonly offset: number | undefined;

  constructor(expression: string, reason: string, offset?: number) {
    super(`the expression ${quote(expression)} is not JSONata: ${reason}${atOffset(offset)}`, {
      code: 'expression-syntax',
      kind: 'data',
      hint: 'see https://docs.jsonata.org for the language',
    });
    this.expression = expression;
    this.reason = reason;
    this.offset = offset;
  }
}

/** An expression that is not evaluated for what it would do. */
export class ExpressionRefused extends UwfError {
  readonly expression: string;
  /** Completes "the expression …". */
  readonly reason: string;
  readonly offset: number;

  constructor(expression: string, { reason, hint, offset }: { reason: string; hint: string; offset: number }) {
    super(`the expression ${quote(expression)} ${reason}, which is refused`, {
      code: 'expression-refused',
      kind: 'data',
      hint,
    });
    this.expression = expression;
    this.reason = reason;
    this.offset = offset;
  }
}

/** An expression that was evaluated and came to no value. */
export class ExpressionFailed extends UwfError {
  readonly expression: string;
  readonly reason: string;
  readonly offset: number | undefined;
  /** JSONata's own code, such as `T2001`; `undefined` where the failure is not JSONata's. */
  readonly jsonataCode: string | undefined;

  constructor(expression: string, reason: string, offset?: number, jsonataCode?: string) {
    super(`the expression ${quote(expression)} failed: ${reason}${atOffset(offset)}`, {
      code: 'expression-failed',
      kind: 'data',
    });
    this.expression = expression;
    this.reason = reason;
    this.offset = offset;
    this.jsonataCode = jsonataCode;
  }
}

/** An expression that did not come to an end within its time box. The expression is at fault, hence `data`. */
export class ExpressionTimeout extends UwfError {
  readonly expression: string;
  readonly timeoutMs: number;

  constructor(expression: string, timeoutMs: number) {
    super(`the expression ${quote(expression)} did not end within ${timeoutMs} ms`, {
      code: 'expression-timeout',
      kind: 'data',
      hint: 'look for a recursion without an end, or a regular expression that backtracks',
    });
    this.expression = expression;
    this.timeoutMs = timeoutMs;
  }
}

/** The process that evaluates what needs one could not be had. The machine is at fault, not the expression. */
export class EvaluatorUnavailable extends UwfError {
  readonly reason: string;

  constructor(reason: string, cause?: unknown) {
    super(`the process that evaluates expressions ${reason}`, {
      code: 'evaluator-unavailable',
      kind: 'environment',
      hint: 'try again',
      cause,
    });
    this.reason = reason;
  }
}

const LONGEST_QUOTE = 120;

function quote(expression: string): string {
  const line = expression.trim().replaceAll(/\s+/g, ' ');
  return `'${line.length > LONGEST_QUOTE ? `${line.slice(0, LONGEST_QUOTE - 1)}…` : line}'`;
}

function atOffset(offset: number | undefined): string {
  return offset === undefined ? '' : ` (at character ${offset + 1})`;
}
