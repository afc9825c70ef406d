import { isJsonObject } from '../../../json.ts';
import type { JsonObject } from '../../../json.ts';
import type { AgentRequest } from '../../contract.ts';
import { ToolFailure } from './tool.ts';
import type { Tool } from './tool.ts';

/** The tools that read the thread's own history and its store of nodes, and put texts into it. */
export function threadTools({ cas, readThread }: Pick<AgentRequest, 'cas' | 'readThread'>): Tool[] {
  return [
    {
      name: 'thread_read',
      description:
        'Reads what was said before in this run: the task and the replies of all roles, the newest ones last.',
      inputSchema: objectOf({
        limit: { type: 'integer', minimum: 1, maximum: 100, description: 'only the last so many (20)' },
        before: { type: 'integer', minimum: 1, description: 'only steps before the one with this number' },
      }),
      async run(input) {
        const { limit = 20, before } = input as { limit?: number; before?: number };
        const said = await readThread({ limit, ...(before !== undefined && { before }) });
        return said.map((entry) => JSON.stringify(entry, null, 2)).join('\n') || '[nothing was said]';
      },
    },
    {
      name: 'cas_get',
      description: 'Reads a node of this run by its hash: a text that was put, a step, an artifact.',
      inputSchema: objectOf({ hash: { type: 'string', description: '13 characters' } }, ['hash']),
      async run(input) {
        const { hash } = input as { hash: string };
        const payload = await cas.get(hash.toUpperCase());
        if (payload === undefined) throw new ToolFailure(`this run has no node ${hash}`);
        const text = isJsonObject(payload) && Object.keys(payload).length === 1 ? payload['text'] : payload;
        return typeof text === 'string' ? text : JSON.stringify(payload, null, 2);
      },
    },
    {
      name: 'cas_put',
      description: 'Stores a text with this run for good and gives its hash, to be named in a result.',
      inputSchema: objectOf({ text: { type: 'string' } }, ['text']),
      run(input) {
        const { text } = input as { text: string };
        return cas.put(text);
      },
    },
  ];
}

function objectOf(properties: JsonObject, required: string[] = []): JsonObject {
  return { type: 'object', properties, required, additionalProperties: false };
}
