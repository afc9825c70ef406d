import { describe, expect, test } from 'vitest';
import { UwfError } from '../../src/errors.ts';
import { plotOf } from '../helpers/plot.ts';
import { loop, print, reply, scenario, statuses, type ScenarioOptions } from '../helpers/scenario.ts';
import { expectCleanFsck } from '../helpers/temporary-repository.ts';

/** A role that goes on for ever. */
const forEver: ScenarioOptions = { flow: ['a > a'], agents: { a: ['more: More.'] } };
const usage = { inputTokens: 7, outputTokens: 3, turns: 1, costUsd: 0.02 };

test.each<[string, object, object]>([
  ['a time of 0', { limits: { timeoutMs: 0 } }, { code: 'invalid-limits' }],
  ['half a step', { limits: { maxSteps: 1.5 } }, { code: 'invalid-limits' }],
  ['a cost below 0', { limits: { maxCostUsd: -1 } }, { code: 'invalid-limits' }],
  ['a limit that there is not', { limits: { maxStep: 3 } }, {}],
  ['a schema that is none', { ofWriter: { schema: 5 } }, {}],
  ['a schema that JSON Schema refuses', { ofWriter: { schema: { type: 'nope' } } }, {}],
  ['a name that no workflow can have', { named: { name: '../loop' } }, {}],
  ['retries that no role can have', { ofWriter: { retries: -1 } }, {}],
])('a start with %s, by a program that nothing checks, stores nothing', async (_, more, error) => {
  const { limits, ofWriter = {}, named = {} } = more as Record<string, object | undefined>;
  const { engine, plot, git } = await scenario({ ...loop, prompt: null });
  const roles = { ...plot.definition.roles, writer: { ...plot.definition.roles['writer']!, ...ofWriter } };
  const definition = { ...plot.definition, roles, ...named };
  const started = engine.start({ definition, prompt: 'x', ...(limits && { limits }) });
  await expect(started).rejects.toThrow(UwfError);
  await expect(started).rejects.toMatchObject(error);
  expect(git('for-each-ref')).toBe('');
});

test.each([{ cwd: '.' }, { cwd: '' }, { workTrees: 'trees' }])('a relative path is refused: %j', async (engine) => {
  const message = expect.stringContaining(`'${Object.keys(engine)[0]}'`) as string;
  await expect(scenario({ ...loop, engine })).rejects.toMatchObject({ code: 'relative-path', kind: 'usage', message });
});

describe('run', () => {
  test('hands the work from role to role until the moderator ends it', async () => {
    const scene = await scenario({ ...loop, prompt: 'Write.' });
    const over = await scene.run();
    expect(over).toMatchObject({ event: 'thread.ended', thread: scene.thread, text: 'Good.\n' });
    expect(scene.story()).toEqual([
      'writer: written',
      'checker: rejected',
      'writer: written',
      'checker: accepted',
      'ended 0: Good.',
    ]);
    expect(scene.events.at(-1)).toEqual(over);
    expect(await scene.view()).toMatchObject({ status: 'ended', workflow: 'work', steps: 4, nextRole: null });
    expect(scene.git('log', '--format=%s', '--reverse', over.head)).toBe(
      'work: Write.\nwriter: One.\nchecker: Too short.\nwriter: Two.\nchecker: Good.\ncompleted: Good.',
    );
    expectCleanFsck(scene.dir);
  });

  test('the edge prompt, the task, the instructions and the last text are what a role is told', async () => {
    const scene = await scenario({ ...loop, prompt: 'Write about the sea.' });
    await scene.run();
    const prompt = await scene.read('prompt.md', 2);
    for (const told of ['Be the writer.', 'Write about the sea.', 'Again: Too short.']) expect(prompt).toContain(told);
    expect(prompt).toMatch(/\$status: written/);
  });

  test('does one step at a time, too, and says who is next', async () => {
    const scene = await scenario(loop);
    expect(await scene.step()).toMatchObject({ status: 'idle', role: 'writer', nextRole: 'checker' });
    expect(await scene.view()).toMatchObject({ status: 'idle', steps: 1, nextRole: 'checker' });
    expect(await scene.step()).toMatchObject({ role: 'checker', nextRole: 'writer' });
    const last = await scene.step(2);
    expect(last).toMatchObject({ role: 'checker', status: 'ended', nextRole: null, over: { event: 'thread.ended' } });
    expect(await scene.step()).toMatchObject({ role: null, step: null, status: 'ended', head: last.head });
  });
});

