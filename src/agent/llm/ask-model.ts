import type { LanguageModel, LanguageModelUsage, ModelMessage, TextStreamPart, ToolSet } from 'ai';
import { messageOf } from '../../errors.ts';
import type { JsonValue } from '../../json.ts';
import { AgentNotAuthorized } from '../agent-errors.ts';
import type { LlmConfig } from './llm-config.ts';
import { AnswerTooLarge, ModelUnavailable } from './model-failure.ts';
import type { RequestedCall, Tool } from './tool-box.ts';

/** The limit of an answer with its thoughts and the arguments of its calls: far more than any model produces at once. */
const MAX_ANSWER_CHARACTERS = 8 * 1024 * 1024;

type ModelQuestion = {
  model: LanguageModel;
  system: string;
  messages: readonly ModelMessage[];
  tools: readonly Tool[];
  settings: Pick<LlmConfig, 'temperature' | 'maxOutputTokens' | 'requestTimeoutMs'>;
};

type AnswerEvents = {
  onText: (text: string) => void;
  onThought: (text: string) => void;
  /** Something arrived that is neither, such as a piece of a tool's arguments. */
  onSign: () => void;
};

export type ModelAnswer = {
  text: string;
  calls: readonly RequestedCall[];
  /** `stop`, `length`, `content-filter`, `tool-calls` or `other`. */
  finishReason: string;
  usage: LanguageModelUsage;
  /** The answer as the next question has to repeat it. */
  messages: readonly ModelMessage[];
};

/**
 * Asks the model once and reads its answer as it comes.
 * @throws the error of the request or of the stream; {@link ModelUnavailable} for a silent server
 */
export async function askModel(
  question: ModelQuestion,
  events: AnswerEvents,
  signal: AbortSignal,
): Promise<ModelAnswer> {
  const { jsonSchema, streamText } = await import('ai');
  // The library never prints; a program that wants the SDK's warnings has said so before.
  globalThis.AI_SDK_LOG_WARNINGS ??= false;
  const { system, messages, model, settings } = question;
  const tools: ToolSet = Object.fromEntries(
    question.tools.map(({ name, description, inputSchema }) => [
      name,
      { description, inputSchema: jsonSchema(inputSchema) },
    ]),
  );
  const limitMs = settings.requestTimeoutMs;
  const request = new AbortController();
  const stopped = AbortSignal.any([signal, request.signal]);
  const onSilence = (): void => request.abort(new ModelUnavailable(`the server said nothing for ${limitMs} ms`));
  const silence = limitMs === undefined ? undefined : setTimeout(onSilence, limitMs);
  try {
    let text = '';
    let characters = 0;
    const onDelta = (kind: 'text-delta' | 'reasoning-delta' | 'tool-input-delta', piece: string): void => {
      silence?.refresh();
      characters += piece.length;
      if (characters > MAX_ANSWER_CHARACTERS) {
        throw new AnswerTooLarge(`the answer has more than ${MAX_ANSWER_CHARACTERS} characters`);
      }
      if (kind === 'text-delta') {
        text += piece;
        events.onText(piece);
      } else if (kind === 'reasoning-delta') events.onThought(piece);
      else events.onSign();
    };
    const result = streamText({
      model,
      system,
      messages: [...messages],
      tools,
      maxRetries: 0,
      abortSignal: stopped,
      // Told by the stream; the SDK would print it.
      onError: () => {},
      experimental_transform: () => mergeDeltas(onDelta),
      ...(settings.temperature !== undefined && { temperature: settings.temperature }),
      ...(settings.maxOutputTokens !== undefined && { maxOutputTokens: settings.maxOutputTokens }),
    });
    let end: { finishReason: string; usage: LanguageModelUsage } | undefined;
    const calls: RequestedCall[] = [];
    for await (const part of result.fullStream) {
      silence?.refresh();
      switch (part.type) {
        case 'tool-call':
          calls.push({
            id: part.toolCallId,
            name: part.toolName,
            // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Arguments came as JSON, or as the text that is none.
            input: part.input as JsonValue,
            mistake: part.invalid === true ? messageOf(part.error) : undefined,
          });
          break;
        case 'finish-step':
          end = { finishReason: part.finishReason, usage: part.usage };
          break;
        case 'error':
          throw part.error;
        case 'abort':
          throw stopped.reason;
        default:
      }
    }
    if (end === undefined) throw new ModelUnavailable('the answer broke off');
    const { messages: answered } = await result.response;
    return { text, calls, ...end, messages: answered.filter(({ role }) => role === 'assistant') };
  } catch (error) {
    signal.throwIfAborted();
    if (stopped.aborted) throw stopped.reason;
    throw error;
  } finally {
    clearTimeout(silence);
    // Ends a request that still runs.
    request.abort();
  }
}

