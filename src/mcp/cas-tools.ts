import { parseNodeHash } from '../cas/hash.ts';
import { repositoryNodes } from '../cas/lookup.ts';
import { getNode } from '../cas/node.ts';
import { builtIn, payloadOf, typeNameOf } from '../schema/built-in.ts';
import { threadCas, type ThreadCas } from '../thread/thread-cas.ts';
import { inputOf, numberInput, textInput, threadInput } from './mcp-tool.ts';
import type { McpScope, McpTool } from './mcp-tool.ts';
import { threadIn } from './readable-threads.ts';

/** How much of a long text is given at once, in characters. */
const MAX_CHARACTERS = 100_000;

const getTool: McpTool = {
  name: 'cas_get',
  description: `Reads a node by its hash: a text, or JSON with its type. Long texts come in pieces of ${MAX_CHARACTERS} characters.`,
  isReadOnly: true,
  inputSchema: inputOf(
    {
      hash: { type: 'string', description: '13 characters' },
      thread: { ...threadInput, description: 'look only into the store of this thread' },
      offset: { type: 'integer', minimum: 0, description: 'where to go on in a long text' },
    },
    ['hash'],
  ),
  async run(input, scope) {
    const offset = numberInput(input, 'offset') ?? 0;
    const { repository } = scope;
    // A thread's history includes the nodes of its callers and of the children that its steps took in.
    const nodes =
      textInput(input, 'thread') === undefined && scope.thread === undefined
        ? repositoryNodes(repository)
        : storeOf(scope, await threadIn(scope, input, 'read'));
    const node = await getNode(nodes, parseNodeHash((textInput(input, 'hash') ?? '').toUpperCase()));
    const { type, payload } = node;
    const text =
      type === builtIn.content
        ? payloadOf(node, 'content').text
        : JSON.stringify({ type: typeNameOf(type) ?? type, payload }, null, 2);
    const end = offset + MAX_CHARACTERS;
    if (offset === 0 && end >= text.length) return text;
    const rest = end < text.length ? `; go on with offset ${end}` : '';
    const last = Math.min(end, text.length);
    return `${text.slice(offset, end)}\n[characters ${offset} to ${last} of ${text.length}${rest}]`;
  },
};

const putTool: McpTool = {
  name: 'cas_put',
  description: 'Stores a text with the run for good (an artifact) and gives its hash, to be named in a result.',
  isReadOnly: false,
  inputSchema: inputOf({ text: { type: 'string' }, thread: threadInput }, ['text']),
  async run(input, scope) {
    const text = textInput(input, 'text') ?? '';
    const redaction = scope.redaction();
    const hash = await threadCas(scope.repository, await threadIn(scope, input, 'put')).put(redaction.text(text));
    const rules = Object.keys(redaction.rules);
    return rules.length === 0
      ? hash
      : `${hash}\nThis is the hash of the text without its secrets: ${rules.join(', ')}.`;
  },
};

/** The store that was read last remembers what it has read: an agent reads node by node, and mostly in its own thread. */
const lastStores = new WeakMap<McpScope, { thread: string; store: ThreadCas }>();

function storeOf(scope: McpScope, thread: string): ThreadCas {
  const last = lastStores.get(scope);
  if (last?.thread === thread) return last.store;
  const store = threadCas(scope.repository, thread);
  lastStores.set(scope, { thread, store });
  return store;
}

/** The tools that read nodes, and put texts under a thread. */
export const casTools: readonly McpTool[] = [getTool, putTool];
