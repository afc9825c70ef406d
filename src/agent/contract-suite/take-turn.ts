import { onTestFinished } from 'vitest';

import type { Agent, AgentReply, AgentRequest } from '../contract.ts';
import type { AgentContract, AgentTurn } from './agent-contract.ts';
import { agentRequest } from './agent-request.ts';
import type { ObservedRequest } from './agent-request.ts';

/** An agent that is about to take a turn. */
export type ReadyTurn = { run: Agent['run']; request: ObservedRequest; close: () => Promise<void> };

/** Makes the agent of a turn and its request, and prepares what the turn needs; the agent is closed with the test. */
export async function readyTurn(
  { package: agentPackage, config }: AgentContract,
  turn: AgentTurn,
  more: Partial<AgentRequest> = {},
): Promise<ReadyTurn> {
  const request = agentRequest({ ...turn.request, ...more });
  Object.assign(request, await turn.prepare?.(request));
  // What one agent does to its configuration must not be seen by the next.
  const agent = await agentPackage.createAgent(structuredClone(turn.config ?? config));
  // To the engine it is all the same whether an agent throws or rejects.
  const run = async (request: AgentRequest): Promise<AgentReply> => agent.run(request);
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= agent.close?.() ?? Promise.resolve());
  onTestFinished(close);
  return { run, request, close };
}

/** Takes a turn to its end: the agent is closed, as the engine does it. */
export async function finishTurn({ run, request, close }: ReadyTurn): Promise<AgentReply> {
  const reply = await run(request);
  await close();
  return reply;
}
