import { defaultTokens } from './conversation.ts';
import type { Conversation, Move } from './conversation.ts';
import { pieces } from './openai-dialect.ts';

type Block = { type: string; text?: string; content?: string | Block[] };
type Body = { messages: { role: string; content: string | Block[] }[]; tools?: { name: string }[] };

/** Reads a request of the Anthropic API (`/v1/messages`). */
export function readMessages(body: unknown): Conversation {
  const { messages, tools = [] } = body as Body; // the fields that any client sends
  const said = messages.map(({ role, content }) => ({ role, blocks: blocksOf(content) }));
  const isPrompt = ({ role, blocks }: (typeof said)[number]): boolean =>
    role === 'user' && blocks.every(({ type }) => type !== 'tool_result');
  const lastPrompt = said.findLastIndex(isPrompt);
  return {
    prompts: said.filter(isPrompt).map(({ blocks }) => textOf(blocks)),
    results: said
      .slice(lastPrompt + 1)
      .flatMap(({ blocks }) => blocks.filter(({ type }) => type === 'tool_result'))
      .map(({ content }) => blocksOf(content ?? ''))
      // A tool that was looked for and found is among `tools`, and no result.
      .filter((blocks) => !blocks.some(({ type }) => type === 'tool_reference'))
      .map(textOf),
    tools: tools.map(({ name }) => name),
  };
}

/** Writes the answer to such a request as the data of server-sent events. */
export function writeMessage(move: Move, id: number): string[] {
  const { input, output, cacheRead, cacheWrite } = { ...defaultTokens, ...move.tokens };
  // This API counts what a cache had, or got, beside the other tokens.
  const usage = {
    input_tokens: input - cacheRead - cacheWrite,
    cache_read_input_tokens: cacheRead,
    cache_creation_input_tokens: cacheWrite,
  };
  const [block, deltas, reason] =
    'text' in move
      ? [{ type: 'text', text: '' }, pieces(move.text).map((text) => ({ type: 'text_delta', text })), 'end_turn']
      : [
          { type: 'tool_use', id: `toolu_${id}`, name: move.tool, input: {} },
          [{ type: 'input_json_delta', partial_json: JSON.stringify(move.arguments) }],
          'tool_use',
        ];
  const message = { id: `msg_${id}`, type: 'message', role: 'assistant', model: 'scripted', content: [] };
  return [
    {
      type: 'message_start',
      message: { ...message, stop_reason: null, stop_sequence: null, usage: { ...usage, output_tokens: 1 } },
    },
    { type: 'content_block_start', index: 0, content_block: block },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index: 0, delta })),
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason: reason, stop_sequence: null },
      usage: { ...usage, output_tokens: output },
    },
    { type: 'message_stop' },
  ].map((event) => JSON.stringify(event));
}

function blocksOf(content: string | Block[]): Block[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content;
}

function textOf(blocks: readonly Block[]): string {
  return blocks.map(({ text = '' }) => text).join('\n');
}