/** The first reply has a status that the role has not, the second one none. */
const refused: ScenarioOptions = {
  flow: 'a > end',
  agents: { a: [{ reply: reply('odd'), retries: ['no front matter', reply('done')] }] },
  roles: { a: statuses('done') },
};

test.each<[string, ScenarioOptions, (string | RegExp)[]]>([
  [
    'a rule to end gives the summary and the return code; another than 0 is failed',
    { flow: 'judge > end = 7: It was {{ steps.last.status }}.', agents: { judge: ['bad: Bad.'] } },
    ['judge: bad', 'failed 7: It was bad.'],
  ],
  [
    'a thread where no rule matches has failed',
    { flow: ['start > a', { from: 'a', to: '__end__', when: 'false' }] },
    ['a: done', /^failed 1: ./],
  ],
  [
    'a thread whose rule fails has failed',
    { flow: ['start > a', { from: 'a', to: '__end__', when: '$error("no")' }] },
    ['a: done', /^failed 1: ./],
  ],
  [
    'a reply that does not validate is asked for again with the errors',
    refused,
    ['a was refused', 'a was refused', 'a: done', /^ended 0: /],
  ],
  [
    'the limit of steps suspends',
    { ...forEver, definition: { limits: { maxSteps: 2 } } },
    ['a: more', 'a: more', /^suspended: .*2 steps/],
  ],
  ...(
    [
      [{ maxTokens: 25 }, '25 tokens'],
      [{ maxTurns: 3 }, '3 turns'],
      [{ maxCostUsd: 0.05 }, '0.05 US dollars'],
      [{ maxVisits: 3 }, '3 visits to a'],
    ] as const
  ).map(([limits, said]): [string, ScenarioOptions, (string | RegExp)[]] => [
    `so does the limit of ${said}, once its sum is reached`,
    { flow: ['a > a'], agents: { a: [{ reply: reply('more'), usage }] }, definition: { limits } },
    ['a: more', 'a: more', 'a: more', new RegExp(`^suspended: .*${said}`)],
  ]),
  [
    'the time of a turn suspends',
    {
      ...forEver,
      agents: { a: [{ reply: reply('more'), delayMs: 60_000 }] },
      definition: { limits: { timeoutMs: 100 } },
    },
    [/^suspended: .*0\.1 s/],
  ],
])('%s', async (_, options, story) => {
  const scene = await scenario(options);
  await scene.run();
  expect(scene.story()).toEqual(story.map((line) => (typeof line === 'string' ? line : expect.stringMatching(line))));
});

test('refused replies are kept as attempts', async () => {
  const scene = await scenario(refused);
  await scene.run();
  expect((await scene.payload('step.json', 1))['attempts']).toHaveLength(2);
  expect(await scene.read('attempts/02/output.md', 1)).toContain('no front matter');
});

test('after two more tries the thread is suspended, and resuming tries again', async () => {
  const scene = await scenario({ ...refused, agents: { a: [{ reply: reply('odd') }] } });
  const over = await scene.run();
  expect(over).toMatchObject({ status: 'suspended', returnCode: null, text: expect.stringContaining('3 tries') });
  expect(await scene.run()).toMatchObject({ event: 'thread.suspended', head: over.head });
  const { config } = plotOf({ flow: 'a > end' });
  expect(await scene.beside({ config }).resume(scene.thread)).toMatchObject({ event: 'thread.ended' });
});

test('a mere resumption at a limit buys no step', async () => {
  const scene = await scenario({ ...forEver, definition: { limits: { maxSteps: 2 } } });
  await scene.run();
  await expect(scene.resume()).rejects.toMatchObject({ code: 'waits-at-limit', kind: 'usage', used: 2 });
  expect((await scene.view()).steps).toBe(2);
});

