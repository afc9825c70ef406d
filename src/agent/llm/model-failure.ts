import { AgentNotAuthorized, RequestRefused } from '../agent-errors.ts';
import { isJsonObject } from '../../json.ts';
import { saysTooLong, TOO_LONG_HINT } from '../too-long.ts';
import { retryAfterMs, timeAfter } from './retry-after.ts';

/** The model could not be asked, or did not answer to the end; asking again may help. */
export class ModelUnavailable extends Error {
  /** How long the server asks to be left alone; `undefined` where it does not say. */
  readonly retryAfterMs: number | undefined;
  /** The same as a point in time, in ms since 1970. */
  readonly due: number | undefined;
  /** True where asking again within this turn cannot help, but another day can. */
  readonly isFinal: boolean;

  constructor(
    message: string,
    facts: { retryAfterMs?: number | undefined; due?: number | undefined; isFinal?: boolean; cause?: unknown },
  ) {
    super(message, { cause: facts.cause });
    this.retryAfterMs = facts.retryAfterMs;
    this.due = facts.due;
    this.isFinal = facts.isFinal ?? false;
  }
}

/** The server sends more than any answer has. Asking again would only cost as much again. */
export class AnswerTooLarge extends Error {}

/** What is known of an error of the AI SDK that came of a request (`APICallError`). */
type CallError = {
  message: string;
  statusCode?: number;
  responseHeaders?: Record<string, string>;
  responseBody?: string;
};

/**
 * Sorts what went wrong with a request: what may pass ({@link ModelUnavailable}), and what only a person can put right.
 *
 * @param redact takes the key out of a text: some servers quote it
 * @param nowMs what dates in headers are counted from
 */
export function modelFailure(
  cause: unknown,
  where: { baseUrl: string; model: string; apiKeyEnv: string | undefined },
  redact: (text: string) => string,
  nowMs: number,
): Error {
  const { statusCode, responseHeaders = {}, responseBody = '', message } = asCallError(cause);
  const words = wordsOf(responseBody) ?? message;
  const detail = redact(words).trim().replace(/\.$/u, '').slice(0, 1000);
  if (statusCode !== 429 && saysTooLong(`${message} ${responseBody}`)) {
    const hint = `${TOO_LONG_HINT}, or lower 'maxContextCharacters' of the agent where its tools have said so much`;
    return new ModelUnavailable(`the prompt is too long for '${where.model}': ${detail}; ${hint}`, { isFinal: true });
  }
  // An answer that began well and broke off has a status as well.
  if (statusCode === undefined || statusCode < 400) {
    const facts = { isFinal: isTooLarge(cause), cause: redacted(cause, redact) };
    return new ModelUnavailable(`${where.baseUrl} gave no whole answer: ${detail}`, facts);
  }
  const said = `${where.baseUrl} answered ${statusCode}: ${detail}`;
  if (statusCode === 401 || statusCode === 403) {
    return new AgentNotAuthorized(`the key for '${where.model}' is not accepted: ${said}`, {
      subject: where.baseUrl,
      hint:
        where.apiKeyEnv === undefined
          ? "name the variable that holds the key as 'apiKeyEnv' of the agent in .uwf/config.yaml"
          : `set ${where.apiKeyEnv} to a key that the server knows`,
    });
  }
  const isOverQuota = statusCode === 429 && /insufficient_quota|billing/iu.test(responseBody);
  if (statusCode === 408 || statusCode === 409 || statusCode === 429 || statusCode >= 500) {
    const pauseMs = retryAfterMs(responseHeaders, nowMs);
    const due = pauseMs === undefined ? undefined : timeAfter(nowMs, pauseMs);
    return new ModelUnavailable(said, { retryAfterMs: pauseMs, due, isFinal: isOverQuota });
  }
  return new RequestRefused(`the request to '${where.model}' was refused: ${said}`, {
    hint: HINTS[statusCode] ?? "look at 'baseUrl' and 'model' of the agent in .uwf/config.yaml",
  });
}

const HINTS: Readonly<Record<number, string>> = {
  402: 'look at the account that the key belongs to',
  413: TOO_LONG_HINT,
};

/** What a server says of an error in its body: OpenAI's form, and Gemini's, which is a list of one such. */
function wordsOf(body: string): string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return undefined;
  }
  const first: unknown = Array.isArray(value) ? value[0] : value;
  const error = isJsonObject(first) ? first['error'] : undefined;
  const message = isJsonObject(error) ? error['message'] : error;
  return typeof message === 'string' && message.trim() !== '' ? message : undefined;
}

function isTooLarge(error: unknown): boolean {
  if (error instanceof AnswerTooLarge) return true;
  return error instanceof Error && error.cause !== undefined && isTooLarge(error.cause);
}

function asCallError(error: unknown): CallError {
  if (typeof error !== 'object' || error === null) return { message: String(error) };
  const found: Partial<Record<keyof CallError, unknown>> = error;
  const { message, statusCode, responseHeaders, responseBody } = found;
  return {
    message: describe(error, message),
    ...(typeof statusCode === 'number' && { statusCode }),
    // The SDK's own type, where the property is there at all.
    ...(typeof responseHeaders === 'object' && { responseHeaders: responseHeaders as Record<string, string> }),
    ...(typeof responseBody === 'string' && { responseBody }),
  };
}

/** An error's message with those of its causes: `fetch failed` alone says nothing. */
function describe(error: object, message: unknown): string {
  const cause: unknown = 'cause' in error ? error.cause : undefined;
  const own = typeof message === 'string' ? message : JSON.stringify(error);
  const why = cause instanceof Error ? cause.message || ((cause as NodeJS.ErrnoException).code ?? '') : '';
  return why === '' || own.includes(why) ? own : `${own} (${why})`;
}

/** An error as the cause of another: with its message only, since the SDK's carry the whole request. */
function redacted(error: unknown, redact: (text: string) => string): Error {
  return new Error(redact(error instanceof Error ? error.message : String(error)));
}
