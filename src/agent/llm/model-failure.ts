import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../errors.ts';
import { errnoOf } from '../../git/format/errors.ts';
import { isJsonObject, parseJson } from '../../json.ts';
import { isNumber, isString, objectOf, recordOf } from '../../shape.ts';
import { AgentNotAuthorized, RequestRefused } from '../agent-errors.ts';
import type { LlmConfig } from './llm-config.ts';

/** How servers say that a prompt is longer than their model can take; none of them has a status of its own for it. */
const PATTERNS = [
  // OpenAI, Azure, vLLM, OpenRouter: "This model's maximum context length is 8192 tokens", `context_length_exceeded`
  /maximum context length|context[ _]length[ _]exceeded|exceeds? the (?:model's )?context (?:window|length|limit)/iu,
  // Anthropic: "prompt is too long: 210000 tokens > 200000 maximum", "input length and `max_tokens` exceed context limit"
  /prompt is too long|exceeds? context limit|input is too long/iu,
  // Gemini: "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
  /input token count.{0,40}exceeds the maximum/iu,
  // llama.cpp: "the request exceeds the available context size", `exceed_context_size_error`
  /exceeds? the available context size|exceed_context_size/iu,
  // xAI, Mistral
  /maximum prompt length|too large for model with \d+ maximum context/iu,
];

/** Tells whether an error's words say that the prompt was longer than the model can take. */
export function saysTooLong(words: string): boolean {
  return PATTERNS.some((pattern) => pattern.test(words));
}

/** What helps a turn whose prompt was too long; the end of a reason. */
export const TOO_LONG_HINT = 'compact the thread before it goes on';

/** The model could not be asked, or did not answer to the end; asking again may help. */
export class ModelUnavailable extends Error {
  readonly facts: UnavailableFacts;

  constructor(message: string, { cause, ...facts }: UnavailableFacts & { cause?: unknown } = {}) {
    super(message, { cause });
    this.facts = facts;
  }
}

type UnavailableFacts = {
  /** How long the server asks to be left alone; `undefined` where it does not say. */
  retryAfterMs?: number | undefined;
  /** The same as a point in time, in ms since 1970. */
  due?: number | undefined;
  /** True where asking again within this turn cannot help, but another day can. */
  isFinal?: boolean;
};

/** The server sends more than any answer has. Asking again would only cost as much again. */
export class AnswerTooLarge extends Error {}

/** What is known of an error of the AI SDK that came of a request (`APICallError`). */
type CallError = {
  statusCode?: number;
  responseHeaders?: Record<string, string>;
  responseBody?: string;
};

const isCallError = objectOf<CallError>({
  statusCode: { mayBe: isNumber },
  responseHeaders: { mayBe: recordOf(isString) },
  responseBody: { mayBe: isString },
});

/**
 * Sorts what went wrong with a request: what may pass ({@link ModelUnavailable}), and what only a person can put right.
 * @param redact takes the key out of a text: some servers quote it
 */
export function modelFailure(
  cause: unknown,
  where: Pick<LlmConfig, 'baseUrl' | 'model' | 'apiKeyEnv'>,
  redact: (text: string) => string,
  env: Readonly<Record<string, string | undefined>>,
): Error {
  const { statusCode, responseHeaders = {}, responseBody = '' } = isCallError(cause) ? cause : {};
  const message = describe(cause);
  const words = wordsOf(responseBody) ?? message;
  const detail = redact(words).trim().replace(/\.$/u, '').slice(0, 1000);
  if (statusCode !== 429 && saysTooLong(`${message} ${responseBody}`)) {
    const hint = `${TOO_LONG_HINT}, or lower 'maxContextCharacters' of the agent where its tools have said so much`;
    return new ModelUnavailable(`the prompt is too long for '${where.model}': ${detail}; ${hint}`, { isFinal: true });
  }
  const target = responseHeaders['location'];
  if (statusCode !== undefined && statusCode >= 300 && statusCode < 400 && target !== undefined) {
    return new RequestRefused(
      `${where.baseUrl} redirects to ${redact(target).slice(0, 1000)}, where nothing was sent`,
      {
        hint: "if that server may have the prompts and the key, correct 'baseUrl' of the agent in .uwf/config.yaml",
      },
    );
  }
  // An answer that began well and broke off has a status as well.
  if (statusCode === undefined || statusCode < 400) {
    // The errors of the SDK carry the whole request.
    const facts = { isFinal: isTooLarge(cause), cause: new Error(redact(messageOf(cause))) };
    const passedOver = statusCode === undefined ? unusedProxy(env) : '';
    return new ModelUnavailable(`${where.baseUrl} gave no whole answer: ${detail}${passedOver}`, facts);
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
    const nowMs = Date.now();
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
  const value = parseJson(body);
  const first: unknown = Array.isArray(value) ? value[0] : value;
  const error = isJsonObject(first) ? first['error'] : undefined;
  const message = isJsonObject(error) ? error['message'] : error;
  return typeof message === 'string' && message.trim() !== '' ? message : undefined;
}

function isTooLarge(error: unknown): boolean {
  if (error instanceof AnswerTooLarge) return true;
  return error instanceof Error && error.cause !== undefined && isTooLarge(error.cause);
}

/** Says that a proxy which the environment names was not asked: `fetch` asks it only where Node was told so. */
function unusedProxy(env: Readonly<Record<string, string | undefined>>): string {
  const name = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy'].find(
    (each) => env[each],
  );
  if (name === undefined || env['NODE_USE_ENV_PROXY'] === '1') return '';
  return `; the proxy of ${name} was not asked: builtin:llm uses it only under NODE_USE_ENV_PROXY=1, with Node 24 or later`;
}

/** An error's message with that of its cause: `fetch failed` alone says nothing. */
function describe(error: unknown): string {
  // What a server streams as an error need not be an `Error`.
  const { message } = isJsonObject(error) ? error : { message: String(error) };
  const own = typeof message === 'string' ? message : JSON.stringify(error);
  const cause = error instanceof Error ? error.cause : undefined;
  const why = cause instanceof Error ? cause.message || (errnoOf(cause) ?? '') : '';
  return why === '' || own.includes(why) ? own : `${own} (${why})`;
}

/**
 * How long a server asks to be left alone, in milliseconds from now; `undefined` where it says nothing that can be read.
 *
 * `retry-after-ms` is the more exact form of some servers; `Retry-After` is seconds or a date.
 * @see RFC 9110 §10.2.3
 */
function retryAfterMs(headers: Readonly<Record<string, string>>, nowMs: number): number | undefined {
  const exact = readNumber(headers['retry-after-ms']);
  if (exact !== undefined) return exact;
  const text = headers['retry-after']?.trim();
  if (text === undefined || text === '') return undefined;
  const seconds = readNumber(text);
  if (seconds !== undefined) return seconds * 1000;
  const dateMs = Date.parse(text);
  return Number.isNaN(dateMs) ? undefined : Math.max(0, dateMs - nowMs);
}

/** The point in time some ms after another, in whole ms since 1970; `undefined` where there is no such date. */
function timeAfter(nowMs: number, ms: number): number | undefined {
  const time = Math.ceil(nowMs + ms);
  return Number.isNaN(new Date(time).getTime()) ? undefined : time;
}

function readNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\d+(?:\.\d+)?$/u.test(text.trim()) ? Number(text) : undefined;
}

