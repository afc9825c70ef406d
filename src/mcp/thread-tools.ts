import { createContext } from '../engine/context.ts';
import type { EngineContext } from '../engine/context.ts';
import { describeThread, listThreads } from '../engine/describe.ts';
import { readSaid } from '../thread/read-said.ts';
import { inputOf, threadArgument } from './mcp-tool.ts';
import { readableThread, readableThreads } from './readable-threads.ts';
import { threadStatuses } from '../thread/thread-status.ts';
import type { McpContext, McpTool } from './mcp-tool.ts';

const count = { type: 'integer', minimum: 1, maximum: 1000 };

/** The tools that look at threads. */
export function threadTools(context: McpContext): McpTool[] {
  return [listTool(context), showTool(context), readTool(context)];
}

function listTool(context: McpContext): McpTool {
  return {
    name: 'thread_list',
    description: 'Lists runs of workflows (threads), those that wait for a person first, then the newest.',
    isReadOnly: true,
    inputSchema: inputOf({
      limit: { ...count, description: 'at most so many (20)' },
      all: { type: 'boolean', description: 'those that are over as well' },
    }),
    async run(input) {
      const { limit = 20, all = false } = input as { limit?: number; all?: boolean };
      const among = await readableThreads(context, reading(context));
      return listThreads(reading(context), {
        limit,
        ...(all && { statuses: threadStatuses }),
        ...(among && { among }),
      });
    },
  };
}

function showTool(context: McpContext): McpTool {
  return {
    name: 'thread_show',
    description: 'Shows where a run stands: its status, who is next, its parent and children.',
    isReadOnly: true,
    inputSchema: inputOf({ thread: threadArgument }),
    run: async (input) => describeThread(reading(context), await readableThread(context, input)),
  };
}

function readTool(context: McpContext): McpTool {
  return {
    name: 'thread_read',
    description:
      'Reads what was said in a run, oldest first: the task (number 0), the reply of every step, what suspended turns asked and said, and what was answered.',
    isReadOnly: true,
    inputSchema: inputOf({
      thread: threadArgument,
      limit: { ...count, description: 'only the last so many steps (20)' },
      before: { type: 'integer', minimum: 1, description: 'only steps before the one with this number' },
    }),
    async run(input) {
      const { limit = 20, before } = input as { limit?: number; before?: number };
      const options = { limit, ...(before !== undefined && { before }) };
      return readSaid(context.repository, await readableThread(context, input), options);
    },
  };
}

/** What looking at threads needs: no agents and no configuration. */
function reading({ repository }: McpContext): EngineContext {
  return createContext({ repository, config: { agents: {}, roles: {} } }, () =>
    Promise.reject(new Error('a server that only looks runs no child thread')),
  );
}
