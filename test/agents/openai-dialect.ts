import { defaultTokens } from './conversation.ts';
import type { Conversation, Move } from './conversation.ts';

type Message = { role: string; content?: string | { type: string; text?: string }[] | null };
type Body = { messages: Message[]; tools?: { function: { name: string } }[]; stream?: boolean; model: string };

/** Reads a request for a chat completion. */
export function readChat(body: unknown): Conversation {
  const { messages, tools = [] } = body as Body; // the fields that any client sends
  const lastPrompt = messages.findLastIndex(({ role }) => role === 'user');
  return {
    prompts: messages.filter(({ role }) => role === 'user').map(textOf),
    results: messages
      .slice(lastPrompt + 1)
      .filter(({ role }) => role === 'tool')
      .map(textOf),
    tools: tools.map((tool) => tool.function.name),
  };
}

/** Writes the answer to such a request as the data of server-sent events. */
export function writeChat(move: Move, id: number): string[] {
  const deltas =
    'text' in move
      ? pieces(move.text).map((content) => ({ content }))
      : [
          {
            tool_calls: [
              { index: 0, id: `call_${id}`, type: 'function', function: { name: move.tool, arguments: '' } },
            ],
          },
          { tool_calls: [{ index: 0, function: { arguments: JSON.stringify(move.arguments) } }] },
        ];
  const reason = 'text' in move ? 'stop' : 'tool_calls';
  const { input, output, cacheRead } = { ...defaultTokens, ...move.tokens };
  const usage = {
    prompt_tokens: input,
    prompt_tokens_details: { cached_tokens: cacheRead },
    completion_tokens: output,
    total_tokens: input + output,
  };
  const chunk = (choice: object, more: object = {}): string =>
    JSON.stringify({
      id: `chat_${id}`,
      object: 'chat.completion.chunk',
      created: 0,
      model: 'scripted',
      choices: [choice],
      ...more,
    });
  return [
    chunk({ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }),
    ...deltas.map((delta) => chunk({ index: 0, delta, finish_reason: null })),
    chunk({ index: 0, delta: {}, finish_reason: reason }, { usage }),
    '[DONE]',
  ];
}

function textOf({ content }: Message): string {
  if (typeof content === 'string') return content;
  return (content ?? []).map(({ text = '' }) => text).join('\n');
}

/** A text in two pieces, as a model says it bit by bit. */
export function pieces(text: string): string[] {
  const half = Math.ceil(text.length / 2);
  return [text.slice(0, half), text.slice(half)];
}
