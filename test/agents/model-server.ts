import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import { readMessages, writeMessage } from './anthropic-dialect.ts';
import type { Conversation, Move } from './conversation.ts';
import { readContents, writeContents } from './gemini-dialect.ts';
import { readChat, writeChat } from './openai-dialect.ts';

/** A server of models on the loopback address. */
export type ModelServer = {
  /** `http://127.0.0.1:<port>` */
  url: string;
  /** What was asked, oldest first. */
  conversations: Conversation[];
  /** Requests that are none of a model's, as `GET /path`. */
  strays: string[];
  close(): Promise<void>;
};

/**
 * Starts a server that speaks as OpenAI's API (`/v1/chat/completions`), as Anthropic's (`/v1/messages`) and as the Gemini
 * API (`/v1beta/models/<model>:streamGenerateContent`), and says what `think` says.
 */
export async function startModelServer(think: (conversation: Conversation) => Move): Promise<ModelServer> {
  const conversations: Conversation[] = [];
  const strays: string[] = [];
  const server = createServer((request, response) => {
    void readJson(request).then((body) => {
      const path = request.url ?? '';
      const isChat = path.startsWith('/v1/chat/completions');
      const isMessages = /^\/v1\/messages(?:\?|$)/u.test(path);
      const method = /:(\w+)(?:\?|$)/u.exec(path)?.[1];
      if (method === 'countTokens') return answerJson(response, { totalTokens: 100 });
      if (path.startsWith('/v1/messages/count_tokens')) return answerJson(response, { input_tokens: 100 });
      if (!isChat && !isMessages && method !== 'streamGenerateContent' && method !== 'generateContent') {
        strays.push(`${request.method} ${path}`);
        return response.writeHead(404).end();
      }
      const conversation = withoutOwnBusiness(
        isChat ? readChat(body) : isMessages ? readMessages(body) : readContents(body),
      );
      conversations.push(conversation);
      const move = think(conversation);
      const id = conversations.length;
      const data = isChat ? writeChat(move, id) : isMessages ? writeMessage(move, id) : writeContents(move);
      return method === 'generateContent' ? answerJson(response, whole(data)) : answerStream(response, data);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // of a server that listens on a port
  return {
    url: `http://127.0.0.1:${port}`,
    conversations,
    strays,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** After a turn an agent may ask, with the tools of before, what to remember of it, or what a person might say next. */
function withoutOwnBusiness(conversation: Conversation): Conversation {
  const isOwn = /^(?:Managed memory has|\[SUGGESTION MODE)/u.test(conversation.prompts.at(-1) ?? '');
  return isOwn ? { ...conversation, tools: [] } : conversation;
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString();
  return text === '' ? undefined : JSON.parse(text);
}

function answerJson(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

function answerStream(response: ServerResponse, data: readonly string[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(data.map((event) => `${nameOf(event)}data: ${event}\n\n`).join(''));
}

/** The line that names an event of the Anthropic API, which has its name in its data as well. */
function nameOf(event: string): string {
  const type = /^\{"type":"(\w+)"/u.exec(event)?.[1];
  return type === undefined ? '' : `event: ${type}\n`;
}

/** All parts of a streamed answer in one. */
function whole(data: readonly string[]): unknown {
  const answers = data.map((event) => JSON.parse(event) as { candidates: { content: { parts: object[] } }[] });
  const [first] = answers;
  const parts = answers.flatMap(({ candidates }) => candidates.flatMap(({ content }) => content.parts));
  return {
    ...first,
    candidates: [{ ...first?.candidates[0], content: { role: 'model', parts }, finishReason: 'STOP' }],
  };
}
