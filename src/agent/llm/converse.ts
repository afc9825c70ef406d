import type { LanguageModelUsage, ModelMessage, ToolModelMessage } from 'ai';
import type { JsonObject } from '../../json.ts';
import { addUsage } from '../../schema/built-in/schema-parts.ts';
import type { AgentReply, AgentRequest, Usage } from '../contract.ts';
import { splitFrontMatter } from '../extract/front-matter.ts';
import { priced } from '../price.ts';
import type { LlmConfig } from './llm-config.ts';
import { askModel, type ModelAnswer, type OpenModel } from './ask-model.ts';
import { modelFailure, ModelUnavailable, withRetries } from './model-failure.ts';
import type { ToolBox } from './tool-box.ts';

const DEFAULT_MAX_TURNS = 50;
const DEFAULT_CONTEXT_CHARACTERS = 400_000;

type Talk = {
  config: LlmConfig;
  opened: OpenModel;
  system: string;
  conversation: Conversation;
  box: ToolBox;
  meter: UsageMeter;
  /** Says of a turn that something arrived, where no other event does. */
  onSign: () => void;
  /** The result that the model reported, once it did. */
  result: () => JsonObject | undefined;
};

/**
 * Talks with the model until it reports its result or calls no more tools: question, answer, results of tools, and again.
 *
 * - all calls of the answer that reports the result are done. If another of them fails, the model is asked once more, since
 *   it did not know that when it reported
 * - the limits of turns and of cost suspend, unless a result was reported by then
 * - a server that stays unavailable suspends, so that a person can resume what was not the model's fault
 * @throws {RequestRefused} where only another configuration helps; the signal's reason when the turn is aborted
 */
export async function converse(talk: Talk, input: string, request: AgentRequest): Promise<AgentReply> {
  const { config, conversation, meter, result } = talk;
  const { signal } = request;
  conversation.messages.push({ role: 'user', content: input });
  let told = input;
  let text = '';
  for (;;) {
    const limit = limitReached(config, conversation);
    if (limit !== undefined) {
      const noted = { beside: '', text, result: result(), stopReason: 'max-turns' };
      if (noted.result !== undefined) return replyOf(noted, meter);
      return { kind: 'suspend', cause: 'limit', reason: `${request.role}: ${limit}`, text, usage: meter.total };
    }
    let answer: ModelAnswer;
    try {
      answer = await ask(talk, told, request);
    } catch (error) {
      if (!(error instanceof ModelUnavailable)) throw error;
      const { due } = error.facts;
      const said = talk.opened.redact(error.message);
      const common = { text, usage: meter.total };
      if (due === undefined) return { kind: 'failed-attempt', reason: said, ...common, isFinal: true };
      const reason = `${said}; it asks to be left alone until ${new Date(due).toISOString()}`;
      return { kind: 'suspend', cause: 'agent', reason, ...common, due };
    }
    const usage = meter.add(answer.usage);
    conversation.turns += 1;
    if (request.price !== undefined) conversation.costUsd += priced(usage, request.price).costUsd ?? 0;
    // Before the tools: a turn that ends while they run has paid for this answer.
    request.emit({ kind: 'usage', usage: meter.total });
    conversation.messages.push(...answer.messages);
    if (answer.text.trim() !== '') text = answer.text;
    const before = result();
    const reply = (): AgentReply =>
      replyOf({ beside: answer.text, text, result: result(), stopReason: answer.finishReason }, meter);
    const results = answer.calls.length === 0 ? undefined : await callTools(talk, answer, signal);
    request.emit({ kind: 'turn-end', usage });
    if (results === undefined) return reply();
    // Another try goes on in this conversation, and a server takes no call without its result.
    conversation.messages.push(results.message);
    told = results.told;
    const isReported = result() !== before;
    if (isReported && (!results.hasFailed || before !== undefined)) return reply();
  }
}

/** Asks, and asks again while that may help; each answer that broke off is a turn of its own in the trace. */
async function ask(talk: Talk, told: string, request: AgentRequest): Promise<ModelAnswer> {
  const { config, opened, system, conversation, box, meter, onSign } = talk;
  const { signal } = request;
  let isOpen = false;
  const open = (input: string): void => {
    if (!isOpen) request.emit({ kind: 'turn-start', input });
    isOpen = true;
  };
  open(told);
  let hasArrived = false;
  const attempt = async (): Promise<ModelAnswer> => {
    open('');
    hasArrived = false;
    const question = {
      model: opened.model,
      system,
      messages: fitMessages(conversation.messages, config.maxContextCharacters ?? DEFAULT_CONTEXT_CHARACTERS),
      tools: box.tools,
      settings: config,
    };
    const arrived = (): void => void (hasArrived = true);
    try {
      return await askModel(
        question,
        {
          onText: (text) => (arrived(), request.emit({ kind: 'text', text: opened.redact(text) })),
          onThought: (text) => (arrived(), request.emit({ kind: 'thought', text: opened.redact(text) })),
          onSign: () => (arrived(), onSign()),
        },
        signal,
      );
    } catch (error) {
      if (hasArrived) request.emit({ kind: 'usage', usage: meter.addUnknown() });
      signal.throwIfAborted();
      if (error instanceof ModelUnavailable) throw error;
      throw modelFailure(error, config, opened.redact, request.env);
    }
  };
  return withRetries(attempt, config.retry ?? {}, signal, (failure, durationMs) => {
    // A refusal is an answer: the server is there.
    onSign();
    if (hasArrived) request.emit({ kind: 'turn-end' });
    isOpen = !hasArrived;
    request.emit({ kind: 'pause', text: opened.redact(failure.message), durationMs });
  });
}

