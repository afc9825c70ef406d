import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

import type { AgentEvent, AgentReply } from '../../../src/agent/contract.ts';
import { createAgent } from '../../../src/agent/llm/llm-agent.ts';
import type { JsonObject } from '../../../src/json.ts';
import { agentRequest, type ObservedRequest } from '../../helpers/agent-request.ts';
import {
  type ModelServer,
  type ScriptedAnswer,
  type ScriptedCall,
  startModelServer,
} from '../../helpers/model-server.ts';

const schema: JsonObject = {
  type: 'object',
  properties: { $status: { const: 'done' }, count: { type: 'integer' } },
  required: ['$status', 'count'],
};
const report: ScriptedCall = { name: 'report_result', arguments: { result: { $status: 'done', count: 2 } } };
const withSummary = { result: { $status: 'done', count: 2, summary: 'Two found.' } };
const list: ScriptedCall = { name: 'list', arguments: {} };
const quick = { baseDelayMs: 1, maxDelayMs: 5 };

type Turn = { reply: AgentReply; request: ObservedRequest; server: ModelServer };

async function runTurn(
  script: Parameters<typeof startModelServer>[0],
  config: JsonObject = {},
  changes: Parameters<typeof agentRequest>[0] = {},
): Promise<Turn> {
  const server = await startModelServer(script);
  const agent = createAgent({ baseUrl: server.url, model: 'scripted', retry: quick, ...config });
  const request = agentRequest({ outputSchema: schema, ...changes });
  return { reply: await agent.run(request), request, server };
}

function kindsOf({ events }: ObservedRequest): AgentEvent['kind'][] {
  return events.map(({ kind }) => kind).filter((kind, index, all) => kind !== all[index - 1]);
}

function resultsIn({ events }: ObservedRequest): (AgentEvent & { kind: 'tool-result' })[] {
  return events.filter((event) => event.kind === 'tool-result');
}

/** Runs one call of a tool and gives what the model was told of it. */
async function call(name: string, input: JsonObject | string, config: JsonObject = {}, changes = {}): Promise<string> {
  const { request } = await runTurn([{ calls: [{ name, arguments: input }] }, { text: 'ok' }], config, changes);
  return resultsIn(request)[0]!.result;
}

