import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { describe, expect, onTestFinished, test } from 'vitest';

import type { JsonObject } from '../../src/json.ts';
import { createLoopRepository } from '../helpers/cli.ts';
import type { CliRepository } from '../helpers/cli.ts';
import { isolatedGitEnvironment } from '../helpers/temporary-repository.ts';

const program = resolve(import.meta.dirname, '../../bin/uwf.js');

/** Connects the official client to `uwf mcp`, as an agent would start it. */
async function connect(
  repository: CliRepository,
  env: Record<string, string> = {},
  words: readonly string[] = [],
): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [program, 'mcp', ...words],
      cwd: repository.dir,
      env: { PATH: process.env['PATH'] ?? '', ...isolatedGitEnvironment, ...env },
      stderr: 'ignore',
    }),
  );
  onTestFinished(() => client.close());
  return client;
}

async function call(client: Client, name: string, input: JsonObject = {}): Promise<{ text: string; isError: boolean }> {
  const { content, isError } = await client.callTool({ name, arguments: input });
  // uwf answers with one text.
  const [part] = content as [{ type: 'text'; text: string }];
  return { text: part.text, isError: isError === true };
}

async function read(client: Client, name: string, input: JsonObject = {}): Promise<unknown> {
  const { text, isError } = await call(client, name, input);
  expect(isError, text).toBe(false);
  return JSON.parse(text);
}

/** A repository whose loop has run to its end. */
async function withRun(): Promise<{ repository: CliRepository; thread: string }> {
  const repository = createLoopRepository();
  const events = await repository.lines(['run', 'loop', '-p', 'Write.']);
  return { repository, thread: String(events[0]!['thread']) };
}

/** A repository with a thread that has not run yet. */
async function withStart(): Promise<{ repository: CliRepository; thread: string }> {
  const repository = createLoopRepository();
  const started = await repository.json(['thread', 'start', 'loop', '-p', 'Write.']);
  return { repository, thread: (started as { thread: string }).thread };
}

/** A step's folder as the engine makes it. */
function stepFolder(repository: CliRepository, schema: JsonObject): string {
  const folder = join(repository.dir, '.git/uwf/steps/one');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'schema.json'), JSON.stringify(schema));
  return folder;
}

