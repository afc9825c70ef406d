import { parseNodeHash } from '../cas/hash.ts';
import { repositoryNodes } from '../cas/lookup/repository-nodes.ts';
import { getNode } from '../cas/node-source.ts';
import { builtIn, typeNameOf } from '../schema/built-in.ts';
import { threadCas } from '../thread/thread-cas.ts';
import { inputOf, threadArgument } from './mcp-tool.ts';
import type { McpContext, McpTool } from './mcp-tool.ts';
import { readableThread, writableThread } from './readable-threads.ts';
import { payloadOf } from '../schema/payload-of.ts';

/** How much of a long text is given at once, in characters. */
const PAGE = 100_000;

/** The tools that read nodes, and put texts under a thread. */
export function casTools(context: McpContext): McpTool[] {
  return [getTool(context), putTool(context)];
}

function getTool(context: McpContext): McpTool {
  return {
    name: 'cas_get',
    description: `Reads a node by its hash: a text, or JSON with its type. Long texts come in pieces of ${PAGE} characters.`,
    isReadOnly: true,
    inputSchema: inputOf(
      {
        hash: { type: 'string', description: '13 characters' },
        thread: { ...threadArgument, description: 'look only into the store of this thread' },
        offset: { type: 'integer', minimum: 0, description: 'where to go on in a long text' },
      },
      ['hash'],
    ),
    async run(input) {
      const { hash, thread, offset = 0 } = input as { hash: string; thread?: string; offset?: number };
      const { repository } = context;
      // Of a thread's history are its callers' nodes, and those of the threads that its steps called.
      const nodes =
        thread === undefined && context.thread === undefined
          ? repositoryNodes(repository)
          : threadCas(repository, await readableThread(context, input));
      const node = await getNode(nodes, parseNodeHash(hash.toUpperCase()));
      const { type, payload } = node;
      const text =
        type === builtIn.content
          ? payloadOf(node, 'content').text
          : JSON.stringify({ type: typeNameOf(type) ?? type, payload }, null, 2);
      const end = offset + PAGE;
      if (offset === 0 && end >= text.length) return text;
      const rest = end < text.length ? `; go on with offset ${end}` : '';
      const last = Math.min(end, text.length);
      return `${text.slice(offset, end)}\n[characters ${offset} to ${last} of ${text.length}${rest}]`;
    },
  };
}

function putTool(context: McpContext): McpTool {
  return {
    name: 'cas_put',
    description: 'Stores a text with the run for good (an artifact) and gives its hash, to be named in a result.',
    isReadOnly: false,
    inputSchema: inputOf({ text: { type: 'string' }, thread: threadArgument }, ['text']),
    async run(input) {
      const { text } = input as { text: string };
      const redaction = context.redaction();
      const hash = await threadCas(context.repository, await writableThread(context, input)).put(redaction.text(text));
      const rules = Object.keys(redaction.rules);
      return rules.length === 0
        ? hash
        : `${hash}\nThis is the hash of the text without its secrets: ${rules.join(', ')}.`;
    },
  };
}
