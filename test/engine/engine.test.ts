import { describe, expect, test } from 'vitest';
import { UwfError } from '../../src/errors.ts';
import { installReportingAgent, reportingConfig } from '../helpers/reporting-agent.ts';
import { expectCleanFsck } from '../helpers/temporary-repository.ts';
import { configOf, createFixture, reply, scripted, statuses, workflow } from './engine-fixture.ts';

const loop = workflow('loop', { writer: statuses('written'), checker: statuses('rejected', 'accepted') }, [
  { from: '__start__', to: 'writer', when: null },
  { from: 'writer', to: 'checker', when: null },
  { from: 'checker', to: 'writer', when: "$steps[-1].meta.`$status` = 'rejected'", prompt: 'Again: {{ _body }}' },
  { from: 'checker', to: '__end__', when: null },
]);

const twice = {
  writer: [reply('written', 'One.'), reply('written', 'Two.')],
  checker: [reply('rejected', 'Too short.'), reply('accepted', 'Good.')],
};

test('a start with a limit that no thread can have is refused, and stores nothing', async () => {
  const { engine, git } = await createFixture(scripted(twice));
  for (const limits of [{ timeoutMs: 0 }, { maxSteps: 1.5 }, { maxCostUsd: -1 }]) {
    const [name = ''] = Object.keys(limits);
    await expect(engine.start({ definition: loop, prompt: 'x', limits })).rejects.toMatchObject({
      code: 'invalid-limits',
      message: expect.stringContaining(`limits.${name} must be`) as string,
    });
  }
  expect(git('for-each-ref', 'refs/threads')).toBe('');
});

test.each<[string, object]>([
  ['a limit that there is not', { limits: { maxStep: 3 } }],
  ['a schema that is none', { definition: { ...loop, roles: { writer: { ...loop.roles['writer'], schema: 5 } } } }],
  [
    'a schema that JSON Schema refuses',
    { definition: { ...loop, roles: { writer: { ...loop.roles['writer'], schema: { type: 'nope' } } } } },
  ],
  ['a name that no workflow can have', { definition: { ...loop, name: '../loop' } }],
  [
    'retries that no role can have',
    { definition: { ...loop, roles: { writer: { ...loop.roles['writer'], retries: -1 } } } },
  ],
])('a start with %s, by a program that nothing checks, stores nothing', async (_, options) => {
  const { engine, git } = await createFixture(scripted(twice));
  const started = engine.start({ definition: loop, prompt: 'x', ...options });
  await expect(started).rejects.toThrow(UwfError);
  expect(git('for-each-ref')).toBe('');
});

test.each([{ cwd: '.' }, { cwd: '' }, { workTrees: 'trees' }])('a relative path is refused: %j', async (options) => {
  await expect(createFixture(scripted(twice), options)).rejects.toMatchObject({
    code: 'relative-path',
    kind: 'usage',
    message: expect.stringContaining(`'${Object.keys(options)[0]}'`) as string,
  });
});

describe('run', () => {
  test('hands the work from role to role until the moderator ends it', async () => {
    const { engine, events, dir, git } = await createFixture(scripted(twice));
    const { thread } = await engine.start({ definition: loop, prompt: 'Write.' });
    const over = await engine.run(thread);
    expect(over).toMatchObject({ event: 'thread.ended', thread, status: 'ended', returnCode: 0, text: 'Good.\n' });
    expect(
      events.filter((event) => event.event === 'step.finished').map((event) => [event.role, event.outcome]),
    ).toEqual([
      ['writer', 'written'],
      ['checker', 'rejected'],
      ['writer', 'written'],
      ['checker', 'accepted'],
    ]);
    expect(events.at(-1)).toEqual(over);
    expect(await engine.describe(thread)).toMatchObject({
      status: 'ended',
      workflow: 'loop',
      steps: 4,
      nextRole: null,
    });
    expect(git('log', '--format=%s', '--reverse', over.head).split('\n')).toEqual([
      'loop: Write.',
      'writer: One.',
      'checker: Too short.',
      'writer: Two.',
      'checker: Good.',
      'completed: Good.',
    ]);
    expectCleanFsck(dir);
  });

  test('the edge prompt, the task, the instructions and the last text are what a role is told', async () => {
    const { engine, git } = await createFixture(scripted(twice));
    const { thread } = await engine.start({ definition: loop, prompt: 'Write about the sea.' });
    const { head } = await engine.run(thread);
    const prompt = git('show', `${head}~2:prompt.md`);
    expect(prompt).toContain('Be the writer.');
    expect(prompt).toContain('Write about the sea.');
    expect(prompt).toContain('Again: Too short.');
    expect(prompt).toMatch(/\$status: written/);
  });

  test('does one step at a time, too, and says who is next', async () => {
    const { engine } = await createFixture(scripted(twice));
    const { thread } = await engine.start({ definition: loop, prompt: 'Write.' });
    expect(await engine.step(thread)).toMatchObject({ thread, status: 'idle', role: 'writer', nextRole: 'checker' });
    expect(await engine.describe(thread)).toMatchObject({ status: 'idle', steps: 1, nextRole: 'checker' });
    expect(await engine.step(thread)).toMatchObject({ role: 'checker', nextRole: 'writer' });
    await engine.step(thread);
    const last = await engine.step(thread);
    expect(last).toMatchObject({ role: 'checker', status: 'ended', nextRole: null, over: { event: 'thread.ended' } });
    expect(await engine.step(thread)).toMatchObject({ role: null, step: null, status: 'ended', head: last.head });
  });
});