const DEFAULTS = { maxRetries: 4, baseDelayMs: 1000, maxDelayMs: 30_000, maxRetryAfterMs: 600_000 };

/**
 * Does something until it works or trying again makes no sense.
 *
 * Tries again after a {@link ModelUnavailable}: as long later as the server asks, else after a pause that doubles each
 * time and is cut by chance by up to a quarter, so that many do not come back at once.
 * @throws {ModelUnavailable} the last one, when no try is left; everything else at once; the signal's reason when aborted
 */
export async function withRetries<Result>(
  attempt: () => Promise<Result>,
  config: LlmConfig['retry'],
  signal: AbortSignal,
  onPause: (failure: ModelUnavailable, delayMs: number) => void,
): Promise<Result> {
  const { maxRetries, baseDelayMs, maxDelayMs, maxRetryAfterMs } = { ...DEFAULTS, ...config };
  for (let retry = 0; ; retry += 1) {
    try {
      return await attempt();
    } catch (error) {
      signal.throwIfAborted();
      const asked = error instanceof ModelUnavailable ? error.facts.retryAfterMs : undefined;
      if (!(error instanceof ModelUnavailable) || error.facts.isFinal || retry >= maxRetries) throw error;
      if (asked !== undefined && asked > maxRetryAfterMs) throw error;
      const backoffMs = Math.min(baseDelayMs * 2 ** retry, maxDelayMs) * (1 - Math.random() / 4);
      const delayMs = asked ?? backoffMs;
      onPause(error, delayMs);
      await sleep(delayMs, undefined, { signal }).catch(() => signal.throwIfAborted());
    }
  }
}