describe('a turn', () => {
  test('a result reported by the tool is the meta and ends the turn, and the text beside it is the reply', async () => {
    const script: ScriptedAnswer[] = [{ thought: 'Let me see.', text: 'Two of **them**.', calls: [report] }];
    const { reply, request, server } = await runTurn(script);
    expect(reply).toEqual({
      kind: 'reply',
      text: 'Two of **them**.',
      meta: { $status: 'done', count: 2 },
      usage: { inputTokens: 10, outputTokens: 5, turns: 1 },
      stopReason: 'tool-calls',
    });
    expect(kindsOf(request).join(' ')).toBe('turn-start thought text usage tool-call tool-result turn-end');
    expect(server.requests).toHaveLength(1);
    expect(server.requests[0]!.messages.map(({ role }) => role)).toEqual(['system', 'user']);
    expect(server.requests[0]!.messages[1]!.content).toBe('Do the work.\n');
  });

  test.each([
    [
      'its summary, where nothing is said beside it',
      [{ calls: [{ ...report, arguments: withSummary }] }],
      'Two found.',
    ],
    ['else the last text before it', [{ text: 'Two, I think.', calls: [list] }, { calls: [report] }], 'Two, I think.'],
    ['else empty', [{ calls: [report] }], ''],
    ['the text beside it, not its summary', [{ text: 'Two!', calls: [{ ...report, arguments: withSummary }] }], 'Two!'],
    ['the text beside it without front matter', [{ text: '---\ncount: 3\n---\nTwo.', calls: [report] }], 'Two.'],
  ])('the body of a reported result is %s', async (_, script: ScriptedAnswer[], text) => {
    const { reply, server } = await runTurn(script);
    expect(reply).toMatchObject({ kind: 'reply', text, meta: { count: 2 } });
    expect(server.requests).toHaveLength(script.length);
  });

  test('the other calls of the answer that reports are done, in any order', async () => {
    const write = (path: string): ScriptedCall => ({ name: 'write_file', arguments: { path, content: 'x' } });
    const { reply, request, server } = await runTurn([{ text: 'Two.', calls: [write('a'), report, write('b')] }]);
    expect(reply).toMatchObject({ text: 'Two.', meta: { count: 2 } });
    expect(['a', 'b'].map((name) => existsSync(join(request.cwd, name)))).toEqual([true, true]);
    expect(server.requests).toHaveLength(1);
  });

  test('a result beside a call that fails is asked for again, once', async () => {
    const premature: ScriptedAnswer = { calls: [{ name: 'read_file', arguments: { path: 'nothing' } }, report] };
    const last: ScriptedCall = { name: 'report_result', arguments: { result: { $status: 'done', count: 3 } } };
    const corrected = await runTurn([premature, { calls: [list] }, { text: 'Three.', calls: [last] }]);
    expect(corrected.reply).toMatchObject({ text: 'Three.', meta: { count: 3 } });
    expect(corrected.server.requests).toHaveLength(3);
    const repeated = await runTurn([premature]);
    expect(repeated.reply).toMatchObject({ kind: 'reply', meta: { count: 2 } });
    expect(repeated.server.requests).toHaveLength(2);
    const atLimit = await runTurn([premature], { maxTurns: 1 });
    expect(atLimit.reply).toMatchObject({ kind: 'reply', meta: { count: 2 }, stopReason: 'max-turns' });
  });

  test('front matter is left for the engine where no result was reported', async () => {
    const text = '---\n$status: done\ncount: 1\n---\nOne.';
    expect((await runTurn([{ text }])).reply).toEqual({
      kind: 'reply',
      text,
      usage: { inputTokens: 10, outputTokens: 5, turns: 1 },
      stopReason: 'stop',
    });
  });

  test('the text arrives as it is streamed', async () => {
    const { request } = await runTurn([{ text: 'Twenty characters!!!' }]);
    const pieces = request.events.filter((event) => event.kind === 'text').map((event) => event.text);
    expect(pieces).toEqual(['Twenty c', 'haracter', 's!!!']);
  });

  test('a result that its schema refuses is answered with the reasons', async () => {
    const wrong: ScriptedCall = { name: 'report_result', arguments: { result: { $status: 'done', count: 'two' } } };
    const { reply, request, server } = await runTurn([{ calls: [wrong] }, { calls: [report] }]);
    expect(server.requests).toHaveLength(2);
    expect(resultsIn(request)[0]).toMatchObject({ result: 'meta.count must be an integer', isError: true });
    expect(reply).toMatchObject({ meta: { count: 2 } });
  });

  test('a result without its wrapping is a result', async () => {
    const bare: ScriptedCall = { name: 'report_result', arguments: { $status: 'done', count: 7 } };
    expect((await runTurn([{ calls: [bare] }])).reply).toMatchObject({ meta: { count: 7 } });
  });

  test('a further try goes on in the same conversation, and is told the corrections alone', async () => {
    const server = await startModelServer([{ text: 'What?' }, { calls: [report] }, { calls: [report] }]);
    const agent = createAgent({ baseUrl: server.url, model: 'scripted' });
    const first = agentRequest({ outputSchema: schema });
    await agent.run(first);
    const again = { ...first, attempt: 1, prompt: `${first.prompt}\n# Not accepted\n` };
    await agent.run(again);
    // The result was refused by a check of the role: its call is answered before the corrections.
    expect(await agent.run({ ...again, attempt: 2 })).toMatchObject({ kind: 'reply', meta: { count: 2 } });
    const roles = server.requests[2]!.messages.map(({ role }) => role);
    expect(roles).toEqual(['system', 'user', 'assistant', 'user', 'assistant', 'tool', 'user']);
    expect(server.requests[1]!.messages.slice(1).map(({ content }) => content)).toEqual([
      'Do the work.\n',
      'What?',
      '# Not accepted\n',
    ]);
  });

  test('settings, headers and the key reach the server, and the key nothing else', async () => {
    const env = { PATH: process.env['PATH'] ?? '', LLM_KEY: 'sk-very-secret' };
    const { reply, request, server } = await runTurn(
      [
        { calls: [{ name: 'write_file', arguments: { path: 'a', content: 'sk-very-secret' } }] },
        { calls: [{ name: 'read_file', arguments: { path: 'a' } }] },
        { text: 'It is sk-very-secret.' },
      ],
      { apiKeyEnv: 'LLM_KEY', temperature: 0.5, maxOutputTokens: 100, headers: { 'x-team': 'a' } },
      { env },
    );
    const { headers, body, path } = server.requests[0]!;
    expect(headers).toMatchObject({ authorization: 'Bearer sk-very-secret', 'x-team': 'a' });
    expect(body).toMatchObject({ model: 'scripted', temperature: 0.5, max_tokens: 100, stream: true });
    expect(path).toBe('/v1/chat/completions');
    const told = JSON.stringify(resultsIn(request)) + JSON.stringify(server.requests[2]!.messages.at(-1));
    expect(told).toContain('[key]');
    expect(told).not.toContain('sk-very-secret');
    expect(reply).toHaveProperty('kind', 'reply');
  });

  test('a missing key is said before anything is sent', async () => {
    await expect(runTurn([{ text: 'x' }], { apiKeyEnv: 'LLM_KEY' })).rejects.toMatchObject({
      code: 'agent-not-authorized',
      message: expect.stringContaining('LLM_KEY'),
    });
  });
});