describe('a session of the official client', () => {
  test('is answered with structured content where the text is JSON and no object, as the Gemini CLI takes it', async () => {
    const { repository, thread } = await withStart();
    const client = await connect(repository, { UWF_THREAD: thread });
    const { text: hash } = await call(client, 'cas_put', { text: '[1, 2]' });
    const answers = [
      await client.callTool({ name: 'thread_list', arguments: {} }),
      await client.callTool({ name: 'cas_get', arguments: { hash } }),
      await client.callTool({ name: 'thread_show', arguments: {} }),
    ];
    expect(answers.map(({ structuredContent }) => structuredContent)).toEqual([
      { result: [expect.objectContaining({ thread })] },
      { result: [1, 2] },
      undefined,
    ]);
  });

  test('lists tools that its own check accepts, and says who it is', async () => {
    const { repository } = await withRun();
    const client = await connect(repository);
    const { tools } = await client.listTools();
    const names = ['thread_list', 'thread_show', 'thread_read', 'step_show', 'cas_get', 'cas_put', 'parent_context'];
    expect(tools.map(({ name }) => name)).toEqual(names);
    expect(client.getServerVersion()).toMatchObject({ name: 'uwf', version: expect.stringMatching(/^\d+\.\d+\.\d+/) });
    expect(tools.filter(({ annotations }) => annotations?.readOnlyHint === false).map(({ name }) => name)).toEqual([
      'cas_put',
    ]);
  });

  test('reads threads, what was said in them and their steps', async () => {
    const { repository, thread } = await withRun();
    const client = await connect(repository);
    expect(await read(client, 'thread_list')).toEqual([]);
    expect(await read(client, 'thread_list', { all: true })).toMatchObject([{ thread, status: 'ended', steps: 4 }]);
    expect(await read(client, 'thread_show', { thread })).toMatchObject({ thread, workflow: 'loop' });
    const said = await read(client, 'thread_read', { thread });
    expect(said).toMatchObject([
      { number: 0, role: null, text: 'Write.' },
      { number: 1, role: 'writer', meta: { $status: 'written', words: 2 }, text: '# A first draft' },
      { number: 2, role: 'checker' },
      { number: 3, role: 'writer' },
      { number: 4, role: 'checker', text: 'Good' },
    ]);
    const piece = await read(client, 'thread_read', { thread, limit: 2, before: 4 });
    expect(piece).toMatchObject([{ number: 2 }, { number: 3 }]);
    const { step } = (said as { step: string }[])[1]!;
    const shown = {
      thread,
      step,
      number: 1,
      role: 'writer',
      text: '# A first draft',
      prompt: expect.stringContaining('You write.'),
    };
    expect(await read(client, 'step_show', { thread, step: '1' })).toMatchObject(shown);
    expect(await read(client, 'step_show', { thread, step: step.slice(0, 8) })).toMatchObject(shown);
    expect((await read(client, 'cas_get', { hash: step })) as object).toMatchObject({
      type: 'thread-step',
      payload: { number: 1 },
    });
  });

  test('reads what a suspended turn asked and said, and what was answered', async () => {
    const repository = createLoopRepository({ writer: [{ suspend: 'Which language?', reply: '{{ answer }}' }] });
    const thread = await repository.start('loop', 'Write.');
    await repository.uwf(['thread', 'run', thread]);
    await repository.uwf(['thread', 'resume', thread, '-p', 'French']);
    const client = await connect(repository);
    const said = (await read(client, 'thread_read', { thread })) as JsonObject[];
    const refused = [1, 2, 3].map(() => ({ text: 'French', errors: [expect.stringContaining('front matter')] }));
    expect(said).toMatchObject([
      { kind: 'start', number: 0 },
      { kind: 'suspend', reason: 'Which language?', cause: 'agent', text: '' },
      { kind: 'resume', text: 'French' },
      { kind: 'suspend', cause: 'invalid-reply', text: 'French', refused },
    ]);
    const [, asked, , gaveUp] = said.map((entry) => entry['suspension']);
    for (const [step, text, errors] of [
      [asked, '', []],
      [gaveUp, 'French', refused],
    ]) {
      expect(await read(client, 'step_show', { thread, step: step! })).toMatchObject({ step, text, refused: errors });
    }
    expect(await read(client, 'thread_show', { thread })).toMatchObject({ suspension: { suspension: gaveUp } });
  });

  test('puts a text under its thread, reads it back, and the next step takes it in', async () => {
    const { repository, thread } = await withStart();
    const client = await connect(repository, { UWF_THREAD: thread });
    const { text: hash } = await call(client, 'cas_put', { text: 'An artifact, größer than ASCII 🎈' });
    expect(await call(client, 'cas_get', { hash })).toEqual({
      text: 'An artifact, größer than ASCII 🎈',
      isError: false,
    });
    await repository.uwf(['thread', 'step', thread]);
    expect(await read(client, 'step_show', { step: '1' })).toMatchObject({ artifacts: [hash] });
  });

  test('long texts come in pieces that make the whole', async () => {
    const { repository, thread } = await withStart();
    const client = await connect(repository, { UWF_THREAD: thread });
    const whole = 'abcdefghij'.repeat(25_000);
    const { text: hash } = await call(client, 'cas_put', { text: whole });
    let got = '';
    for (let offset = 0; offset < whole.length; offset += 100_000) {
      const { text } = await call(client, 'cas_get', { hash, offset });
      const [piece, note] = text.split('\n');
      expect(note).toMatch(new RegExp(`^\\[characters ${offset} to \\d+ of 250000`, 'u'));
      got += piece;
    }
    expect(got).toBe(whole);
  });

  test('a child is told of its parent, and a root that it has none', async () => {
    const repository = createLoopRepository();
    repository.write('.uwf/workflows/outer.yaml', outerWorkflow);
    repository.write('.uwf/config.yaml', outerConfig);
    expect((await repository.uwf(['run', 'outer', '-p', 'The great task.'])).code).toBe(0);
    const client = await connect(repository);
    const threads = (await read(client, 'thread_list', { all: true })) as { thread: string; workflow: string }[];
    const of = (workflow: string): string => threads.find((thread) => thread.workflow === workflow)!.thread;
    expect(await read(client, 'parent_context', { thread: of('loop') })).toMatchObject({
      thread: of('outer'),
      role: 'caller',
      task: 'The great task.',
      steps: [{ number: 1, role: 'planner', text: 'A plan.' }],
    });
    const { text } = await call(client, 'parent_context', { thread: of('outer') });
    expect(text).toContain('was called by no other');
  });
});

