import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { onTestFinished } from 'vitest';

import type { JsonObject, JsonValue } from '../../src/json.ts';

/** A tool call of the model; `arguments` as text is sent unchanged, also if it is not JSON. */
export type ScriptedCall = { name: string; arguments: JsonObject | string; id?: string };

/** The server's answer to a request. */
export type ScriptedAnswer =
  | {
      text?: string;
      thought?: string;
      calls?: readonly ScriptedCall[];
      usage?: { prompt_tokens: number; completion_tokens: number };
      finishReason?: string;
      /** The pause between two pieces of the text. */
      pauseMs?: number;
    }
  /** A status other than 200. */
  | { status: number; headers?: Record<string, string>; body?: string }
  /** Breaks the connection after this text. */
  | { cutAfter: string }
  /** Never answers. */
  | { silent: true }
  /** Writes bytes until the client closes: lines of events, or one line without an end. */
  | { floodWith: 'events' | 'line' };

/** A received request. */
export type ModelRequest = {
  path: string;
  headers: IncomingMessage['headers'];
  messages: { role: string; content: JsonValue; tool_calls?: JsonValue; tool_call_id?: string }[];
  tools: { name: string; parameters: JsonObject }[];
  body: JsonObject;
  atMs: number;
};

export type ModelServer = {
  /** The value of `baseUrl`. */
  url: string;
  requests: ModelRequest[];
  /** Those of them that have been answered to the end. */
  answered: Set<ModelRequest>;
  /** Bytes that were written in a flood. */
  flooded(): number;
};

type Script = (request: ModelRequest, index: number) => ScriptedAnswer;

/**
 * Starts a server on 127.0.0.1 for OpenAI's chat completions with streaming, which answers from a script. It is closed at
 * the end of the test.
 * @param script an answer for each request, the last one repeated; or a function that chooses
 * @param closeAfter gets the function that closes the server, if the end of the test must not (`afterAll`)
 */
export async function startModelServer(
  script: readonly ScriptedAnswer[] | Script,
  closeAfter: (close: () => void) => void = onTestFinished,
): Promise<ModelServer> {
  const answerTo: Script =
    typeof script === 'function' ? script : (_, index) => script[Math.min(index, script.length - 1)]!;
  const requests: ModelRequest[] = [];
  const answered = new Set<ModelRequest>();
  let floodedBytes = 0;
  const server = createServer((request, response) => {
    void readBody(request).then((body) => {
      const seen = asModelRequest(request, body);
      requests.push(seen);
      response.once('finish', () => answered.add(seen));
      return answer(response, answerTo(seen, requests.length - 1), (bytes) => (floodedBytes += bytes));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closeAfter(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo; // of a server that listens on a port
  return { url: `http://127.0.0.1:${port}/v1`, requests, answered, flooded: () => floodedBytes };
}

async function answer(
  response: ServerResponse,
  scripted: ScriptedAnswer,
  onFlood: (bytes: number) => void,
): Promise<void> {
  response.on('error', () => {});
  if ('silent' in scripted) return;
  if ('status' in scripted) {
    response.writeHead(scripted.status, { 'content-type': 'application/json', ...scripted.headers });
    response.end(scripted.body ?? JSON.stringify({ error: { message: `status ${scripted.status}` } }));
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  if ('floodWith' in scripted) return flood(response, scripted.floodWith, onFlood);
  if ('cutAfter' in scripted) {
    response.write(eventOf({ content: scripted.cutAfter }));
    setTimeout(() => response.destroy(), 20);
    return;
  }
  const { text, thought, calls = [], usage, finishReason, pauseMs = 0 } = scripted;
  if (thought !== undefined) response.write(eventOf({ reasoning_content: thought }));
  for (const piece of text?.match(/[^]{1,8}/gu) ?? []) {
    if (pauseMs > 0) await pause(pauseMs);
    response.write(eventOf({ content: piece }));
  }
  for (const [index, call] of calls.entries()) {
    const id = call.id ?? `call_${index}`;
    const whole = typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments);
    response.write(
      eventOf({ tool_calls: [{ index, id, type: 'function', function: { name: call.name, arguments: '' } }] }),
    );
    for (const piece of whole.match(/[^]{1,12}/gu) ?? []) {
      response.write(eventOf({ tool_calls: [{ index, function: { arguments: piece } }] }));
    }
  }
  response.write(eventOf({}, finishReason ?? (calls.length > 0 ? 'tool_calls' : 'stop')));
  response.write(
    `data: ${JSON.stringify({ choices: [], usage: usage ?? { prompt_tokens: 10, completion_tokens: 5 } })}\n\n`,
  );
  response.end('data: [DONE]\n\n');
}

async function flood(
  response: ServerResponse,
  kind: 'events' | 'line',
  onFlood: (bytes: number) => void,
): Promise<void> {
  const chunk = kind === 'line' ? 'x'.repeat(1024 * 1024) : eventOf({ content: 'x'.repeat(64 * 1024) }).repeat(16);
  if (kind === 'line') response.write('data: {"choices":[{"delta":{"content":"');
  for (let written = 0; written < 1024 ** 3 && !response.destroyed; written += chunk.length) {
    onFlood(chunk.length);
    if (response.write(chunk)) continue;
    const either = new AbortController();
    await Promise.race(['drain', 'close'].map((name) => once(response, name, { signal: either.signal }))).catch(
      () => {},
    );
    either.abort();
  }
  response.end();
}

function eventOf(delta: JsonObject, finishReason: string | null = null): string {
  const chunk = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'scripted' };
  return `data: ${JSON.stringify({ ...chunk, choices: [{ index: 0, delta, finish_reason: finishReason }] })}\n\n`;
}

async function readBody(request: IncomingMessage): Promise<JsonObject> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return JSON.parse(text) as JsonObject; // clients of this server send JSON objects
}

function asModelRequest({ url = '', headers }: IncomingMessage, body: JsonObject): ModelRequest {
  // The form of a request for chat completions.
  const { messages, tools = [] } = body as {
    messages: ModelRequest['messages'];
    tools?: { function: { name: string; parameters: JsonObject } }[];
  };
  return {
    path: url,
    headers,
    messages,
    tools: tools.map((tool) => ({ name: tool.function.name, parameters: tool.function.parameters })),
    body,
    atMs: performance.now(),
  };
}
