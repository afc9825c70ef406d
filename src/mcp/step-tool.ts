import { UwfError } from '../errors.ts';
import { readChain } from '../thread/chain.ts';
import { getThread } from '../thread/find-thread.ts';
import { readRefused } from '../thread/read-suspension.ts';
import { readTextAt } from '../thread/thread-commit.ts';
import type { CommitOf } from '../thread/thread-state.ts';
import { inputOf, threadArgument } from './mcp-tool.ts';
import type { McpContext, McpTool } from './mcp-tool.ts';
import { readableThread } from './readable-threads.ts';

/** A thread has no such step. */
class StepNotFound extends UwfError {
  constructor(thread: string, step: string) {
    super(`thread ${thread} has no step or suspension '${step}'`, {
      code: 'step-not-found',
      kind: 'usage',
      hint: 'thread_read lists both, with their numbers and hashes',
    });
  }
}

/** The tool that shows a step with all that belongs to it. */
export function stepTool(context: McpContext): McpTool {
  return {
    name: 'step_show',
    description:
      'Shows a turn of a run, also one that was suspended: what its role was told, what it replied, which replies were not accepted, what it cost.',
    isReadOnly: true,
    inputSchema: inputOf(
      {
        thread: threadArgument,
        step: {
          type: 'string',
          minLength: 1,
          description: 'a step by its number, or the first characters of the hash of a step or suspension',
        },
      },
      ['step'],
    ),
    async run(input) {
      const { step } = input as { step: string };
      const { id, head } = await getThread(context.repository, await readableThread(context, input));
      for await (const commit of readChain(context.repository, head)) {
        if ((commit.kind !== 'step' && commit.kind !== 'suspend') || !isMeant(step, commit)) continue;
        const prompt = await readTextAt(context.repository, commit, 'prompt.md');
        const hasText = commit.node.content !== null;
        const text = hasText ? await readTextAt(context.repository, commit, 'output.md') : '';
        const refused = await readRefused(context.repository, commit);
        const artifacts = commit.index.filter(({ path }) => path.startsWith('artifacts/')).map(({ hash }) => hash);
        return { thread: id, step: commit.hash, ...commit.node, prompt, text, refused, artifacts };
      }
      throw new StepNotFound(id, step);
    },
  };
}

/** A number of few digits is a number: nobody means a hash by so little. */
function isMeant(text: string, { kind, node, hash }: CommitOf<'step' | 'suspend'>): boolean {
  const isNumber = /^\d{1,6}$/u.test(text);
  return isNumber ? kind === 'step' && Number(text) === node.number : hash.startsWith(text.toUpperCase());
}
