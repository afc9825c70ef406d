import type { LanguageModel, LanguageModelUsage, ModelMessage, ToolSet } from 'ai';

import type { JsonValue } from '../../json.ts';
import type { LlmConfig } from './llm-config.ts';
import { mergeDeltas } from './merge-deltas.ts';
import { AnswerTooLarge, ModelUnavailable } from './model-failure.ts';
import type { Tool } from './tools/tool.ts';

/** Of an answer with its thoughts and the arguments of its calls: far more than any model says at once. */
const MAX_ANSWER_CHARACTERS = 8 * 1024 * 1024;

/** What the model is asked. */
export type ModelQuestion = {
  model: LanguageModel;
  system: string;
  messages: readonly ModelMessage[];
  tools: readonly Tool[];
  settings: Pick<LlmConfig, 'temperature' | 'maxOutputTokens' | 'requestTimeoutMs'>;
};

/** Told while the answer arrives. */
export type AnswerEvents = {
  onText: (text: string) => void;
  onThought: (text: string) => void;
  /** Something arrived that is neither, such as a piece of a tool's arguments. */
  onSign: () => void;
};

/** A tool that the model wants called. `mistake` says why it cannot be, in words for the model. */
export type RequestedCall = { id: string; name: string; input: JsonValue; mistake: string | undefined };

/** A whole answer. */
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
 * @throws whatever the request or the stream failed with; {@link ModelUnavailable} for a silent server
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
  const silence = new Silence(settings.requestTimeoutMs, signal);
  try {
    let text = '';
    let characters = 0;
    const onDelta = (kind: 'text-delta' | 'reasoning-delta' | 'tool-input-delta', piece: string): void => {
      silence.touch();
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
      abortSignal: silence.signal,
      // Told by the stream; the SDK would print it.
      onError: () => {},
      experimental_transform: () => mergeDeltas(onDelta),
      ...(settings.temperature !== undefined && { temperature: settings.temperature }),
      ...(settings.maxOutputTokens !== undefined && { maxOutputTokens: settings.maxOutputTokens }),
    });
    let end: { finishReason: string; usage: LanguageModelUsage } | undefined;
    const calls: RequestedCall[] = [];
    for await (const part of result.fullStream) {
      silence.touch();
      switch (part.type) {
        case 'tool-call':
          calls.push({
            id: part.toolCallId,
            name: part.toolName,
            // Arguments came as JSON, or as the text that is none.
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
          throw silence.signal.reason;
        default:
      }
    }
    if (end === undefined) throw new ModelUnavailable('the answer broke off', {});
    const { messages: answered } = await result.response;
    return { text, calls, ...end, messages: answered.filter(({ role }) => role === 'assistant') };
  } catch (error) {
    signal.throwIfAborted();
    if (silence.signal.aborted) throw silence.signal.reason;
    throw error;
  } finally {
    silence.end();
  }
}

/** Ends a request when its turn is aborted, and when the server says nothing for too long. */
class Silence {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal;
  readonly #limitMs: number | undefined;
  readonly #abort = (): void => this.#controller.abort(this.#outer.reason);
  #timer: NodeJS.Timeout | undefined;

  constructor(limitMs: number | undefined, outer: AbortSignal) {
    this.#limitMs = limitMs;
    this.#outer = outer;
    outer.addEventListener('abort', this.#abort, { once: true });
    if (outer.aborted) this.#abort();
    this.touch();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  touch(): void {
    const limitMs = this.#limitMs;
    if (limitMs === undefined) return;
    clearTimeout(this.#timer);
    const failure = new ModelUnavailable(`the server said nothing for ${limitMs} ms`, {});
    this.#timer = setTimeout(() => this.#controller.abort(failure), limitMs);
  }

  /** Lets go of the turn's signal; a request that still runs is ended. */
  end(): void {
    clearTimeout(this.#timer);
    this.#outer.removeEventListener('abort', this.#abort);
    this.#controller.abort();
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