describe('a rule to __end__', () => {
  test('gives the summary and the return code; another than 0 is failed', async () => {
    const definition = workflow('judge', { judge: statuses('bad') }, [
      { from: '__start__', to: 'judge', when: null },
      { from: 'judge', to: '__end__', when: null, returnCode: 7, prompt: 'It was {{ steps.last.status }}.' },
    ]);
    const { engine } = await createFixture(scripted({ judge: [reply('bad')] }));
    const { thread } = await engine.start({ definition, prompt: 'x' });
    const over = await engine.run(thread);
    expect(over).toMatchObject({ event: 'thread.failed', status: 'failed', returnCode: 7, text: 'It was bad.' });
  });
});

describe('a definition that cannot go on', () => {
  test.each([
    [
      'no rule matches',
      [
        { from: '__start__', to: 'a', when: null },
        { from: 'a', to: '__end__', when: 'false' },
      ],
    ],
    [
      'a rule fails',
      [
        { from: '__start__', to: 'a', when: null },
        { from: 'a', to: '__end__', when: '$error("no")' },
      ],
    ],
  ])('ends the thread as failed: %s', async (_name, rules) => {
    const { engine, dir } = await createFixture(scripted({ a: [reply('done')] }));
    const { thread } = await engine.start({ definition: workflow('w', { a: statuses('done') }, rules), prompt: 'x' });
    const over = await engine.run(thread);
    expect(over).toMatchObject({ event: 'thread.failed', status: 'failed', returnCode: 1 });
    expect(over.text).not.toBe('');
    expectCleanFsck(dir);
  });
});

describe('a reply that does not validate', () => {
  const definition = workflow('w', { a: statuses('done') }, [
    { from: '__start__', to: 'a', when: null },
    { from: 'a', to: '__end__', when: null },
  ]);

  test('is asked for again with the errors, and kept as an attempt', async () => {
    const { engine, git } = await createFixture(
      scripted({ a: [{ reply: reply('odd'), retries: ['no front matter', reply('done')] }] }),
    );
    const { thread } = await engine.start({ definition, prompt: 'x' });
    const { head } = await engine.run(thread);
    const step = JSON.parse(git('show', `${head}^:step.json`)) as { payload: { attempts: string[] } };
    expect(step.payload.attempts).toHaveLength(2);
    expect(git('show', `${head}^:attempts/02/output.md`)).toContain('no front matter');
  });

  test('after two more tries the thread is suspended, and resuming tries again', async () => {
    const bad = { reply: reply('odd') };
    const { engine, repository, dir } = await createFixture(scripted({ a: [bad] }));
    const { thread } = await engine.start({ definition, prompt: 'x' });
    const over = await engine.run(thread);
    expect(over).toMatchObject({ event: 'thread.suspended', status: 'suspended', returnCode: null });
    expect(over.text).toContain('3 tries');
    expect(await engine.run(thread)).toMatchObject({ event: 'thread.suspended', head: over.head });
    const { createEngine } = await import('../../src/engine/engine.ts');
    const better = createEngine({ repository, config: scripted({ a: [reply('done')] }) });
    expect(await better.resume(thread)).toMatchObject({ event: 'thread.ended', status: 'ended' });
    expectCleanFsck(dir);
  });
});