describe('a server in trouble', () => {
  test('a 429 is waited for as long as it asks, in seconds', async () => {
    const script = [{ status: 429, headers: { 'retry-after': '1' } }, { text: 'Done.' }];
    const { reply, request, server } = await runTurn(script);
    expect(reply).toMatchObject({ kind: 'reply', text: 'Done.' });
    const text = expect.stringContaining('answered 429');
    expect(request.events).toContainEqual({ kind: 'pause', text, durationMs: 1000 });
    expect(server.requests[1]!.atMs - server.requests[0]!.atMs).toBeGreaterThan(950);
  });

  test('a 503 is waited for until the date it names', async () => {
    const date = new Date(Math.ceil(Date.now() / 1000) * 1000 + 1000).toUTCString();
    const { server } = await runTurn([{ status: 503, headers: { 'retry-after': date } }, { text: 'Done.' }]);
    // A timer may fire a millisecond early.
    expect(performance.timeOrigin + server.requests[1]!.atMs).toBeGreaterThan(Date.parse(date) - 5);
  });

  test('a server that asks for more time than is waited for suspends, saying so', async () => {
    const { reply, server } = await runTurn([{ status: 429, headers: { 'retry-after': '7200' } }]);
    const { due = 0 } = reply as { due?: number };
    const reason = expect.stringMatching(new RegExp(`429.*until ${new Date(due).toISOString()}$`, 'u'));
    expect(reply).toMatchObject({ kind: 'suspend', cause: 'agent', reason });
    expect(due).toBeGreaterThanOrEqual(server.requests[0]!.atMs + 7_200_000);
    expect(server.requests).toHaveLength(1);
  });

  test('a time to come back that is no date is not told', async () => {
    const { reply } = await runTurn([{ status: 503, headers: { 'retry-after': '9'.repeat(30) } }]);
    expect(reply).toMatchObject({
      kind: 'failed-attempt',
      isFinal: true,
      reason: expect.not.stringContaining('until'),
    });
    expect(reply).not.toHaveProperty('due');
  });

  const openAi = (message: string, code: string): string => JSON.stringify({ error: { message, code, type: 'x' } });
  test.each([
    [
      'OpenAI',
      400,
      openAi("This model's maximum context length is 8192 tokens. However, …", 'context_length_exceeded'),
    ],
    ['OpenAI, newly', 400, openAi('Your input exceeds the context window of this model.', 'context_length_exceeded')],
    ['Anthropic', 400, openAi('prompt is too long: 210000 tokens > 200000 maximum', 'invalid_request_error')],
    [
      'Gemini',
      400,
      `[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]`,
    ],
    [
      'llama.cpp',
      400,
      openAi('the request exceeds the available context size, try increasing it', 'exceed_context_size_error'),
    ],
    [
      'a proxy in front of one',
      500,
      openAi('litellm.BadRequestError: prompt is too long: 9 tokens > 8 maximum', '400'),
    ],
  ])('a prompt that is too long, in the words of %s, suspends with them and what helps', async (_, status, body) => {
    const { reply, server } = await runTurn([{ status, body }]);
    const value: unknown = JSON.parse(body);
    const [{ error }] = [value].flat() as [{ error: { message: string } }]; // as written above
    expect(reply).toMatchObject({
      kind: 'failed-attempt',
      isFinal: true,
      reason: expect.stringContaining(error.message.replace(/\.$/u, '')),
    });
    expect(reply).toMatchObject({ reason: expect.stringMatching(/^the prompt is too long for .*compact the thread/u) });
    expect(server.requests).toHaveLength(1);
  });

  test('what only sounds like it, does not: a limit of tokens for each minute is waited for', async () => {
    const body = openAi('Rate limit reached: tokens per min. Limit 10000; prompt is too long for it', 'rate_limit');
    const { reply } = await runTurn([{ status: 429, body }, { text: 'Done.' }]);
    expect(reply).toMatchObject({ text: 'Done.' });
  });

  test.each([500, 502, 503, 529])(
    'a %i is asked again, a bounded number of times, and then suspends',
    async (status) => {
      const { reply, server } = await runTurn([{ status }], { retry: { ...quick, maxRetries: 2 } });
      expect(server.requests).toHaveLength(3);
      expect(reply).toMatchObject({
        kind: 'failed-attempt',
        isFinal: true,
        reason: expect.stringContaining(String(status)),
      });
    },
  );

  test('a stream that is cut in the middle is asked for again, in a turn of its own', async () => {
    const { reply, request, server } = await runTurn([{ cutAfter: 'Half an ans' }, { text: 'A whole answer.' }]);
    // The half was paid for as well.
    expect(reply).toMatchObject({ text: 'A whole answer.', usage: { turns: 1, isAtLeast: true } });
    expect(kindsOf(request)).toEqual([
      'turn-start',
      'text',
      'usage',
      'turn-end',
      'pause',
      'turn-start',
      'text',
      'usage',
      'turn-end',
    ]);
    expect(server.requests[1]!.messages).toEqual(server.requests[0]!.messages);
  });

  test('a server that says nothing is asked again after requestTimeoutMs', async () => {
    const { reply, server } = await runTurn([{ silent: true }, { text: 'Done.' }], { requestTimeoutMs: 1500 });
    expect(reply).toMatchObject({ text: 'Done.' });
    expect(server.requests).toHaveLength(2);
  });

  test('a pause before the next request ends when the turn is aborted', async () => {
    const server = await startModelServer([{ status: 429, headers: { 'retry-after': '300' } }]);
    const controller = new AbortController();
    const agent = createAgent({ baseUrl: server.url, model: 'scripted' });
    const turn = agent.run(agentRequest({ signal: controller.signal }));
    const reason = new Error('enough');
    setTimeout(() => controller.abort(reason), 200);
    await expect(turn).rejects.toBe(reason);
  });

  test('nobody at the address is a failure with the reason, which is not tried again', async () => {
    const agent = createAgent({ baseUrl: 'http://127.0.0.1:9/v1', model: 'm', retry: { maxRetries: 0 } });
    expect(await agent.run(agentRequest())).toMatchObject({
      kind: 'failed-attempt',
      isFinal: true,
      reason: expect.stringMatching(/127\.0\.0\.1:9/),
    });
  });

  test('nobody at the address: a proxy that the environment names was not asked, which is said', async () => {
    const agent = createAgent({ baseUrl: 'http://127.0.0.1:9/v1', model: 'm', retry: { maxRetries: 0 } });
    const env = { HTTPS_PROXY: 'http://127.0.0.1:3128' };
    expect(await agent.run(agentRequest({ env }))).toMatchObject({
      reason: expect.stringMatching(/the proxy of HTTPS_PROXY was not asked/),
    });
    const told = agentRequest({ env: { ...env, NODE_USE_ENV_PROXY: '1' } });
    expect(await agent.run(told)).toMatchObject({ reason: expect.not.stringMatching(/proxy/) });
  });

  test('a key that is not accepted is the agent’s fault, and is not quoted', async () => {
    const body = JSON.stringify({ error: { message: 'Incorrect API key provided: sk-secret' } });
    const turn = runTurn([{ status: 401, body }], { apiKeyEnv: 'K' }, { env: { K: 'sk-secret' } });
    await expect(turn).rejects.toMatchObject({
      code: 'agent-not-authorized',
      kind: 'agent',
      message: expect.stringContaining('[key]'),
    });
    await expect(turn).rejects.not.toHaveProperty('cause');
  });

  test('a request that the server refuses is not sent again', async () => {
    const server = await startModelServer([{ status: 404, body: '{"error":{"message":"no model m"}}' }]);
    const agent = createAgent({ baseUrl: server.url, model: 'm' });
    await expect(agent.run(agentRequest())).rejects.toMatchObject({
      code: 'request-refused',
      kind: 'environment',
      message: expect.stringContaining('no model m'),
    });
    expect(server.requests).toHaveLength(1);
  });

  test('a redirect is not followed: neither the prompt nor the key goes to another host', async () => {
    const other = await startModelServer([{ text: 'Done.' }]);
    const location = `${other.url}/chat/completions`;
    const turn = runTurn(
      [{ status: 307, headers: { location } }],
      { apiKeyEnv: 'K', apiKeyHeader: 'api-key' },
      { env: { K: 'sk-secret' } },
    );
    await expect(turn).rejects.toMatchObject({
      code: 'request-refused',
      message: expect.stringContaining(location),
      hint: expect.stringContaining('baseUrl'),
    });
    expect(other.requests).toEqual([]);
  });

  test.each(['events', 'line'] as const)('a flood of one %s after the other is cut off', async (floodWith) => {
    const { reply, server } = await runTurn([{ floodWith }, { text: 'x' }]);
    expect(reply).toMatchObject({
      kind: 'failed-attempt',
      isFinal: true,
      reason: expect.stringMatching(/has more than (?:8388608 characters|16777216 bytes)/u),
    });
    expect(server.flooded()).toBeLessThan(200 * 1024 * 1024);
  });
});