async function callTools(
  { box }: Talk,
  { calls }: ModelAnswer,
  signal: AbortSignal,
): Promise<{ message: ModelMessage; told: string; hasFailed: boolean }> {
  const told: string[] = [];
  let hasFailed = false;
  const content: Extract<ModelMessage, { role: 'tool' }>['content'] = [];
  for (const call of calls) {
    const { text, isError } = await box.call(call, signal);
    told.push(text);
    hasFailed ||= isError;
    const output = { type: isError ? ('error-text' as const) : ('text' as const), value: text };
    content.push({ type: 'tool-result', toolCallId: call.id, toolName: call.name, output });
  }
  return { message: { role: 'tool', content }, told: told.join('\n\n'), hasFailed };
}

/** The limit of a turn that its conversation has reached; the tries of the turn count together. */
function limitReached(config: LlmConfig, { turns, costUsd }: Conversation): string | undefined {
  const { maxTurns = DEFAULT_MAX_TURNS, maxCostUsd } = config;
  if (turns >= maxTurns) return `the limit of ${maxTurns} turns of the model is reached`;
  if (turns === 0 || maxCostUsd === undefined || costUsd < maxCostUsd) return undefined;
  return `the limit of ${maxCostUsd} US dollars for a turn is reached`;
}

type Said = {
  /** The text of the last answer. */
  beside: string;
  /** The last text that is not blank. */
  text: string;
  result: JsonObject | undefined;
  stopReason: string;
};

function replyOf({ beside, text, result, stopReason }: Said, meter: UsageMeter): AgentReply {
  const usage = meter.total;
  if (stopReason === 'content-filter') {
    return { kind: 'suspend', cause: 'agent', reason: 'the model refused to answer (content filter)', text, usage };
  }
  if (stopReason === 'length' && result === undefined) {
    const reason =
      "the answer was cut off at the limit of output tokens; say it more briefly, or raise 'maxOutputTokens'";
    return { kind: 'failed-attempt', reason, text, usage };
  }
  if (result === undefined) return { kind: 'reply', text, usage, stopReason };
  const { summary } = result;
  const bodies = [bodyOf(beside), typeof summary === 'string' ? summary : '', bodyOf(text)];
  const body = bodies.find((each) => each.trim() !== '') ?? '';
  return { kind: 'reply', text: body, meta: result, usage, stopReason };
}

/** The text without front matter, which a model that reports its result may write as well. */
function bodyOf(text: string): string {
  const split = splitFrontMatter(text);
  return split.kind === 'missing' ? text : split.body;
}

/** What was said with the model in the attempts of a turn. It is stored nowhere, and ends with the agent. */
export type Conversation = {
  messages: ModelMessage[];
  /** What the first attempt was told. */
  readonly prompt: string;
  /** The answers of the model so far. */
  turns: number;
  /** What they cost, in US dollars, by the configured price. */
  costUsd: number;
};

/** What a prompt adds to a conversation: the corrections without the prompt that the model knows. */
export function newInput({ prompt: known }: Conversation, prompt: string): string {
  const isRepeated = prompt.startsWith(known) && prompt.length > known.length;
  return isRepeated ? prompt.slice(known.length).trimStart() : prompt;
}

/** How many of the newest messages stay as they are. */
const KEPT_MESSAGES = 6;
const PLACEHOLDER = '[left out, since the conversation grew long; call the tool again if you need it]';

/**
 * Makes room in a conversation that has grown too long: results of tools, the oldest first, are left out and say so.
 *
 * What was asked, what the model said and the newest messages stay whole, so the outcome may still be too long.
 * @param maxCharacters from which length on; characters of the JSON of all messages
 */
function fitMessages(messages: readonly ModelMessage[], maxCharacters: number): ModelMessage[] {
  let excess = messages.reduce((sum, message) => sum + lengthOf(message), 0) - maxCharacters;
  return messages.map((message, index) => {
    if (excess <= 0 || message.role !== 'tool' || index >= messages.length - KEPT_MESSAGES) return message;
    const shorter = withoutResults(message);
    excess -= lengthOf(message) - lengthOf(shorter);
    return shorter;
  });
}

function withoutResults(message: ToolModelMessage): ToolModelMessage {
  const content = message.content.map((part) =>
    part.type === 'tool-result' ? { ...part, output: { type: 'text' as const, value: PLACEHOLDER } } : part,
  );
  return { ...message, content };
}

function lengthOf(message: ModelMessage): number {
  return JSON.stringify(message.content).length;
}

/** Counts what the answers of a model have used. */
export class UsageMeter {
  #total: Usage = { inputTokens: 0, outputTokens: 0, turns: 0 };

  /** Takes in one answer and gives what it alone has used. */
  add({ inputTokens, outputTokens, inputTokenDetails: caches }: LanguageModelUsage): Usage {
    const { cacheReadTokens, cacheWriteTokens } = caches;
    const usage: Usage = {
      inputTokens: inputTokens ?? 0,
      outputTokens: outputTokens ?? 0,
      turns: 1,
      // The library says 0 as well where the server said nothing.
      ...(cacheReadTokens && { cacheReadTokens }),
      ...(cacheWriteTokens && { cacheWriteTokens }),
      ...((inputTokens === undefined || outputTokens === undefined) && { isAtLeast: true }),
    };
    this.#total = addUsage(this.#total, usage) ?? usage;
    return usage;
  }

  /** Takes in an answer that broke off: it was paid for, and its server did not say how much. */
  addUnknown(): Usage {
    this.#total = { ...this.#total, isAtLeast: true };
    return this.#total;
  }

  get total(): Usage {
    return this.#total;
  }
}
