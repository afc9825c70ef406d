import { createAgent } from '../../../src/agent/acp/acp-agent.ts';
import type { Agent, AgentEvent, AgentReply } from '../../../src/agent/contract.ts';
import type { JsonObject } from '../../../src/json.ts';
import { onTestFinished } from 'vitest';
import { agentRequest } from '../../helpers/agent-request.ts';
import { bundledAcpAgent } from '../../helpers/bundled-acp-agent.ts';
import type { ObservedRequest } from '../../helpers/agent-request.ts';

/** The scripted agent, told what to do; closed when the test is over. */
export function scriptedAgent(words: readonly string[], config: JsonObject = {}): Agent {
  const command = [process.execPath, bundledAcpAgent, ...words];
  const agent = createAgent({ command, graceMs: 300, mcp: false, ...config });
  onTestFinished(() => agent.close?.());
  return agent;
}

/** One turn of the scripted agent. */
export async function runScripted(
  words: readonly string[],
  { config = {}, ...changes }: { config?: JsonObject } & Parameters<typeof agentRequest>[0] = {},
): Promise<{ reply: AgentReply; request: ObservedRequest; events: AgentEvent[]; text: string }> {
  const request = agentRequest(changes);
  const reply = await scriptedAgent(words, config).run(request);
  return { reply, request, events: request.events, text: reply.text ?? '' };
}

/** The process groups that an agent told of. */
export function groupsOf(events: readonly AgentEvent[]): number[] {
  return events.flatMap((event) => (event.kind === 'process-group' ? [event.pgid] : []));
}

/** The refusals that an agent told of. */
export function refusalsOf(events: readonly AgentEvent[]): string[] {
  return events.flatMap((event) => (event.kind === 'refusal' ? [event.text] : []));
}