type Part = TextStreamPart<ToolSet>;
/** A piece of what the model says, thinks, or calls a tool with. */
type Delta = Extract<Part, { type: 'text-delta' | 'reasoning-delta' | 'tool-input-delta' }>;

/** Pieces are merged up to this many characters. */
const MAX_MERGED_CHARACTERS = 4096;

/**
 * A transformation of a stream of the AI SDK: tells every piece at once, and passes on a few large ones in their place.
 *
 * The SDK keeps each part of an answer until it is over, which for an answer in many small pieces is hundreds of times the
 * answer itself. Pieces of tools' arguments are not passed on at all: the whole call follows them.
 */
function mergeDeltas(onDelta: (kind: Delta['type'], text: string) => void): TransformStream<Part, Part> {
  let held: Exclude<Delta, { type: 'tool-input-delta' }> | undefined;
  const release = (controller: TransformStreamDefaultController<Part>): void => {
    if (held !== undefined) controller.enqueue(held);
    held = undefined;
  };
  return new TransformStream<Part, Part>({
    transform(part, controller) {
      if (part.type === 'tool-input-delta') {
        onDelta(part.type, part.delta);
      } else if (part.type === 'text-delta' || part.type === 'reasoning-delta') {
        onDelta(part.type, part.text);
        if (held?.type === part.type && held.id === part.id) held = { ...held, ...part, text: held.text + part.text };
        else {
          release(controller);
          held = part;
        }
        if (held.text.length >= MAX_MERGED_CHARACTERS) release(controller);
      } else {
        release(controller);
        controller.enqueue(part);
      }
    },
    flush: release,
  });
}

/** Of one answer as it comes over the wire, some 250 bytes for each token. */
const DEFAULT_MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/** A model that can be asked, and what keeps its key to itself. */
export type OpenModel = {
  model: LanguageModel;
  /** Takes the key out of a text. */
  redact: (text: string) => string;
};

/** Opens the model that a configuration names. Nothing is sent yet. */
export async function openModel(config: LlmConfig, env: Readonly<Record<string, string>>): Promise<OpenModel> {
  const { baseUrl, apiKeyEnv, apiKeyHeader, headers = {} } = config;
  const key = apiKeyEnv === undefined ? undefined : env[apiKeyEnv];
  if (apiKeyEnv !== undefined && !key) {
    const message = `the environment variable ${apiKeyEnv}, which is to hold the key for ${baseUrl}, is not set`;
    const hint = `set it before uwf runs: export ${apiKeyEnv}=…`;
    throw new AgentNotAuthorized(message, { subject: baseUrl, hint });
  }
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
  const provider = createOpenAICompatible({
    name: 'llm',
    baseURL: baseUrl,
    includeUsage: true,
    fetch: boundedFetch(config.maxAnswerBytes ?? DEFAULT_MAX_ANSWER_BYTES),
    headers: { ...headers, ...(key && apiKeyHeader !== undefined && { [apiKeyHeader]: key }) },
    ...(key && apiKeyHeader === undefined && { apiKey: key }),
  });
  return {
    model: provider(config.model),
    redact: (text) => (key ? text.replaceAll(key, '[key]') : text),
  };
}

/**
 * A `fetch` that ends an answer which does not end by itself, and follows no redirect: `fetch` would send the prompt, and
 * a key in a header of its own, to whatever host the server names.
 */
function boundedFetch(maxBytes: number): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, { ...init, redirect: 'manual' });
    if (response.body === null) return response;
    let bytes = 0;
    const bounded = response.body.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          bytes += chunk.byteLength;
          if (bytes <= maxBytes) controller.enqueue(chunk);
          else controller.error(new AnswerTooLarge(`the answer has more than ${maxBytes} bytes`));
        },
      }),
    );
    const { status, statusText, headers } = response;
    return new Response(bounded, { status, statusText, headers });
  };
}
