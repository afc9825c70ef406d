import { UwfError } from '../errors.ts';
import { readChain } from '../thread/chain.ts';
import { getThread } from '../thread/find-thread.ts';
import { readTextAt } from '../thread/thread-commit.ts';
import { inputOf, threadArgument, threadOf } from './mcp-tool.ts';
import type { McpContext, McpTool } from './mcp-tool.ts';

/** A thread has no such step. */
class StepNotFound extends UwfError {
  constructor(thread: string, step: string) {
    super(`thread ${thread} has no step '${step}'`, {
      code: 'step-not-found',
      kind: 'usage',
      hint: 'thread_read lists the steps with their numbers and hashes',
    });
  }
}

/** The tool that shows a step with all that belongs to it. */
export function stepTool(context: McpContext): McpTool {
  return {
    name: 'step_show',
    description: 'Shows a step of a run: what its role was told, what it replied, how long it took, what it cost.',
    isReadOnly: true,
    inputSchema: inputOf(
      {
        thread: threadArgument,
        step: { type: 'string', minLength: 1, description: 'its number, or the first characters of its hash' },
      },
      ['step'],
    ),
    async run(input) {
      const { step } = input as { step: string };
      const { id, head } = await getThread(context.repository, threadOf(context, input));
      for await (const commit of readChain(context.repository, head)) {
        if (commit.kind !== 'step' || !isMeant(step, commit.node.number, commit.hash)) continue;
        const prompt = await readTextAt(context.repository, commit, 'prompt.md');
        const text = await readTextAt(context.repository, commit, 'output.md');
        const artifacts = commit.index.filter(({ path }) => path.startsWith('artifacts/')).map(({ hash }) => hash);
        return { thread: id, step: commit.hash, ...commit.node, prompt, text, artifacts };
      }
      throw new StepNotFound(id, step);
    },
  };
}

/** A number of few digits is a number: nobody means a hash by so little. */
function isMeant(text: string, number: number, hash: string): boolean {
  return /^\d{1,6}$/u.test(text) ? Number(text) === number : hash.startsWith(text.toUpperCase());
}
