import { readingContext } from '../engine/engine-context.ts';
import { describeThread } from '../engine/describe/describe.ts';
import { listThreads } from '../engine/describe/list-threads.ts';
import { UwfError } from '../errors.ts';
import type { JsonObject } from '../json.ts';
import { getThread } from '../thread/find-thread.ts';
import { readTextAt } from '../thread/thread-commit.ts';
import { findStart, readChain, readReply } from '../thread/thread-chain.ts';
import { readSaid } from '../thread/read-said.ts';
import { readRefused } from '../thread/context/exchange.ts';
import { callerCommit, type CommitOf } from '../thread/thread-state.ts';
import { threadStatuses } from '../thread/thread-status.ts';
import { inputOf, numberInput, textInput, threadInput } from './mcp-tool.ts';
import type { McpTool } from './mcp-tool.ts';
import { readableThreads, threadIn } from './readable-threads.ts';

const count = { type: 'integer', minimum: 1, maximum: 1000 };

const listTool: McpTool = {
  name: 'thread_list',
  description: 'Lists runs of workflows (threads), those that wait for a person first, then the newest.',
  isReadOnly: true,
  inputSchema: inputOf({
    limit: { ...count, description: 'at most so many (20)' },
    all: { type: 'boolean', description: 'those that are over as well' },
  }),
  async run(input, scope) {
    const among = await readableThreads(scope, readingContext(scope.repository));
    return listThreads(readingContext(scope.repository), {
      limit: numberInput(input, 'limit') ?? 20,
      statuses: input['all'] === true ? threadStatuses : undefined,
      among,
    });
  },
};

const showTool: McpTool = {
  name: 'thread_show',
  description: 'Shows where a run stands: its status, who is next, its parent and children.',
  isReadOnly: true,
  inputSchema: inputOf({ thread: threadInput }),
  async run(input, scope) {
    return describeThread(readingContext(scope.repository), await threadIn(scope, input, 'read'));
  },
};

const readTool: McpTool = {
  name: 'thread_read',
  description:
    'Reads what was said in a run, oldest first: the task (number 0), the reply of every step, what suspended turns asked and said, and what was answered.',
  isReadOnly: true,
  inputSchema: inputOf({
    thread: threadInput,
    limit: { ...count, description: 'only the last so many steps (20)' },
    before: { type: 'integer', minimum: 1, description: 'only steps before the one with this number' },
  }),
  async run(input, scope) {
    const options = { limit: numberInput(input, 'limit') ?? 20, before: numberInput(input, 'before') };
    return readSaid(scope.repository, await threadIn(scope, input, 'read'), options);
  },
};

const stepTool: McpTool = {
  name: 'step_show',
  description:
    'Shows a turn of a run, also one that was suspended: what its role was told, what it replied, which replies were not accepted, what it cost.',
  isReadOnly: true,
  inputSchema: inputOf(
    {
      thread: threadInput,
      step: {
        type: 'string',
        minLength: 1,
        description: 'a step by its number, or the first characters of the hash of a step or suspension',
      },
    },
    ['step'],
  ),
  async run(input, scope) {
    const step = textInput(input, 'step') ?? '';
    const { id, head } = await getThread(scope.repository, await threadIn(scope, input, 'read'));
    for await (const commit of readChain(scope.repository, head)) {
      if ((commit.kind !== 'step' && commit.kind !== 'suspend') || !isMeant(step, commit)) continue;
      const prompt = await readTextAt(scope.repository, commit, 'prompt.md');
      const hasText = commit.node.content !== null;
      const text = hasText ? await readTextAt(scope.repository, commit, 'output.md') : '';
      const refused = await readRefused(scope.repository, commit);
      const artifacts = commit.index.filter(({ path }) => path.startsWith('artifacts/')).map(({ hash }) => hash);
      return { thread: id, step: commit.hash, ...commit.node, prompt, text, refused, artifacts };
    }
    throw new UwfError(`thread ${id} has no step or suspension '${step}'`, {
      code: 'step-not-found',
      kind: 'usage',
      hint: 'thread_read lists both, with their numbers and hashes',
    });
  },
};

/** A text of few digits is a step's number: it is too short for a hash. */
function isMeant(text: string, { kind, node, hash }: CommitOf<'step' | 'suspend'>): boolean {
  const isNumber = /^\d{1,6}$/u.test(text);
  return isNumber ? kind === 'step' && Number(text) === node.number : hash.startsWith(text.toUpperCase());
}

/** Tells an agent in a child thread of the thread that called it. */
export const parentTool: McpTool = {
  name: 'parent_context',
  description:
    'Tells of the run that called this one: its task, the role that called, and what was said there last. Read on with ' +
    'thread_read and cas_get.',
  isReadOnly: true,
  inputSchema: inputOf({
    thread: threadInput,
    limit: { type: 'integer', minimum: 1, maximum: 100, description: 'only the last so many replies (5)' },
  }),
  async run(input, scope) {
    const limit = numberInput(input, 'limit') ?? 5;
    const { repository } = scope;
    const { id, head } = await getThread(repository, await threadIn(scope, input, 'read'));
    const start = await findStart(repository, head);
    const caller = start && callerCommit(start);
    const parent = caller === undefined ? undefined : await findStart(repository, caller);
    if (start === undefined || caller === undefined || parent === undefined) {
      return `thread ${id} was called by no other`;
    }
    const steps: JsonObject[] = [];
    for await (const commit of readChain(repository, caller)) {
      if (steps.length >= limit) break;
      if (commit.kind !== 'step') continue;
      const { number, role, meta } = commit.node;
      const text = await readTextAt(repository, commit, 'output.md');
      steps.unshift({ number, role, step: commit.hash, meta, text });
    }
    return {
      thread: parent.node.id,
      role: start.node.parentRole,
      state: start.node.parentState,
      prompt: parent.node.prompt,
      task: await readReply(repository, parent),
      steps,
    };
  },
};

/** The tools that read threads and their steps. */
export const threadTools: readonly McpTool[] = [listTool, showTool, readTool, stepTool];
