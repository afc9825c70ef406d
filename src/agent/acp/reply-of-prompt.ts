import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { PromptResponse } from '@agentclientprotocol/sdk/unstable';

import { isJsonObject } from '../../json.ts';
import type { JsonObject } from '../../json.ts';
import type { AgentReply, Usage } from '../contract.ts';
import { splitFrontMatter } from '../extract/front-matter.ts';
import { cutText } from './cut-text.ts';
import type { PromptTurn } from './prompt-turn.ts';

/** Where uwf's MCP server puts the structured result that an agent reports through it. */
const RESULT_FILE = 'result.json';

/** What a reply says of its session and agent. */
export type ReplyFacts = {
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
 * - `cancelled`: suspended for the person who has to permit something; else a failed attempt
 * @param response undefined where the agent was told to cancel and gave no answer to it
 */
export async function replyOfPrompt(
  turn: PromptTurn,
  response: PromptResponse | undefined,
  facts: ReplyFacts,
): Promise<AgentReply> {
  const { reader, request, unanswered } = turn;
  const { usage } = facts;
  const stopReason = response?.stopReason ?? 'cancelled';
  const text = replyText(reader.segments);
  const common = { text, session: facts.session, ...(usage && { usage }) };
  // An agent may go on without what it asked for; what it comes to then is not what it was asked for.
  if (unanswered !== undefined) return { kind: 'suspend', cause: 'permission', reason: unanswered, ...common };
  switch (stopReason) {
    case 'end_turn': {
      const meta = await readReportedResult(request.stepDir);
      const version = facts.agentVersion === undefined ? {} : { agentVersion: facts.agentVersion };
      return { kind: 'reply', ...common, ...(meta && { meta }), ...version, stopReason };
    }
    case 'max_tokens':
      return {
        kind: 'suspend',
        cause: 'limit',
        reason: `${request.role} reached its model's limit of tokens`,
        ...common,
      };
    case 'max_turn_requests':
      return {
        kind: 'suspend',
        cause: 'limit',
        reason: `${request.role} asked its model as often as it may`,
        ...common,
      };
    case 'refusal':
      return {
        kind: 'suspend',
        cause: 'agent',
        reason: `${request.role} refused to do this${saidWhy(text)}`,
        ...common,
      };
    case 'cancelled':
      return { kind: 'failed-attempt', reason: 'the agent cancelled its turn by itself', ...common };
    default:
      return {
        kind: 'failed-attempt',
        reason: `the agent stopped for an unknown reason: ${String(stopReason)}`,
        ...common,
      };
  }
}

function replyText(segments: readonly string[]): string {
  return segments.findLast((segment) => splitFrontMatter(segment).kind === 'found') ?? segments.at(-1) ?? '';
}

async function readReportedResult(stepDir: string): Promise<JsonObject | undefined> {
  const json = await readFile(join(stepDir, RESULT_FILE), 'utf8').catch(() => undefined);
  if (json === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(json);
    return isJsonObject(value) ? value : undefined;
  } catch {
    // The server replaces the file as a whole: this is not its work, and the front matter is still there to be read.
    return undefined;
  }
}

function saidWhy(text: string): string {
  const line = text.split('\n', 1)[0]?.trim() ?? '';
  return line === '' ? '' : `: ${cutText(line, 300)}`;
}