describe('what is wrong is an answer', () => {
  test.each([
    ['cas_get', { hash: 'ZZZZZZZZZZZZZ' }, 'ZZZZZZZZZZZZZ'],
    ['cas_get', { hash: 'no hash' }, 'no hash'],
    ['cas_get', {}, "input lacks the property 'hash'"],
    ['thread_read', { limit: 0 }, 'input.limit'],
    ['thread_read', { thred: 'x' }, "'thred'"],
    ['thread_read', {}, 'no thread was named'],
    ['thread_show', { thread: '01ZZZZ' }, '01ZZZZ'],
    ['step_show', { step: '99' }, 'no thread was named'],
    ['cas_put', { text: 'x' }, 'no thread was named'],
  ])('%s with %j', async (name, input, words) => {
    const { repository } = await withStart();
    const client = await connect(repository);
    const { text, isError } = await call(client, name, input);
    expect(isError).toBe(true);
    expect(text.toUpperCase()).toContain(words.toUpperCase());
  });

  test('a tool that there is not is an error of the protocol', async () => {
    const { repository } = await withStart();
    const client = await connect(repository);
    await expect(call(client, 'rm_rf')).rejects.toThrow("there is no tool 'rm_rf'");
  });

  test('a message that is too long to read ends the server, which says so', async () => {
    const { repository } = await withStart();
    const { code, stdout, stderr } = await repository.uwf(['mcp'], { input: 'x'.repeat(64 * 1024 * 1024 + 1) });
    expect([code, JSON.parse(stdout)]).toMatchObject([1, { id: null, error: { code: -32_600 } }]);
    expect(stderr).toContain('uwf: the client sent a single message of more than 67108864 bytes');
  });
});

describe('report_result', () => {
  const schema: JsonObject = {
    type: 'object',
    properties: { $status: { const: 'written' }, words: { type: 'integer' } },
    required: ['$status', 'words'],
  };

  test('is there when a step waits for a result, with the role’s schema as its input', async () => {
    const { repository, thread } = await withStart();
    const plain: JsonObject = { type: 'object', properties: { words: { type: 'integer' } }, required: ['words'] };
    for (const [given, expected] of [
      [plain, plain],
      // Models' servers take no argument that begins with a $: the schema lies one deeper then.
      [schema, { type: 'object', properties: { result: schema }, required: ['result'], additionalProperties: false }],
    ] as const) {
      const client = await connect(repository, { UWF_THREAD: thread, UWF_STEP_DIR: stepFolder(repository, given) });
      const { tools } = await client.listTools();
      expect(tools.find(({ name }) => name === 'report_result')?.inputSchema).toEqual(expected);
    }
  });

  test('is the only tool with --result-only', async () => {
    const { repository, thread } = await withStart();
    const env = { UWF_THREAD: thread, UWF_STEP_DIR: stepFolder(repository, schema) };
    const client = await connect(repository, env, ['--result-only']);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['report_result']);
    await expect(call(client, 'cas_put', { text: 'a' })).rejects.toThrow("no tool 'cas_put'");
  });

  test('takes a result, wrapped or not, and the last one stays', async () => {
    const { repository, thread } = await withStart();
    const folder = stepFolder(repository, schema);
    const client = await connect(repository, { UWF_THREAD: thread, UWF_STEP_DIR: folder });
    for (const [words, input] of [
      [3, { result: { $status: 'written', words: 3 } }],
      [4, { $status: 'written', words: 4 }],
    ] as const) {
      expect(await call(client, 'report_result', input)).toHaveProperty('isError', false);
      expect(JSON.parse(readFileSync(join(folder, 'result.json'), 'utf8'))).toEqual({ $status: 'written', words });
    }
    expect(readdirSync(folder).toSorted()).toEqual(['mcp-asked.jsonl', 'result.json', 'schema.json']);
  });

  test('refuses what the schema refuses, and writes nothing', async () => {
    const { repository, thread } = await withStart();
    const folder = stepFolder(repository, schema);
    const client = await connect(repository, { UWF_THREAD: thread, UWF_STEP_DIR: folder });
    const wrong = await call(client, 'report_result', { result: { $status: 'written', words: 'three' } });
    expect(wrong).toEqual({ text: expect.stringContaining('meta.words must be an integer'), isError: true });
    expect(await call(client, 'report_result')).toHaveProperty('isError', true);
    expect(existsSync(join(folder, 'result.json'))).toBe(false);
  });
});

