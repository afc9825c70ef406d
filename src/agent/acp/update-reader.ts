import { isJsonObject, type JsonObject, type JsonValue } from '../../json.ts';
import { addUsage } from '../../schema/built-in/schema-parts.ts';
import type { AgentEvent, Usage } from '../contract.ts';
import { cutText, OutputFlood } from '../processes/program-output.ts';
import { type Deed, deedOfCall, objectsOf, textOf } from './permissions/deed.ts';
import { readTokens } from './usage.ts';

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
  readonly #calls = new Map<string, ToolCall>();
  /** The calls that were told of, with what they were said to be called with. */
  readonly #told = new Map<string, string>();
  /** What was said between tool calls, oldest first. */
  readonly #segments: string[] = [''];
  /** The length of all that was said. */
  characters = 0;
  #isTurnOpen = false;
  #messageId: string | undefined;

  constructor(emit: (event: AgentEvent) => void) {
    this.#emit = emit;
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
    const result = instead ?? call.result();
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

/** What a tool's result may have in characters before it is cut. */
const MAX_RESULT_CHARACTERS = 1024 * 1024;
const MAX_NAME_CHARACTERS = 64;
/** Where a tool call stands (`ToolCallStatus`). */
type ToolStatus = 'pending' | 'in_progress' | 'completed' | 'failed';

/** A tool call as it is known so far: agents tell of it piece by piece, each field anew where it has changed. */
export class ToolCall {
  readonly id: string;
  readonly startedAtMs: number = performance.now();
  #fields: JsonObject = {};
  readonly #titles = new Set<string>();

  constructor(id: string) {
    this.id = id;
  }

  /** Takes in a `ToolCall` or `ToolCallUpdate`; a field that is absent or null says nothing new. */
  update(fields: JsonObject): void {
    const news = Object.entries(fields).filter(([, value]) => value !== null);
    this.#fields = { ...this.#fields, ...Object.fromEntries(news) };
    if (this.#text('title') !== '') this.#titles.add(this.#text('title'));
  }

  get status(): ToolStatus {
    const status = this.#fields['status'];
    return status === 'in_progress' || status === 'completed' || status === 'failed' ? status : 'pending';
  }

  get isOver(): boolean {
    return this.status === 'completed' || this.status === 'failed';
  }

  get title(): string {
    return this.#text('title') || this.name;
  }

  /** All titles that it has borne: Copilot tells of `uwf-thread_list`, and asks for `thread_list`. */
  get titles(): readonly string[] {
    return [...this.#titles];
  }

  /** `other` where the agent does not say. */
  get kind(): string {
    return this.#text('kind') || 'other';
  }

  /** The tool's own name where the agent tells it, else what comes nearest: a title of one word, or the kind. */
  get name(): string {
    // Qwen Code has it in `_meta` itself, Claude's bridge one deeper.
    const meta = isJsonObject(this.#fields['_meta']) ? this.#fields['_meta'] : {};
    const said = isJsonObject(meta['claudeCode']) ? meta['claudeCode']['toolName'] : meta['toolName'];
    const names = [this.#text('name'), typeof said === 'string' ? said : '', this.#text('title')];
    const name = names.find((text) => /^[\w.:/-]+$/u.test(text) && text.length <= MAX_NAME_CHARACTERS);
    return name ?? this.kind;
  }

  /** What the tool is called with; where the agent does not tell, what it says about the call. */
  get arguments(): JsonValue {
    if (this.hasInput) return this.#fields['rawInput'] ?? null;
    const { paths } = this.deed;
    return { title: this.title, ...(paths.length > 0 && { paths: [...paths] }) };
  }

  get hasInput(): boolean {
    const input = this.#fields['rawInput'];
    return isJsonObject(input) ? Object.keys(input).length > 0 : input !== undefined && input !== '';
  }

  /** All that the agent has said of it. */
  get fields(): Readonly<JsonObject> {
    return this.#fields;
  }

  /** What it would do, as far as is known now. */
  get deed(): Deed {
    const { name, title, kind } = this;
    return deedOfCall(
      name === kind || title.includes(name) ? this.#fields : { ...this.#fields, title: `${name}: ${title}` },
    );
  }

  /** What it came to, as far as the agent says. */
  result(): string {
    const parts = objectsOf(this.#fields['content']).map(textOfContent);
    const text = parts.filter((part) => part !== '').join('\n');
    const { rawOutput } = this.#fields;
    const said = text || (typeof rawOutput === 'string' ? rawOutput : outputOf(rawOutput));
    if (said.length <= MAX_RESULT_CHARACTERS) return said;
    const left = said.length - MAX_RESULT_CHARACTERS;
    return `${cutText(said, MAX_RESULT_CHARACTERS)}\n… (${left} more characters were cut)`;
  }

  #text(key: string): string {
    return textOf(this.#fields[key]);
  }
}

function textOfContent(item: JsonObject): string {
  const { type, content } = item;
  if (type === 'content' && isJsonObject(content)) return textOfBlock(content);
  if (type !== 'diff') return '';
  const { path, oldText, newText } = item;
  const sides = [['---', oldText] as const, ['+++', newText] as const];
  return sides
    .flatMap(([mark, text]) => (typeof text === 'string' ? [`${mark} ${word(path)}\n${text}`] : []))
    .join('\n');
}

/** The text of a content block; of one without text, what it is. */
function textOfBlock(block: JsonObject): string {
  const { type, text, resource, uri } = block;
  if (type === 'text' && typeof text === 'string') return text;
  if (isJsonObject(resource))
    return typeof resource['text'] === 'string' ? resource['text'] : `[${word(resource['uri'])}]`;
  return type === 'resource_link' ? word(uri) : `[${word(type)}]`;
}

function word(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '?';
}

function outputOf(rawOutput: JsonValue | undefined): string {
  if (rawOutput === undefined) return '';
  if (isJsonObject(rawOutput) && typeof rawOutput['output'] === 'string') return rawOutput['output'];
  return JSON.stringify(rawOutput, undefined, 2);
}
