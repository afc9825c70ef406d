import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type {
  PromptResponse,
  RequestPermissionOutcome,
  RequestPermissionRequest,
} from '@agentclientprotocol/sdk/unstable';
import { isJsonObject, type JsonObject, parseJson } from '../../json.ts';
import { addUsage } from '../../schema/built-in/schema-parts.ts';
import type { AgentEvent, AgentReply, AgentRequest, Usage } from '../contract.ts';
import { splitFrontMatter } from '../extract/front-matter.ts';
import { RESULT_TOOL } from '../extract/schema-variants.ts';
import type { WorkingFolder } from '../files/working-folder.ts';
import { saysTooLong, TOO_LONG_HINT } from '../llm/model-failure.ts';
import { readAsked } from '../mcp/mcp-record.ts';
import { cutText, OutputFlood } from '../processes/start-program.ts';
import { PermissionGate, type Permissions } from './permissions.ts';
import { textOfBlock, ToolCall } from './tool-call.ts';
import { nameOfSession, readTokens, type SessionCost, usageOfPrompt } from './usage.ts';

/** An agent that reports its result more often in one prompt does nothing else any more. */
const MAX_REPORTS = 5;

/** All that one prompt to an agent needs on this side of the protocol, from its sending to its answer. */
export class PromptTurn {
  readonly request: AgentRequest;
  readonly reader: UpdateReader;
  readonly gate: PermissionGate;
  /** Whether the agent was told to stop because it reports its result again and again. */
  isReportedEnough = false;
  readonly #reportsBefore: number;
  readonly #stop: () => void;

  /** @param stop called as soon as a person has to answer and none is there, or the result is reported too often */
  constructor(
    request: AgentRequest,
    folder: WorkingFolder,
    { mcp, permissions }: { mcp?: boolean; permissions?: Permissions },
    stop: () => void,
  ) {
    this.#stop = stop;
    this.#reportsBefore = countReports(request.stepDir);
    this.request = request;
    this.reader = new UpdateReader((event) => request.emit(event));
    this.gate = new PermissionGate({
      request,
      folder,
      permissions: request.withoutTools === true ? 'deny' : permissions,
      hasOwnTools: mcp !== false,
      stop,
    });
  }

  /** Tells what the prompt has cost so far: a limit of cost ends it in its middle. */
  tellCost(cost: SessionCost, id: string): void {
    const costUsd = this.reader.sessionCostUsd;
    const soFar = cost.soFar(costUsd);
    const usage = soFar.costUsd === undefined ? undefined : usageOfPrompt(undefined, this.reader, soFar);
    if (usage === undefined) return;
    this.request.emit({ kind: 'usage', usage });
    // If the turn is cut off, the next prompt of the session counts from here.
    this.request.emit({ kind: 'session', session: nameOfSession({ id, costUsd }) });
  }

