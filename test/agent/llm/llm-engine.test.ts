import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

import type { TokenPrice } from '../../../src/agent/contract.ts';
import type { Config } from '../../../src/engine/config/config.ts';
import { readingContext } from '../../../src/engine/engine-context.ts';
import { verifyThread } from '../../../src/verify/verify-threads.ts';
import type { JsonObject } from '../../../src/json.ts';
import { getThread } from '../../../src/thread/find-thread.ts';
import { readThread } from '../../../src/thread/thread-chain.ts';
import { findNodeAt } from '../../../src/thread/thread-commit.ts';
import { configOf, createFixture, type EngineFixture, statuses, workflow } from '../../engine/engine-fixture.ts';
import { expectCleanFsck } from '../../helpers/temporary-repository.ts';
import {
  type ModelServer,
  type ScriptedAnswer,
  type ScriptedCall,
  startModelServer,
} from '../../helpers/model-server.ts';

const definition = workflow('solo', { worker: statuses('done') }, [
  { from: '__start__', to: 'worker', when: null },
  { from: 'worker', to: '__end__', when: null },
]);
const report: ScriptedCall = { name: 'report_result', arguments: { result: { $status: 'done' } } };
const ending: ScriptedAnswer = { text: 'It is done.', calls: [report] };

type Run = EngineFixture & { server: ModelServer; thread: string };

/** Starts a thread whose one role is done by a model that follows a script. */
async function start(
  script: Parameters<typeof startModelServer>[0],
  options: {
    config?: JsonObject;
    price?: TokenPrice;
    limits?: Config['limits'];
    env?: Record<string, string>;
    signal?: AbortSignal;
  } = {},
): Promise<Run> {
  const server = await startModelServer(script);
  const { env = {}, signal, limits, price } = options;
  const llm = { baseUrl: server.url, model: 'scripted', retry: { baseDelayMs: 1 }, ...options.config };
  const config = {
    ...configOf({ worker: { package: 'builtin:llm', config: llm, ...(price && { price }) } }),
    ...(limits && { limits }),
  };
  const fixture = await createFixture(config, {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    ...(signal && { signal }),
  });
  const { thread } = await fixture.engine.start({ definition, prompt: 'Do it.' });
  return { ...fixture, server, thread };
}

async function lastStep({
  repository,
  thread,
}: Run): Promise<{ meta: JsonObject; text: string; usage: unknown; attempts: number }> {
  const { id, head } = await getThread(repository, thread);
  const { commit, text } = (await readThread(repository, id, head)).steps.at(-1)!;
  return { meta: commit.node.meta, text, usage: commit.node.usage, attempts: commit.node.attempts.length };
}