describe('what stops a role', () => {
  const definition = workflow(
    'w',
    { a: statuses('more') },
    [
      { from: '__start__', to: 'a', when: null },
      { from: 'a', to: 'a', when: null },
    ],
    { limits: { maxSteps: 2 } },
  );

  test('the limit of steps suspends, and a mere resumption buys none', async () => {
    const config = scripted({ a: [reply('more')] });
    config.agents['script'] = {
      name: 'script',
      package: 'builtin:scripted',
      config: { replies: { a: [reply('more')] }, repeat: true },
    };
    const { engine } = await createFixture(config);
    const { thread } = await engine.start({ definition, prompt: 'x' });
    expect(await engine.run(thread)).toMatchObject({
      event: 'thread.suspended',
      text: expect.stringContaining('2 steps'),
    });
    expect((await engine.describe(thread)).steps).toBe(2);
    await expect(engine.resume(thread)).rejects.toMatchObject({ code: 'waits-at-limit', kind: 'usage', used: 2 });
    expect((await engine.describe(thread)).steps).toBe(2);
  });

  test.each([
    [{ maxTokens: 25 }, '25 tokens'],
    [{ maxTurns: 3 }, '3 turns'],
    [{ maxCostUsd: 0.05 }, '0.05 US dollars'],
    [{ maxVisits: 3 }, '3 visits to a'],
  ])('so does %j, once its sum is reached', async (limits, said) => {
    const usage = { inputTokens: 7, outputTokens: 3, turns: 1, costUsd: 0.02 };
    const config = scripted({});
    const replies = { a: [{ reply: reply('more'), usage }] };
    config.agents['script'] = { name: 'script', package: 'builtin:scripted', config: { replies, repeat: true } };
    const { engine } = await createFixture(config);
    const { thread } = await engine.start({ definition: { ...definition, limits }, prompt: 'x' });
    expect(await engine.run(thread)).toMatchObject({ event: 'thread.suspended', text: expect.stringContaining(said) });
    expect((await engine.describe(thread)).steps).toBe(3);
  });

  test('a budget that is exceeded in the middle of a turn ends the turn, with what was said so far', async () => {
    const usage = { inputTokens: 900, outputTokens: 200, turns: 1 };
    const acts = [
      { emit: { kind: 'text' as const, text: 'Half of it.' } },
      { emit: { kind: 'usage' as const, usage } },
    ];
    const config = reportingConfig({
      a: [[...acts, { waitMs: 100 }, { reply: { kind: 'reply', text: reply('more') } }]],
    });
    const { engine, dir, git } = await createFixture(config);
    installReportingAgent(dir);
    const limited = { ...definition, limits: { maxTokens: 1000 } };
    const { thread } = await engine.start({ definition: limited, prompt: 'x' });
    const over = await engine.run(thread);
    expect(over).toMatchObject({ event: 'thread.suspended', text: 'the limit of 1000 tokens is exceeded' });
    expect(git('show', `${over.head}:output.md`)).toBe('Half of it.');
    expect(JSON.parse(git('show', `${over.head}:suspend.json`))).toMatchObject({ payload: { cause: 'limit', usage } });
  });

  test('the time of a turn suspends', async () => {
    const slow = { ...definition, limits: { timeoutMs: 100 } };
    const { engine } = await createFixture(scripted({ a: [{ reply: reply('more'), delayMs: 60_000 }] }));
    const { thread } = await engine.start({ definition: slow, prompt: 'x' });
    expect(await engine.run(thread)).toMatchObject({
      event: 'thread.suspended',
      text: expect.stringContaining('0.1 s'),
    });
  });

  test('an agent that asks suspends, and the answer reaches it', async () => {
    const { engine } = await createFixture(
      scripted({ a: [{ suspend: 'Which colour?', reply: '---\n$status: more\n---\n{{ answer }} it is.' }] }),
    );
    const rules = [
      { from: '__start__', to: 'a', when: null },
      { from: 'a', to: '__end__', when: null },
    ];
    const { thread } = await engine.start({ definition: { ...definition, moderator: rules }, prompt: 'x' });
    expect(await engine.run(thread)).toMatchObject({ event: 'thread.suspended', text: 'Which colour?' });
    expect(await engine.resume(thread, { answer: 'Blue' })).toMatchObject({
      event: 'thread.ended',
      text: 'Blue it is.',
    });
  });

  test('a missing agent stops before anything is stored', async () => {
    const { engine, git } = await createFixture({ agents: {}, roles: {} });
    const { thread, head } = await engine.start({ definition, prompt: 'x' });
    await expect(engine.run(thread)).rejects.toMatchObject({ code: 'agent-missing', kind: 'agent' });
    expect(git('rev-parse', `refs/threads/${thread}`)).toBe(head);
    await expect(engine.start({ definition, prompt: 'x', requireAgents: true })).rejects.toMatchObject({
      kind: 'agent',
    });
    expect(git('for-each-ref').split('\n')).toHaveLength(1);
  });
});