  read(update: JsonObject): void {
    const { characters } = this.reader;
    this.reader.read(update);
    if (this.reader.characters > characters) this.gate.deniedLast = undefined;
    if (update['sessionUpdate'] !== 'tool_call') return;
    if (countReports(this.request.stepDir) - this.#reportsBefore <= MAX_REPORTS) return;
    this.isReportedEnough = true;
    this.#stop();
  }

  permit({ toolCall, options }: RequestPermissionRequest): Promise<RequestPermissionOutcome> {
    const call: unknown = toolCall;
    return this.gate.answer(this.reader.readAskedCall(isJsonObject(call) ? call : {}), options);
  }

  /** Tells what was left open, now that the agent has finished. */
  finish(): void {
    this.reader.finish();
    this.gate.finish();
  }
}

function countReports(stepDir: string): number {
  return readAsked(stepDir).filter((asked) => 'called' in asked && asked.called === RESULT_TOOL).length;
}

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

/** Where uwf's MCP server puts the structured result that an agent reports through it. */
const RESULT_FILE = 'result.json';

/** What a reply says of its session and agent. */
type ReplyFacts = {
  session: string;
  agentVersion: string | undefined;
  usage: Usage | undefined;
};

/** Forgets what an earlier try reported, so that it is not taken for this one's result. */
export async function removeReportedResult(stepDir: string): Promise<void> {
  await rm(join(stepDir, RESULT_FILE), { force: true });
}

/**
 * Makes a reply of the answer to a prompt, by its stop reason:
 *
 * - `end_turn`: the reply. Its text is the last thing said that has front matter, else the last thing said: what an agent
 *   says between its tool calls is told as it works, and is no part of its reply.
 * - `max_tokens`, `max_turn_requests`: suspended, at a limit of the agent
 * - `refusal`: suspended by the agent
 * - `cancelled`: suspended for the person who has to permit something; the reply where the agent was told to stop because it
 *   reports its result again and again; else a failed attempt
 *
 * An agent that has said nothing since a person denied it something, and has no reply, is suspended: opencode and Qwen Code
 * end their turn so. Another try would be paid for, and would ask the same again.
 * @param response undefined where the agent was told to cancel and gave no answer to it
 */
export async function replyOfPrompt(
  turn: PromptTurn,
  response: PromptResponse | undefined,
  facts: ReplyFacts,
): Promise<AgentReply> {
  const { request, gate } = turn;
  const { segments } = turn.reader;
  const { usage } = facts;
  const stopReason = turn.isReportedEnough ? 'end_turn' : (response?.stopReason ?? 'cancelled');
  const text = segments.findLast(isReply) ?? segments.at(-1) ?? '';
  const common = { text, session: facts.session, ...(usage && { usage }) };
  const suspend = (cause: SuspendCause, reason: string): AgentReply => ({ kind: 'suspend', cause, reason, ...common });
  // An agent may go on without what it asked for; what it comes to then is not what it was asked for.
  if (gate.unanswered !== undefined) return suspend('permission', gate.unanswered);
  const meta = stopReason === 'end_turn' ? await readReportedResult(request.stepDir) : undefined;
  const { role } = request;
  const hasStopped = stopReason === 'end_turn' || stopReason === 'cancelled';
  const hasReplied = meta !== undefined || isReply(text);
  if (gate.deniedLast !== undefined && hasStopped && !hasReplied) {
    const what = `${role} stopped without a reply after a person denied this: ${gate.deniedLast}`;
    return suspend('agent', `${what}; how is it to go on?`);
  }
  const why = text.split('\n', 1)[0]?.trim() ?? '';
  switch (stopReason) {
    case 'end_turn': {
      const version = facts.agentVersion === undefined ? {} : { agentVersion: facts.agentVersion };
      return { kind: 'reply', ...common, ...(meta && { meta }), ...version, stopReason };
    }
    case 'max_tokens':
      return suspend('limit', `${role} reached its model's limit of tokens`);
    case 'max_turn_requests':
      return suspend('limit', `${role} asked its model as often as it may`);
    case 'refusal':
      return suspend('agent', `${role} refused to do this${why === '' ? '' : `: ${cutText(why, 300)}`}`);
    case 'cancelled':
      return { kind: 'failed-attempt', reason: 'the agent cancelled its turn by itself', ...common };
    default: {
      const reason = `the agent stopped for an unknown reason: ${String(stopReason)}`;
      return { kind: 'failed-attempt', reason, ...common };
    }
  }
}

/**
 * Makes a failed attempt of a prompt without an answer.
 *
 * It is final where the agent is gone and had given a reply: another attempt would pay for it again. Only the answer says
 * that a reply is complete, and one that was cut off can have sound front matter, so that a person decides.
 */
export async function failedAttempt(turn: PromptTurn, reason: string, isAlive: boolean): Promise<AgentReply> {
  const given = isAlive ? undefined : await givenReply(turn);
  if (given !== undefined) {
    const what = `${reason}; it had given a reply, which may be incomplete`;
    return { kind: 'failed-attempt', reason: what, text: given, isFinal: true };
  }
  const last = turn.reader.segments.at(-1) ?? '';
  // Another attempt would send the same prompt.
  if (!saysTooLong(reason)) return { kind: 'failed-attempt', reason, text: last };
  return { kind: 'failed-attempt', reason: `${reason}; ${TOO_LONG_HINT}`, text: last, isFinal: true };
}

/** The reply that an agent had given: what it reported, with its last message, or a message that is a reply. */
async function givenReply({ reader, request }: PromptTurn): Promise<string | undefined> {
  const meta = await readReportedResult(request.stepDir);
  if (meta === undefined) return reader.segments.findLast(isReply);
  return `---\n${JSON.stringify(meta)}\n---\n${reader.segments.at(-1) ?? ''}`;
}

function isReply(text: string): boolean {
  return splitFrontMatter(text).kind === 'found';
}

type SuspendCause = Extract<AgentReply, { kind: 'suspend' }>['cause'];

async function readReportedResult(stepDir: string): Promise<JsonObject | undefined> {
  const json = await readFile(join(stepDir, RESULT_FILE), 'utf8').catch(() => '');
  // uwf's server replaces the file as a whole: what is no JSON is not its work, and the front matter can still be read.
  const value = parseJson(json);
  return isJsonObject(value) ? value : undefined;
}
