import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { PromptResponse } from '@agentclientprotocol/sdk/unstable';
import { isJsonObject, type JsonObject, parseJson } from '../../json.ts';
import type { AgentReply, Usage } from '../contract.ts';
import { splitFrontMatter } from '../extract/front-matter.ts';
import { saysTooLong, TOO_LONG_HINT } from '../llm/retry/too-long.ts';
import { cutText } from '../processes/program-output.ts';
import type { PromptTurn } from './prompt-turn.ts';

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
  const { request, unanswered } = turn;
  const { segments } = turn.reader;
  const { usage } = facts;
  const stopReason = turn.isReportedEnough ? 'end_turn' : (response?.stopReason ?? 'cancelled');
  const text = segments.findLast(isReply) ?? segments.at(-1) ?? '';
  const common = { text, session: facts.session, ...(usage && { usage }) };
  const suspend = (cause: SuspendCause, reason: string): AgentReply => ({ kind: 'suspend', cause, reason, ...common });
  // An agent may go on without what it asked for; what it comes to then is not what it was asked for.
  if (unanswered !== undefined) return suspend('permission', unanswered);
  const meta = stopReason === 'end_turn' ? await readReportedResult(request.stepDir) : undefined;
  const { role } = request;
  const hasStopped = stopReason === 'end_turn' || stopReason === 'cancelled';
  const hasReplied = meta !== undefined || isReply(text);
  if (turn.deniedLast !== undefined && hasStopped && !hasReplied) {
    const what = `${role} stopped without a reply after a person denied this: ${turn.deniedLast}`;
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

/** @throws where an agent answered a prompt with something else: the SDK passes on whatever it gives */
export function checkedAnswer(response: PromptResponse | undefined): PromptResponse | undefined {
  if (response === undefined || isJsonObject(response)) return response;
  throw new Error("the agent's answer to 'session/prompt' is no object; look for a newer version of the agent");
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
