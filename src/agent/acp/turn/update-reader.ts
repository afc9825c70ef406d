import { isJsonObject } from '../../../json.ts';
import type { JsonObject } from '../../../json.ts';
import { addUsage } from '../../../schema/built-in/schema-parts.ts';
import type { AgentEvent, Usage } from '../../contract.ts';
import { OutputFlood } from '../../processes/output-lines.ts';
import { readTokens } from '../usage/reported-tokens.ts';
import { ToolCall, textOfBlock } from './tool-call.ts';

/** What a reply may have in characters. */
const MAX_REPLY_CHARACTERS = 16 * 1024 * 1024;

/**
 * Reads the updates of a session during one prompt: tells them as events, and keeps what the reply is made of.
 *
 * It takes what it understands and passes over the rest: updates of newer agents are no mistakes.
 */
export class UpdateReader {
  /** The cost of the session so far in US dollars, where the agent reports it; one without prices reports 0. */
  sessionCostUsd: number | undefined;
  /** What the context holds by the agent's own count, in tokens. */
  contextTokens: number | undefined;
  /** What the requests of this prompt have used together, where the agent tells each by itself, as Qwen Code does. */
  requests: Usage | undefined;
  /** How often the model was asked, as far as one can see from outside: once, and again after each tool's result. */
  turns = 0;
  readonly #emit: (event: AgentEvent) => void;
  readonly #terminalOutput: (id: string) => string;
  readonly #calls = new Map<string, ToolCall>();
  /** The calls that were told of, with what they were said to be called with. */
  readonly #told = new Map<string, string>();
  /** What was said between tool calls, oldest first. */
  readonly #segments: string[] = [''];
  /** The length of all that was said. */
  characters = 0;
  #isTurnOpen = false;
  #messageId: string | undefined;

  /** @param terminalOutput gives what a terminal of this turn has written so far */
  constructor(emit: (event: AgentEvent) => void, terminalOutput: (id: string) => string) {
    this.#emit = emit;
    this.#terminalOutput = terminalOutput;
  }

  /** @throws {OutputFlood} when the reply gets longer than any reply may be */
  read(update: JsonObject): void {
    const { sessionUpdate: kind, content } = update;
    this.#readRequest(update);
    if (kind === 'agent_message_chunk' && isJsonObject(content)) this.#readText(textOfBlock(content), update);
    else if (kind === 'agent_thought_chunk' && isJsonObject(content))
      this.#say({ kind: 'thought', text: textOfBlock(content) });
    else if (kind === 'tool_call' || kind === 'tool_call_update') this.readToolCall(update);
    else if (kind === 'plan') this.#readPlan(update);
    else if (kind === 'usage_update') this.#readCost(update);
  }

  /** Takes in the tool call that a permission is asked for. One that bears the id of a call that is over is another one. */
  readAskedCall(fields: JsonObject): ToolCall {
    const call = this.readToolCall({ status: 'pending', ...fields });
    this.announce(call);
    return call;
  }

  /** Takes in what is said of a tool call. */
  readToolCall(fields: JsonObject): ToolCall {
    const id = typeof fields['toolCallId'] === 'string' ? fields['toolCallId'] : '';
    const before = this.#calls.get(id);
    // Ids are the agent's: a call that begins with the id of one that is over is not that one.
    const isAnew = before?.isOver === true && (fields['status'] === 'pending' || fields['status'] === 'in_progress');
    if (isAnew) this.#told.delete(id);
    const known = isAnew ? undefined : before;
    const wasOver = known?.isOver ?? false;
    const call = known ?? new ToolCall(id);
    call.update(fields);
    this.#calls.set(id, call);
    if (wasOver) return call;
    // A call is told when it is known what it is called with: many agents announce it before.
    if (call.hasInput || call.status !== 'pending') this.announce(call);
    if (call.isOver) this.#tellResult(call);
    return call;
  }

  /** What was said last, and each thing that was said before it; blank ones left out. */
  get segments(): readonly string[] {
    return this.#segments.filter((segment) => segment.trim() !== '');
  }

  /** Closes what was left open when the agent has finished: calls whose result it never told. */
  finish(): void {
    for (const call of this.#calls.values()) {
      if (call.isOver) continue;
      this.announce(call);
      this.#tellResult(call, 'the turn ended before a result was reported');
    }
  }

  /** Tells of a call, and again where more is known of it than before. */
  announce(call: ToolCall): void {
    const input = JSON.stringify(call.arguments);
    const isNews = this.#told.get(call.id) !== input;
    if (!isNews || (this.#told.has(call.id) && !call.hasInput)) return;
    if (!this.#told.has(call.id) && this.#segments.at(-1) !== '') this.#segments.push('');
    this.#told.set(call.id, input);
    this.#say({ kind: 'tool-call', id: call.id, name: call.name, arguments: call.arguments });
  }

  #tellResult(call: ToolCall, instead?: string): void {
    const durationMs = Math.max(0, Math.round(performance.now() - call.startedAtMs));
    const isError = instead !== undefined || call.status === 'failed';
    const result = instead ?? call.result(this.#terminalOutput);
    this.#emit({ kind: 'tool-result', id: call.id, result, durationMs, ...(isError && { isError }) });
    this.#isTurnOpen = false;
  }

  /** Takes in what one request has used; told at once, as it may be the last that is heard of this prompt. */
  #readRequest({ _meta: meta }: JsonObject): void {
    const tokens = isJsonObject(meta) ? readTokens(meta['usage']) : undefined;
    if (tokens === undefined) return;
    const requests = addUsage(this.requests ?? null, tokens) ?? tokens;
    this.requests = requests;
    this.#emit({ kind: 'usage', usage: { ...requests, isAtLeast: true } });
  }

  #readText(text: string, { messageId }: JsonObject): void {
    if (text === '') return;
    this.characters += text.length;
    if (this.characters > MAX_REPLY_CHARACTERS)
      throw new OutputFlood(`a reply of more than ${MAX_REPLY_CHARACTERS} characters`);
    if (typeof messageId === 'string') {
      if (this.#messageId !== undefined && this.#messageId !== messageId) this.#segments.push('');
      this.#messageId = messageId;
    }
    this.#segments.push(`${this.#segments.pop() ?? ''}${text}`);
    this.#say({ kind: 'text', text });
  }

  #readPlan({ entries }: JsonObject): void {
    if (!Array.isArray(entries)) return;
    const lines = entries.flatMap((entry) => {
      if (!isJsonObject(entry) || typeof entry['content'] !== 'string') return [];
      const mark = entry['status'] === 'completed' ? 'x' : ' ';
      return [`- [${mark}] ${entry['content']}${entry['status'] === 'in_progress' ? ' (now)' : ''}`];
    });
    this.#say({ kind: 'plan', text: lines.join('\n') });
  }

  #readCost({ cost, used }: JsonObject): void {
    if (typeof used === 'number') this.contextTokens = used;
    if (isJsonObject(cost) && cost['currency'] === 'USD' && typeof cost['amount'] === 'number' && cost['amount'] > 0) {
      this.sessionCostUsd = cost['amount'];
    }
  }

  #say(event: AgentEvent): void {
    if (!this.#isTurnOpen) {
      this.#isTurnOpen = true;
      this.turns += 1;
    }
    this.#emit(event);
  }
}