test('two servers at once put into one thread, and nothing is lost', async () => {
  const { repository, thread } = await withStart();
  const clients = await Promise.all([1, 2].map(() => connect(repository, { UWF_THREAD: thread })));
  const puts = clients.flatMap((client, server) =>
    [1, 2, 3, 4, 5].map((number) => call(client, 'cas_put', { text: `${server}.${number}` })),
  );
  const hashes = (await Promise.all(puts)).map(({ text, isError }) => {
    expect(isError, text).toBe(false);
    return text;
  });
  const listed = (await repository.json(['cas', 'list', '--thread', thread])) as { hash: string }[];
  expect(listed.map(({ hash }) => hash).toSorted()).toEqual(hashes.toSorted());
});

const outerWorkflow = `name: outer
description: plans, and has a loop do it
roles:
  planner: { description: plans, systemPrompt: You plan., schema: { type: object, properties: { $status: { const: planned } }, required: [$status] } }
  caller: { description: calls, systemPrompt: You call., schema: { type: object, properties: { $status: { const: done } }, required: [$status] } }
moderator:
  - { from: __start__, to: planner, when: null }
  - { from: planner, to: caller, when: null, prompt: "Write it." }
  - { from: caller, to: __end__, when: null }
`;

const outerConfig = JSON.stringify({
  agents: {
    script: {
      package: 'builtin:scripted',
      config: {
        repeat: true,
        replies: {
          planner: ['---\n$status: planned\n---\nA plan.'],
          writer: ['---\n$status: written\nwords: 2\n---\nA draft'],
          checker: ['---\n$status: accepted\n---\nGood'],
        },
      },
    },
    loop: { package: 'builtin:workflow', config: { workflow: 'loop' } },
  },
  defaultAgent: 'script',
  roles: { 'outer.caller': 'loop' },
});

test('a line that is no message is answered with an error of JSON-RPC, and the next one is read', () => {
  const { dir } = createLoopRepository();
  const lines = [
    'garbage',
    '[]',
    '{"jsonrpc":"2.0","id":7}',
    '{"result":1}',
    '{"jsonrpc":"2.0","id":8,"method":"ping"}',
  ];
  const input = Buffer.concat([Buffer.from([0xff, 0x0a]), Buffer.from(`${lines.join('\n')}\n`)]);
  const { stdout } = spawnSync(process.execPath, [program, 'mcp'], { cwd: dir, env: isolatedGitEnvironment, input });
  const answers = stdout.toString().trimEnd().split('\n');
  const fault = (id: number | null, code: number): object => ({
    jsonrpc: '2.0',
    id,
    error: expect.objectContaining({ code }),
  });
  expect(answers.map((line) => JSON.parse(line) as unknown)).toEqual([
    fault(null, -32_700),
    fault(null, -32_700),
    fault(null, -32_600),
    fault(7, -32_600),
    { jsonrpc: '2.0', id: 8, result: {} },
  ]);
});
