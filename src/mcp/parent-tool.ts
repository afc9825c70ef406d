import { readChain } from '../thread/chain.ts';
import { getThread } from '../thread/find-thread.ts';
import { readStart } from '../thread/read-start.ts';
import { readTextAt } from '../thread/thread-commit.ts';
import type { JsonObject } from '../json.ts';
import { inputOf, threadArgument } from './mcp-tool.ts';
import type { McpContext, McpTool } from './mcp-tool.ts';
import { readableThread } from './readable-threads.ts';

/** The tool that tells an agent in a child thread of the thread that called it. */
export function parentTool(context: McpContext): McpTool {
  return {
    name: 'parent_context',
    description:
      'Tells of the run that called this one: its task, the role that called, and what was said there last. Read on with ' +
      'thread_read and cas_get.',
    isReadOnly: true,
    inputSchema: inputOf({
      thread: threadArgument,
      limit: { type: 'integer', minimum: 1, maximum: 100, description: 'only the last so many replies (5)' },
    }),
    async run(input) {
      const { limit = 5 } = input as { limit?: number };
      const { repository } = context;
      const { id, head } = await getThread(repository, await readableThread(context, input));
      const start = await readStart(repository, head);
      const caller = start?.commit.parents[0];
      const parent = caller === undefined ? undefined : await readStart(repository, caller);
      if (start === undefined || caller === undefined || parent === undefined) {
        return `thread ${id} was called by no other`;
      }
      const steps: JsonObject[] = [];
      for await (const commit of readChain(repository, caller)) {
        if (steps.length >= limit) break;
        if (commit.kind !== 'step') continue;
        const { number, role, meta } = commit.node;
        steps.unshift({
          number,
          role,
          step: commit.hash,
          meta,
          text: await readTextAt(repository, commit, 'output.md'),
        });
      }
      return {
        thread: parent.node.id,
        role: start.node.parentRole,
        state: start.node.parentState,
        prompt: parent.node.prompt,
        task: await readTextAt(repository, parent, 'prompt.md'),
        steps,
      };
    },
  };
}
