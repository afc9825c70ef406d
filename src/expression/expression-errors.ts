import { UwfError } from '../errors.ts';

abstract class ExpressionError extends UwfError {
  readonly expression: string;

  /** @param fault completes "the expression …" */
  constructor(expression: string, fault: string, code: string, hint?: string) {
    super(`the expression ${quote(expression)} ${fault}`, { code, kind: 'data', hint });
    this.expression = expression;
  }
}

export class ExpressionSyntaxError extends ExpressionError {
  /** Why, in the parser's words. */
  readonly reason: string;
  /** Where, in UTF-16 units from 0; `undefined` where the parser does not say. */
  readonly offset: number | undefined;

  constructor(expression: string, reason: string, offset?: number) {
    const hint = 'see https://docs.jsonata.org for the language';
    super(expression, `is not JSONata: ${reason}${atOffset(offset)}`, 'expression-syntax', hint);
    this.reason = reason;
    this.offset = offset;
  }
}

/** An expression is not evaluated because of what it would do. */
export class ExpressionRefused extends ExpressionError {
  /** Completes "the expression …". */
  readonly reason: string;
  readonly offset: number;

  constructor(expression: string, { reason, hint, offset }: { reason: string; hint: string; offset: number }) {
    super(expression, `${reason}, which is refused`, 'expression-refused', hint);
    this.reason = reason;
    this.offset = offset;
  }
}

/** An expression was evaluated and has no value. */
export class ExpressionFailed extends ExpressionError {
  readonly reason: string;
  readonly offset: number | undefined;
  /** JSONata's own code, such as `T2001`; `undefined` where the failure is not JSONata's. */
  readonly jsonataCode: string | undefined;

  constructor(expression: string, reason: string, offset?: number, jsonataCode?: string) {
    super(expression, `failed: ${reason}${atOffset(offset)}`, 'expression-failed');
    this.reason = reason;
    this.offset = offset;
    this.jsonataCode = jsonataCode;
  }
}

/** An expression was ended because it took all memory of its process. */
export class ExpressionTooLarge extends ExpressionFailed {
  constructor(expression: string, heapMb: number) {
    super(expression, `it needs more than ${heapMb} MB of memory`);
  }
}

/** An expression did not end within its time box. The expression is at fault, hence `data`. */
export class ExpressionTimeout extends ExpressionError {
  readonly timeoutMs: number;

  constructor(expression: string, timeoutMs: number) {
    const hint = 'look for a recursion without an end, or a regular expression that backtracks';
    super(expression, `did not end within ${timeoutMs} ms`, 'expression-timeout', hint);
    this.timeoutMs = timeoutMs;
  }
}

/** Codes of JSONata's own limits: of the depth of calls, and of the length of a list. */
const LIMITS: ReadonlySet<unknown> = new Set(['D1011', 'D2015']);

/** Tells whether an evaluation was ended at a limit of time or memory. Without one it might have a value. */
export function exceedsLimit(error: UwfError): boolean {
  if (error instanceof ExpressionFailed) return error instanceof ExpressionTooLarge || LIMITS.has(error.jsonataCode);
  return error instanceof ExpressionTimeout || error.code === TEMPLATE_LIMIT;
}

/** The code of the error of a template that was ended at a limit. */
export const TEMPLATE_LIMIT = 'template-limit';

/** The machine is at fault, not the expression. */
export function evaluatorUnavailable(reason: string): UwfError {
  return new UwfError(`the process that evaluates expressions ${reason}`, {
    code: 'evaluator-unavailable',
    kind: 'environment',
    hint: 'try again',
    facts: { reason },
  });
}

const MAX_QUOTE = 120;

function quote(expression: string): string {
  const line = expression.trim().replaceAll(/\s+/g, ' ');
  return `'${line.length > MAX_QUOTE ? `${line.slice(0, MAX_QUOTE - 1)}…` : line}'`;
}

function atOffset(offset: number | undefined): string {
  return offset === undefined ? '' : ` (at character ${offset + 1})`;
}

/** JSONata throws plain objects, whose fields differ from error to error, and errors of the language. */
export function readJsonataError(error: unknown): {
  message: string;
  code: string | undefined;
  position: number | undefined;
  token: unknown;
} {
  const field = (name: string): unknown =>
    typeof error === 'object' && error !== null ? Reflect.get(error, name) : undefined;
  const [message, code, position] = ['message', 'code', 'position'].map(field);
  return {
    message: typeof message === 'string' ? message : String(error),
    code: typeof code === 'string' ? code : undefined,
    position: typeof position === 'number' ? position : undefined,
    token: field('token'),
  };
}
