import { defaultTokens } from './conversation.ts';
import type { Conversation, Move } from './conversation.ts';
import { pieces } from './openai-dialect.ts';

type Part = { text?: string; functionCall?: object; functionResponse?: { response: unknown } };
type Body = { contents: { role: string; parts: Part[] }[]; tools?: { functionDeclarations?: { name: string }[] }[] };

/** Reads a request of the Gemini API (`generateContent`). */
export function readContents(body: unknown): Conversation {
  const { contents, tools = [] } = body as Body; // the fields that any client sends
  const isPrompt = ({ role, parts }: Body['contents'][number]): boolean =>
    role === 'user' && parts.every((part) => part.functionResponse === undefined);
  const lastPrompt = contents.findLastIndex(isPrompt);
  return {
    prompts: contents.filter(isPrompt).map(({ parts }) => parts.map(({ text = '' }) => text).join('\n')),
    results: contents
      .slice(lastPrompt + 1)
      .flatMap(({ parts }) =>
        parts.flatMap(({ functionResponse }) => (functionResponse ? [functionResponse.response] : [])),
      )
      .map((response) => JSON.stringify(response)),
    tools: tools.flatMap(({ functionDeclarations = [] }) => functionDeclarations.map(({ name }) => name)),
  };
}

/** Writes the answer to such a request, as the data of server-sent events. */
export function writeContents(move: Move): string[] {
  const parts =
    'text' in move
      ? pieces(move.text).map((text) => ({ text }))
      : [{ functionCall: { name: move.tool, args: move.arguments } }];
  const { input, output, cacheRead } = { ...defaultTokens, ...move.tokens };
  const counts = { promptTokenCount: input, cachedContentTokenCount: cacheRead, candidatesTokenCount: output };
  return parts.map((part, index) =>
    JSON.stringify({
      candidates: [
        {
          index: 0,
          content: { role: 'model', parts: [part] },
          ...(index === parts.length - 1 && { finishReason: 'STOP' }),
        },
      ],
      usageMetadata: { ...counts, totalTokenCount: input + output },
      modelVersion: 'scripted',
    }),
  );
}