test('a budget that is exceeded in the middle of a turn ends the turn, with what was said so far', async () => {
  const spent = { inputTokens: 900, outputTokens: 200, turns: 1 };
  const acts = [{ emit: { kind: 'text', text: 'Half of it.' } }, { emit: { kind: 'usage', usage: spent } }] as const;
  const a = { acts: [[...acts, { waitMs: 100 }, { reply: { kind: 'reply', text: reply('more') } }]] } as const;
  const scene = await scenario({ flow: ['a > a'], agents: { a }, definition: { limits: { maxTokens: 1000 } } });
  expect(await scene.run()).toMatchObject({ status: 'suspended', text: 'the limit of 1000 tokens is exceeded' });
  expect(await scene.read('output.md')).toBe('Half of it.');
  expect(await scene.payload('suspend.json')).toMatchObject({ cause: 'limit', usage: spent });
});

test('an agent that asks suspends, and the answer reaches it', async () => {
  const a = [{ suspend: 'Which colour?', reply: reply('done', '{{ answer }} it is.') }];
  const scene = await scenario({ flow: 'a > end', agents: { a } });
  expect(await scene.run()).toMatchObject({ event: 'thread.suspended', text: 'Which colour?' });
  expect(await scene.resume('Blue')).toMatchObject({ event: 'thread.ended', text: 'Blue it is.\n' });
});

test('a missing agent stops before anything is stored', async () => {
  const scene = await scenario({ ...loop, engine: { config: { agents: {}, roles: {} } } });
  const { engine, thread, plot, git } = scene;
  await expect(engine.run(thread)).rejects.toMatchObject({ code: 'agent-missing', kind: 'agent' });
  const asked = engine.start({ definition: plot.definition, prompt: 'x', requireAgents: true });
  await expect(asked).rejects.toMatchObject({ kind: 'agent' });
  expect(git('for-each-ref').split('\n')).toHaveLength(1);
  expect(scene.events.map(({ event }) => event)).toEqual(['thread.started']);
});

test('an agent finds its thread, its role, a folder of its own and uwf itself in its environment', async () => {
  const program = `test -d "$UWF_STEP_DIR" && ${print('done', '%s %s %s')} "$UWF_THREAD" "$UWF_ROLE" "$(uwf --version)"`;
  const scene = await scenario({ flow: 'a > end', agents: { a: { program } } });
  expect((await scene.run()).text).toMatch(new RegExp(`^${scene.thread} a uwf \\d`));
});

describe('leases', () => {
  const slow: ScenarioOptions = { flow: 'a > end', agents: { a: [{ reply: reply('done'), delayMs: 200 }] } };

  test('of two steps at once the agent runs for one; the other says who holds the thread', async () => {
    const scene = await scenario(slow);
    const results = await Promise.allSettled([scene.step(), scene.step()]);
    const lost = results.filter((result) => result.status === 'rejected');
    expect(lost).toMatchObject([{ reason: { code: 'lease-held', kind: 'conflict', holder: { pid: process.pid } } }]);
    expect(scene.told('step.started')).toHaveLength(1);
  });

  test('a stop through the signal stores nothing, and a run goes on from there', async () => {
    const scene = await scenario(slow);
    const { head } = await scene.view();
    const stopped = scene.beside({ signal: AbortSignal.timeout(100) });
    await expect(stopped.run(scene.thread)).rejects.toMatchObject({ kind: 'interrupted' });
    expect(await scene.view()).toMatchObject({ status: 'idle', head });
    expect(await scene.run()).toMatchObject({ event: 'thread.ended' });
  });

  test('cancel ends a thread for good', async () => {
    const { engine, thread, git } = await scenario(slow);
    const over = { event: 'thread.cancelled', status: 'cancelled', returnCode: 130, text: 'no longer needed' };
    expect(await engine.cancel(thread, { reason: 'no longer needed' })).toMatchObject(over);
    expect(git('for-each-ref', 'refs/threads')).toBe('');
    await expect(engine.cancel(thread)).rejects.toMatchObject({ code: 'wrong-thread-state' });
  });
});

test('an error whose causes lead back to it is raised as it is', async () => {
  const error = new Error('Not this one.');
  error.cause = new AggregateError([error], 'Nor these.', { cause: error });
  const scene = await scenario({ ...loop, engine: { admit: () => Promise.reject(error) } });
  await expect(scene.run()).rejects.toBe(error);
});