describe('a thread whose role is done by a model', () => {
  test('runs to its end, with the reported result, the text and what it cost', async () => {
    const run = await start([ending], { price: { inputPerMTok: 1, outputPerMTok: 2 } });
    expect(await run.engine.run(run.thread)).toMatchObject({ event: 'thread.ended', text: 'It is done.' });
    expect(await lastStep(run)).toEqual({
      meta: { $status: 'done' },
      text: 'It is done.',
      usage: { inputTokens: 10, outputTokens: 5, turns: 1, costUsd: 0.00002 },
      attempts: 0,
    });
  });

  test('its record says with which model, and neither where nor with which key', async () => {
    const env = { LLM_KEY: 'sk-secret' };
    const run = await start([ending], { config: { apiKeyEnv: 'LLM_KEY', temperature: 0 }, env });
    await run.engine.run(run.thread);
    const { id, head } = await getThread(run.repository, run.thread);
    const state = await readThread(run.repository, id, head);
    const record = await findNodeAt(run.repository, state.start, 'agents/worker.json');
    expect(record?.payload).toEqual({
      name: 'worker-agent',
      package: 'builtin:llm',
      version: '1.0.0',
      config: { model: 'scripted', temperature: 0 },
    });
    const objects = run.git('cat-file', '--batch', '--batch-all-objects', '--buffer');
    expect(objects).toContain('scripted');
    expect(objects).not.toMatch(/sk-secret|LLM_KEY/u);
  });

  test('a 429 with Retry-After, a 503 and a cut stream are got over, in one try', async () => {
    const trouble: ScriptedAnswer[] = [
      { status: 429, headers: { 'retry-after': '1' } },
      { status: 503 },
      { cutAfter: 'Half' },
      ending,
    ];
    const run = await start(trouble);
    expect(await run.engine.run(run.thread)).toHaveProperty('event', 'thread.ended');
    expect(await lastStep(run)).toMatchObject({ text: 'It is done.', attempts: 0 });
    expect(run.server.requests).toHaveLength(4);
    expect(run.server.requests[1]!.atMs - run.server.requests[0]!.atMs).toBeGreaterThan(950);
  });

  test('a malformed call is corrected in the same try', async () => {
    const broken: ScriptedAnswer = { calls: [{ name: 'report_result', arguments: '{"result": {' }] };
    const run = await start([broken, ending]);
    expect(await run.engine.run(run.thread)).toHaveProperty('event', 'thread.ended');
    expect(await lastStep(run)).toMatchObject({ meta: { $status: 'done' }, attempts: 0 });
  });

  test('a reply without a result is asked for again, in the same conversation', async () => {
    const run = await start([{ text: 'I am ready.' }, ending]);
    expect(await run.engine.run(run.thread)).toHaveProperty('event', 'thread.ended');
    expect(await lastStep(run)).toMatchObject({ attempts: 1 });
    const roles = run.server.requests[1]!.messages.map(({ role }) => role);
    expect(roles).toEqual(['system', 'user', 'assistant', 'user']);
    expect(run.server.requests[1]!.messages.at(-1)!.content).toMatch(/^# Your last reply was not accepted/u);
  });

  test('a question that the model answers with a result alone has its fields as the answer', async () => {
    const answer: ScriptedCall = { name: 'report_result', arguments: { answer: 'Because it was red.' } };
    const run = await start([ending, { calls: [answer] }]);
    await run.engine.run(run.thread);
    expect(await run.engine.ask(run.thread, 'Why?')).toMatchObject({ text: 'answer: "Because it was red."\n' });
    expect(run.server.requests).toHaveLength(2);
  });

  test('a server that never answers meets the idle time-out; the thread suspends, and resumes', async () => {
    const script = (_: unknown, index: number): ScriptedAnswer => (index === 0 ? { silent: true } : ending);
    // A busy machine takes its time between two answers, too.
    const run = await start(script, { limits: { idleTimeoutMs: 3_000 } });
    expect(await run.engine.run(run.thread)).toMatchObject({
      event: 'thread.suspended',
      text: expect.stringContaining('no sign of life'),
    });
    expect(await run.engine.resume(run.thread)).toHaveProperty('event', 'thread.ended');
    expect(await lastStep(run)).toMatchObject({ text: 'It is done.' });
  });

  test('a model that says something now and then outlives the idle time-out', async () => {
    const slow: ScriptedAnswer = { text: 'x'.repeat(80), pauseMs: 500, calls: [report] };
    const run = await start([slow], { limits: { idleTimeoutMs: 3_000 } });
    expect(await run.engine.run(run.thread)).toHaveProperty('event', 'thread.ended');
  });

  test('a turn that ends while a command runs has in it what its answers have cost', async () => {
    const sleeping: ScriptedCall = { name: 'run_command', arguments: { command: 'sleep 60' } };
    const run = await start([{ calls: [sleeping] }], { limits: { timeoutMs: 4_000 } });
    const over = await run.engine.run(run.thread);
    expect(over).toMatchObject({ event: 'thread.suspended', cause: 'timeout' });
    const { payload } = JSON.parse(run.git('show', `${over.head}:suspend.json`)) as { payload: JsonObject };
    expect(payload['usage']).toEqual({ inputTokens: 10, outputTokens: 5, turns: 1 });
  });

  test('a turn that ends in the middle of an answer says that its cost is not known', async () => {
    const run = await start([{ text: 'x'.repeat(8000), pauseMs: 20 }], { limits: { timeoutMs: 4_000 } });
    const { head } = await run.engine.run(run.thread);
    const { payload } = JSON.parse(run.git('show', `${head}:suspend.json`)) as { payload: JsonObject };
    expect(payload['usage']).toMatchObject({ isAtLeast: true });
  });

  test('a key that is not accepted ends the run, and stores nothing', async () => {
    const run = await start([{ status: 401 }]);
    await expect(run.engine.run(run.thread)).rejects.toMatchObject({ kind: 'agent', code: 'agent-not-authorized' });
    expect(await run.engine.describe(run.thread)).toMatchObject({ status: 'idle', steps: 0 });
  });

  test.each([400, 401, 402, 404, 413])(
    'a %i after an answer suspends, and keeps what that said and cost',
    async (status) => {
      const list: ScriptedCall = { name: 'list', arguments: { path: '.' } };
      const begun: ScriptedAnswer = {
        text: 'I look around.',
        calls: [list],
        usage: { prompt_tokens: 7, completion_tokens: 3 },
      };
      let isWell = false;
      const run = await start(
        (_, index) => (isWell ? ending : index === 0 ? begun : { status, body: '{"error":"no more"}' }),
        { price: { inputPerMTok: 1_000_000, outputPerMTok: 0 } },
      );
      const over = await run.engine.run(run.thread);
      expect(over).toMatchObject({ event: 'thread.suspended', text: expect.stringContaining(`${status}: no more`) });
      const { head } = await readThread(run.repository, over.thread, over.head);
      const usage = { inputTokens: 7, outputTokens: 3, turns: 1, costUsd: 7 };
      expect(head).toMatchObject({ kind: 'suspend', node: { cause: 'agent', usage, react: expect.any(String) } });
      expect(run.git('show', `${over.head}:output.md`)).toBe('I look around.');
      expect(run.git('show', `${over.head}:trace/001/output.md`)).toBe('I look around.');
      expect(run.git('ls-tree', '-r', '--name-only', over.head)).toContain('trace/001/calls/1-list.result.md');
      isWell = true;
      expect(await run.engine.resume(run.thread)).toHaveProperty('event', 'thread.ended');
    },
  );

  test('so does one at a later try, and keeps the reply that was not accepted', async () => {
    const run = await start([{ text: 'I am ready.' }, { status: 401 }]);
    const over = await run.engine.run(run.thread);
    expect(over).toMatchObject({ event: 'thread.suspended', text: expect.stringContaining('401') });
    expect(run.git('show', `${over.head}:attempts/01/output.md`)).toBe('I am ready.');
  });

  test('a server that is busy for long suspends the thread until then', async () => {
    const run = await start([{ status: 429, headers: { 'retry-after': '86400' } }]);
    const over = await run.engine.run(run.thread);
    const { head } = await readThread(run.repository, over.thread, over.head);
    const due = head.kind === 'suspend' ? (head.node.due ?? 0) : 0;
    expect(due).toBeGreaterThan(86_400_000);
    expect(over.text).toContain(`until ${new Date(due).toISOString()}`);
    expectCleanFsck(run.dir);
    expect(await verifyThread(readingContext(run.repository), run.thread)).toMatchObject({ sound: true });
  });

  test('a server in trouble for good suspends the thread, which runs on when it is well again', async () => {
    let isWell = false;
    const run = await start(() => (isWell ? ending : { status: 503 }));
    expect(await run.engine.run(run.thread)).toMatchObject({
      event: 'thread.suspended',
      text: expect.stringContaining('503'),
    });
    isWell = true;
    expect(await run.engine.resume(run.thread)).toHaveProperty('event', 'thread.ended');
  });

  test('stopped in the middle of an answer, it runs on from where it was', async () => {
    const controller = new AbortController();
    const run = await start([{ silent: true }], { signal: controller.signal });
    const running = run.engine.run(run.thread);
    setTimeout(() => controller.abort(new Error('stop')), 300);
    await expect(running).rejects.toMatchObject({ kind: 'interrupted' });
    expect(await run.engine.describe(run.thread)).toMatchObject({ status: 'idle', steps: 0 });
  });

  test('a flood suspends the thread, and memory stays in bounds', async () => {
    const run = await start([{ floodWith: 'events' }], {});
    global.gc?.();
    const before = process.memoryUsage().rss;
    expect(await run.engine.run(run.thread)).toMatchObject({
      event: 'thread.suspended',
      text: expect.stringContaining('has more than'),
    });
    expect(process.memoryUsage().rss - before).toBeLessThan(400 * 1024 * 1024);
    expect(run.server.flooded()).toBeLessThan(200 * 1024 * 1024);
  });

  test('what it was kept from is in its trace', async () => {
    const calls: ScriptedCall[] = [
      { name: 'write_file', arguments: { path: '../outside', content: 'x' } },
      { name: 'write_file', arguments: { path: 'link/outside', content: 'x' } },
      { name: 'run_command', arguments: { command: 'echo x > ../outside; printenv LLM_KEY' } },
      { name: 'run_command', arguments: { command: 'printenv LLM_KEY' } },
    ];
    const run = await start([{ calls }, ending], {
      config: { apiKeyEnv: 'LLM_KEY' },
      env: { LLM_KEY: 'sk-secret' },
    });
    symlinkSync('..', join(run.dir, 'link'));
    mkdirSync(join(run.dir, 'inside'));
    await run.engine.run(run.thread);
    expect(existsSync(join(run.dir, '../outside'))).toBe(false);
    expect(run.server.requests[1]!.messages.filter(({ role }) => role === 'tool')).toHaveLength(4);
    const objects = run.git('cat-file', '--batch', '--batch-all-objects', '--buffer');
    expect(objects).not.toContain('sk-secret');
    expect(objects.match(/lies outside the working folder/gu)?.length).toBeGreaterThanOrEqual(2);
    expect(objects).toContain('LLM_KEY is kept from commands');
  });

  test('it reads the thread, and what it puts is taken in by its step', async () => {
    const calls: ScriptedCall[] = [
      { name: 'thread_read', arguments: {} },
      { name: 'cas_put', arguments: { text: 'An artifact.' } },
    ];
    const run = await start([{ calls }, ending]);
    await run.engine.run(run.thread);
    const [task, put] = run.server.requests[1]!.messages.filter(({ role }) => role === 'tool').map(
      ({ content }) => content,
    );
    expect(task).toContain('"text": "Do it."');
    const { id, head } = await getThread(run.repository, run.thread);
    const { steps } = await readThread(run.repository, id, head);
    expect(steps[0]!.commit.index.find(({ path }) => path.startsWith('artifacts/'))?.hash).toBe(put);
  });
});