test('an agent finds its thread, its role, a folder of its own and uwf itself in its environment', async () => {
  const definition = workflow('w', { a: statuses('done') }, [
    { from: '__start__', to: 'a', when: null },
    { from: 'a', to: '__end__', when: null },
  ]);
  const script = `
    const { existsSync } = require('node:fs');
    const { UWF_THREAD, UWF_ROLE, UWF_STEP_DIR, PATH, MINE } = process.env;
    const uwf = require('node:child_process').execFileSync('uwf', ['--version']).toString().trim();
    console.log(['---', '$status: done', '---', UWF_THREAD, UWF_ROLE, existsSync(UWF_STEP_DIR), uwf, MINE].join('\\n'));
  `;
  const command = {
    package: 'builtin:command',
    config: { argv: [process.execPath, '-e', script], env: { MINE: 'x' } },
  };
  const { engine } = await createFixture(configOf({ a: command }));
  const { thread } = await engine.start({ definition, prompt: 'x' });
  const over = await engine.run(thread);
  expect(over.text.trim().split('\n')).toEqual([thread, 'a', 'true', expect.stringMatching(/^uwf \d/), 'x']);
});

describe('leases', () => {
  const definition = workflow('w', { a: statuses('done') }, [
    { from: '__start__', to: 'a', when: null },
    { from: 'a', to: '__end__', when: null },
  ]);

  test('of two steps at once the agent runs for one; the other says who holds the thread', async () => {
    const { engine, events } = await createFixture(scripted({ a: [{ reply: reply('done'), delayMs: 200 }] }));
    const { thread } = await engine.start({ definition, prompt: 'x' });
    const results = await Promise.allSettled([engine.step(thread), engine.step(thread)]);
    expect(results.map((result) => result.status).toSorted()).toEqual(['fulfilled', 'rejected']);
    const lost = results.find((result) => result.status === 'rejected');
    expect(lost?.reason).toMatchObject({ code: 'lease-held', kind: 'conflict', holder: { pid: process.pid } });
    expect(events.filter((event) => event.event === 'step.started')).toHaveLength(1);
  });

  test('a stop through the signal stores nothing, and a run goes on from there', async () => {
    const controller = new AbortController();
    const { engine, repository } = await createFixture(scripted({ a: [{ reply: reply('done'), delayMs: 60_000 }] }), {
      signal: controller.signal,
    });
    const { thread, head } = await engine.start({ definition, prompt: 'x' });
    const running = engine.run(thread);
    setTimeout(() => controller.abort(), 100);
    await expect(running).rejects.toMatchObject({ kind: 'interrupted' });
    const { createEngine } = await import('../../src/engine/engine.ts');
    const again = createEngine({ repository, config: scripted({ a: [reply('done')] }) });
    expect(await again.describe(thread)).toMatchObject({ status: 'idle', head });
    expect(await again.run(thread)).toMatchObject({ event: 'thread.ended' });
  });

  test('cancel ends a thread for good', async () => {
    const { engine, git } = await createFixture(scripted({ a: [reply('done')] }));
    const { thread } = await engine.start({ definition, prompt: 'x' });
    expect(await engine.cancel(thread, { reason: 'no longer needed' })).toMatchObject({
      event: 'thread.cancelled',
      status: 'cancelled',
      returnCode: 130,
      text: 'no longer needed',
    });
    expect(git('for-each-ref', 'refs/threads')).toBe('');
    await expect(engine.cancel(thread)).rejects.toMatchObject({ code: 'wrong-thread-state' });
  });
});

test('an error whose causes lead back to it is raised as it is', async () => {
  const error = new Error('Not this one.');
  error.cause = new AggregateError([error], 'Nor these.', { cause: error });
  const { engine } = await createFixture(scripted(twice), { admit: () => Promise.reject(error) });
  const { thread } = await engine.start({ definition: loop, prompt: 'Write.' });
  await expect(engine.run(thread)).rejects.toBe(error);
});
