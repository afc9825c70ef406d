import { isJsonObject } from '../../../json.ts';
import type { AgentRequest } from '../../contract.ts';
import { integerSchema, objectSchema, textSchema } from '../../../schema/typed-schema.ts';
import { defineTool, ToolFailure } from './tool.ts';
import type { Tool } from './tool.ts';

/** The tools that read the thread's own history and its store of nodes, and put texts into it. */
export function ownThreadTools({ cas, readThread }: Pick<AgentRequest, 'cas' | 'readThread'>): Tool[] {
  return [
    defineTool({
      name: 'thread_read',
      description:
        'Reads what was said before in this run: the task and the replies of all roles, the newest ones last.',
      input: objectSchema(
        {},
        {
          limit: integerSchema('only the last so many (20)', 1, { maximum: 100 }),
          before: integerSchema('only steps before the one with this number', 1),
        },
      ),
      async run({ limit = 20, before }) {
        const said = await readThread({ limit, ...(before !== undefined && { before }) });
        return said.map((entry) => JSON.stringify(entry, null, 2)).join('\n') || '[nothing was said]';
      },
    }),
    defineTool({
      name: 'cas_get',
      description: 'Reads a node of this run by its hash: a text that was put, a step, an artifact.',
      input: objectSchema({ hash: textSchema('13 characters') }, {}),
      async run({ hash }) {
        const payload = await cas.get(hash.toUpperCase());
        if (payload === undefined) throw new ToolFailure(`this run has no node ${hash}`);
        const only = isJsonObject(payload) && Object.keys(payload).length === 1 ? payload['text'] : payload;
        return typeof only === 'string' ? only : JSON.stringify(payload, null, 2);
      },
    }),
    defineTool({
      name: 'cas_put',
      description: 'Stores a text with this run for good and gives its hash, to be named in a result.',
      input: objectSchema({ text: textSchema() }, {}),
      run: ({ text }) => cas.put(text),
    }),
  ];
}
