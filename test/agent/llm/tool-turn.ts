import { createAgent } from '../../../src/agent/llm/llm-agent.ts';
import type { AgentEvent, AgentRequest } from '../../../src/agent/contract.ts';
import type { JsonObject } from '../../../src/json.ts';
import { agentRequest } from '../../helpers/agent-request.ts';
import { startModelServer } from '../../helpers/model-server.ts';

/** What came of a call: what the model was told, and what was told of it. */
export type ToolTurn = { result: string; isError: boolean; refusals: string[]; events: AgentEvent[] };

/** Has a model call a tool once. */
export async function callTool(
  name: string,
  input: JsonObject,
  options: Partial<AgentRequest> & { config?: JsonObject } = {},
): Promise<ToolTurn> {
  const { config = {}, ...changes } = options;
  const server = await startModelServer([{ calls: [{ name, arguments: input }] }, { text: 'Done.' }]);
  const request = agentRequest(changes);
  await createAgent({ baseUrl: server.url, model: 'scripted', ...config }).run(request);
  const { events } = request;
  const found = events.find((event) => event.kind === 'tool-result');
  if (found === undefined) throw new Error(`${name} was not called`);
  const refusals = events.flatMap((event) => (event.kind === 'refusal' ? [event.text] : []));
  return { result: found.result, isError: found.isError === true, refusals, events };
}