describe('calls that the model gets wrong', () => {
  test('arguments that are no JSON are answered with what is wrong, and can be corrected', async () => {
    const { reply, request, server } = await runTurn([
      { calls: [{ name: 'report_result', arguments: '{"result": {"$status": "done", ' }] },
      { calls: [report] },
    ]);
    expect(resultsIn(request)[0]).toMatchObject({ isError: true, result: expect.stringContaining('cannot be read') });
    expect(server.requests[1]!.messages.at(-1)).toMatchObject({ role: 'tool' });
    expect(reply).toMatchObject({ kind: 'reply', meta: { count: 2 } });
  });

  test('a tool that there is not is answered with those that there are', async () => {
    expect(await call('delete_everything', {})).toMatch(
      /no tool 'delete_everything'; there is read_file, .*report_result/,
    );
  });

  test('arguments that do not fit are answered with the reasons', async () => {
    expect(await call('read_file', { file: 'a' })).toBe(
      "input lacks the property 'path'\ninput must not have the property 'file'",
    );
  });
});

describe('limits', () => {
  const busy: ScriptedAnswer = { calls: [{ name: 'list', arguments: {} }], text: 'Looking.' };

  test('at the limit of turns the thread suspends', async () => {
    const { reply, server } = await runTurn([busy], { maxTurns: 3 });
    expect(reply).toMatchObject({
      kind: 'suspend',
      cause: 'limit',
      reason: expect.stringContaining('3 turns'),
      text: 'Looking.',
    });
    expect(server.requests).toHaveLength(3);
  });

  test('at the limit of cost the thread suspends', async () => {
    const price = { inputPerMTok: 100_000, outputPerMTok: 0 };
    const { reply, server } = await runTurn([busy], { maxCostUsd: 1.5 }, { price });
    expect(reply).toMatchObject({ kind: 'suspend', cause: 'limit', usage: { turns: 2 } });
    expect(server.requests).toHaveLength(2);
  });

  test.each([
    [{ maxTurns: 2 }, '2 turns'],
    [{ maxCostUsd: 2 }, '2 US dollars'],
  ])('the tries of a turn count together: %j', async (config, said) => {
    const server = await startModelServer([{ text: 'What?' }]);
    const agent = createAgent({ baseUrl: server.url, model: 'scripted', ...config });
    const request = agentRequest({ outputSchema: schema, price: { inputPerMTok: 100_000, outputPerMTok: 0 } });
    const replies = [];
    for (const attempt of [0, 1, 2]) replies.push(await agent.run({ ...request, attempt }));
    expect(replies).toMatchObject([
      { kind: 'reply', usage: { turns: 1 } },
      { kind: 'reply', usage: { turns: 1 } },
      { kind: 'suspend', cause: 'limit', reason: expect.stringContaining(said), usage: { turns: 0 } },
    ]);
    expect(server.requests).toHaveLength(2);
  });

  test('an answer that was cut off at its limit is no reply', async () => {
    const { reply } = await runTurn([{ text: 'A long', finishReason: 'length' }]);
    expect(reply).toMatchObject({ kind: 'failed-attempt', text: 'A long' });
  });

  test('a model that refuses suspends', async () => {
    const { reply } = await runTurn([{ text: 'I cannot', finishReason: 'content_filter' }]);
    expect(reply).toMatchObject({ kind: 'suspend', cause: 'agent', reason: expect.stringContaining('refused') });
  });

  test('a long result is told by its beginning and its end', async () => {
    const content = `first\n${'x'.repeat(5000)}\nlast`;
    const write: ScriptedAnswer = { calls: [{ name: 'write_file', arguments: { path: 'a', content } }] };
    const read: ScriptedAnswer = { calls: [{ name: 'read_file', arguments: { path: 'a' } }] };
    const { request } = await runTurn([write, read, { text: 'ok' }], { maxToolResultCharacters: 200 });
    const told = resultsIn(request)[1]!.result;
    expect(told).toMatch(/^first\nx{69}\n\[… 4861 characters were left out here …\]\nx{70}\nlast$/);
  });

  test('a word that the cut tears is left out whole', async () => {
    const token = `key-${'k3y'.repeat(10)}`;
    const content = `${'word '.repeat(18)}${token} ${'word '.repeat(100)}${token} ${'word '.repeat(18)}`;
    const write: ScriptedAnswer = { calls: [{ name: 'write_file', arguments: { path: 'a', content } }] };
    const read: ScriptedAnswer = { calls: [{ name: 'read_file', arguments: { path: 'a' } }] };
    const { request } = await runTurn([write, read, { text: 'ok' }], { maxToolResultCharacters: 200 });
    const told = resultsIn(request)[1]!.result;
    expect(told).toMatch(/^(word )+\n\[… \d+ characters were left out here …\]\n( word)+ $/);
  });

  test('only the tools that the configuration names are offered, and the result', async () => {
    const { server } = await runTurn([{ text: 'ok' }], { tools: ['list'] });
    expect(server.requests[0]!.tools.map(({ name }) => name)).toEqual(['list', 'report_result']);
  });
});
