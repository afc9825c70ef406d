import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { type EngineOptions } from '../../../src/engine/engine-context.ts';
import { createEngine, type Engine } from '../../../src/engine/engine.ts';
import type { EngineEvent } from '../../../src/engine/events.ts';
import { TurnLog } from '../../../src/engine/recovery/turn-log.ts';
import type { Usage } from '../../../src/schema/built-in/schema-parts.ts';
import { newThreadId } from '../../../src/thread/new-thread-id.ts';
import { parseThreadId } from '../../../src/thread/thread-id.ts';
import type { WorkflowDefinition } from '../../../src/workflow/definition.ts';
import { installReportingAgent, reportingConfig, type ReportedAct } from '../../helpers/reporting-agent.ts';
import { createTemporaryFolder } from '../../helpers/temporary-repository.ts';
import { withBlock } from '../blocks/block-fixture.ts';
import { createFixture, expectSound, statuses, workflow, type EngineFixture } from '../engine-fixture.ts';

const definition = workflow('pair', { first: statuses('done'), second: statuses('done') }, [
  { from: '__start__', to: 'first', when: null },
  { from: 'first', to: 'second', when: null },
  { from: 'second', to: '__end__', when: null },
]);

const used = (turns: number, costUsd = turns * 0.5): Usage => ({
  inputTokens: 100 * turns,
  outputTokens: 10 * turns,
  turns,
  costUsd,
});

const tells = (turns: number): ReportedAct => ({ emit: { kind: 'usage', usage: used(turns) } });
const asks: ReportedAct = { emit: { kind: 'turn-start', input: 'Go on.' } };
const says = (meta: Record<string, string>, usage: Usage): ReportedAct => ({
  reply: { kind: 'reply', text: 'Done.', meta, usage },
});
const done = says({ $status: 'done' }, used(1));

type Scene = Omit<EngineFixture, 'open'> & {
  thread: string;
  go: string;
  runs: () => string[];
  /** Another process on the same repository. */
  open: (more?: Partial<EngineOptions>) => Engine;
};

/** A thread of two roles; `hold` is where an agent waits until the file `go` is there. */
async function createScene(
  roles: (hold: ReportedAct) => Record<string, ReportedAct[][]>,
  more: Partial<WorkflowDefinition> = {},
): Promise<Scene> {
  const folder = createTemporaryFolder();
  const go = join(folder, 'go');
  const config = reportingConfig(roles({ waitFor: go }), {}, join(folder, 'runs'));
  const fixture = await createFixture(config);
  installReportingAgent(fixture.dir);
  const { thread } = await fixture.engine.start({ definition: { ...definition, ...more }, prompt: 'Work.' });
  return {
    ...fixture,
    thread,
    go,
    runs: () => readFileSync(join(folder, 'runs'), 'utf8').trim().split('\n'),
    open: (options) =>
      createEngine({ repository: fixture.repository, config, env: { PATH: process.env['PATH'] }, ...options }),
  };
}

/** Interrupts a turn once so many events of its agent were told: as ^C does, or as a kill that leaves the lease. */
async function cutOff(
  { open, thread, dir }: Scene,
  after: number,
  how: 'stop' | 'kill' = 'stop',
  verb: (engine: Engine) => Promise<unknown> = (engine) => engine.run(thread),
): Promise<void> {
  const stop = new AbortController();
  let told = 0;
  const onEvent = ({ event }: EngineEvent): void => void (told += event.startsWith('agent.') ? 1 : 0);
  const running = verb(open({ onEvent, signal: stop.signal }));
  running.catch(() => {});
  await vi.waitFor(() => expect(told).toBeGreaterThanOrEqual(after), { timeout: 30_000 });
  if (how === 'kill') return rmSync(join(dir, '.git', 'uwf', 'leases', `${thread}.json`));
  stop.abort(new Error('^C'));
  await expect(running).rejects.toMatchObject({ code: 'interrupted' });
}

describe.each(['stop', 'kill'] as const)('a turn that was cut off (%s)', (how) => {
  test('has cost what it had reported, before and after the next step stores it', async () => {
    const scene = await createScene((hold) => ({ first: [[tells(1), tells(2), hold, done]], second: [[done]] }));
    const { engine, thread, git, go } = scene;
    await cutOff(scene, 2, how);
    expect(await engine.describe(thread)).toMatchObject({ steps: 0, usage: used(2), usageByRole: { first: used(2) } });
    await cutOff(scene, 2, how);
    expect(await engine.describe(thread)).toMatchObject({ usage: used(4) });
    writeFileSync(go, '');
    const { head } = await engine.run(thread);
    expect(await engine.describe(thread)).toMatchObject({
      usage: used(6),
      usageByRole: { first: used(5), second: used(1) },
    });
    const attempt = JSON.parse(git('show', `${head}~2:attempts/02/attempt.json`)) as { payload: object };
    expect(attempt.payload).toMatchObject({ errors: ['the turn was interrupted'], interrupted: true, usage: used(2) });
    expect(git('ls-tree', '--name-only', `${head}~2:attempts`)).toBe('01\n02');
    await expectSound(scene);
  });

  test('counts to the limits: none is begun beyond them, and the suspension stores what was used', async () => {
    const scene = await createScene((hold) => ({ first: [[tells(3), hold, done]] }), { limits: { maxCostUsd: 3 } });
    const { engine, thread } = scene;
    for (let times = 0; times < 2; times += 1) await cutOff(scene, 1, how);
    const text = 'the limit of 3 US dollars is reached';
    expect(await engine.run(thread)).toMatchObject({ event: 'thread.suspended', cause: 'limit', text });
    expect(scene.runs()).toHaveLength(2);
    expect(await engine.describe(thread)).toMatchObject({ usage: used(6), suspension: { usage: used(6) } });
    await expect(engine.resume(thread)).rejects.toMatchObject({ code: 'waits-at-limit', used: 3 });
    await expectSound(scene);
  });

  test('has cost at least that while a request was out, and its refused replies are stored', async () => {
    const first = [
      [asks, { emit: { kind: 'turn-end', usage: used(1) } }, says({ $status: 'maybe' }, used(1))],
      [asks, { emit: { kind: 'turn-end', usage: used(1) } }, asks, { waitFor: '/never' }],
      [done],
    ] satisfies ReportedAct[][];
    const scene = await createScene(() => ({ first, second: [[done]] }));
    const { engine, thread, git } = scene;
    await cutOff(scene, 5, how);
    const usage = { ...used(2), isAtLeast: true };
    expect(await engine.describe(thread)).toMatchObject({ usage });
    expect(await engine.cancel(thread)).toMatchObject({ event: 'thread.cancelled' });
    expect(await engine.describe(thread)).toMatchObject({ usage, usageByRole: { first: usage } });
    expect(git('show', `refs/history/*/${thread}~1:attempts/01/output.md`.replace('*', historyDay(git)))).toBe('Done.');
    await expectSound(scene);
  });

  test('is stored before a rule at the limit ends the thread', async () => {
    const moderator = [
      ...definition.moderator,
      { from: '__start__', to: '__end__', when: null, on: 'limit' as const, prompt: 'No money.' },
    ];
    const scene = await createScene((hold) => ({ first: [[tells(2), hold]] }), {
      moderator,
      limits: { maxCostUsd: 1 },
    });
    const { engine, thread, git } = scene;
    await cutOff(scene, 1, how);
    const over = await engine.run(thread);
    expect(over).toMatchObject({ event: 'thread.ended', text: 'No money.' });
    expect(JSON.parse(git('show', `${over.head}~1:suspend.json`))).toMatchObject({
      payload: { cause: 'interrupted', role: 'first', rule: 0, usage: used(2) },
    });
    expect(await engine.describe(thread)).toMatchObject({ usage: used(2) });
    await expectSound(scene);
  });

  test('of a step that is done again: its cost goes with the next turn of any role', async () => {
    const scene = await createScene((hold) => ({ first: [[tells(2), hold, done]], second: [[done]] }));
    const { engine, thread, go } = scene;
    writeFileSync(go, '');
    await engine.step(thread);
    rmSync(go);
    await cutOff(scene, 1, how, (other) => other.poke(thread, 'Better.'));
    expect(await engine.describe(thread)).toMatchObject({ usage: used(3) });
    expect(await engine.run(thread)).toMatchObject({ event: 'thread.ended' });
    expect(await engine.describe(thread)).toMatchObject({ usage: used(4) });
    await expectSound(scene);
  });

  test('of a step that is done again is stored as a turn that the rules give, if they give the same role the next one', async () => {
    const again = { from: 'first', to: 'first', when: null, prompt: 'Once more.' };
    const moderator = [definition.moderator[0]!, again];
    const scene = await createScene((hold) => ({ first: [[tells(2), hold, done]] }), { moderator });
    const { engine, thread, git, go } = scene;
    writeFileSync(go, '');
    await engine.step(thread);
    rmSync(go);
    await cutOff(scene, 1, how, (other) => other.poke(thread, 'Better.'));
    const { head } = await engine.cancel(thread);
    const { payload } = JSON.parse(git('show', `${head}~1:suspend.json`)) as { payload: object };
    expect(payload).toMatchObject({ cause: 'interrupted', rule: 1, usage: used(2) });
    await expectSound(scene);
  });
});

test('the turn of a person that began at another place is stored with what the person is asked where the thread ends', async () => {
  const moderator = [definition.moderator[0]!, { from: 'first', to: 'first', when: null, prompt: 'Once more.' }];
  const scene = await createScene(() => ({ first: [[done]] }), { moderator });
  const { engine, repository, thread, git } = scene;
  const step = await engine.step(thread);
  const agent = { name: 'me', package: 'builtin:human', version: '1', config: {} };
  const turn = { role: 'first', agent, rule: 0, prompt: 'Begin.', head: step.head, startedAtMs: 1 };
  const files = { cwd: scene.dir, isolation: 'none', mode: 'off', before: [] } as const;
  const log = new TurnLog(repository, parseThreadId(thread));
  log.begin({ ...turn, again: { word: 'Better.', as: newThreadId(1) }, files });
  log.used(used(1));
  const { head } = await engine.cancel(thread);
  expect(git('show', `${head}~1:prompt.md`)).toBe('Once more.');
  await expectSound(scene);
});

function historyDay(git: (...args: string[]) => string): string {
  return git('for-each-ref', '--format=%(refname:lstrip=2)', 'refs/history').split('/')[0] ?? '';
}

test('a sign of life without a cost does not report the request that is out', async () => {
  const sign: ReportedAct = { emit: { kind: 'usage', usage: { ...used(0), costUsd: 0 } } };
  const scene = await createScene(() => ({ first: [[asks, sign, { waitFor: '/never' }]] }));
  await cutOff(scene, 2, 'kill');
  expect(await scene.engine.describe(scene.thread)).toMatchObject({ usage: { turns: 0, isAtLeast: true } });
});

test('an agent that reports nothing leaves nothing behind', async () => {
  const scene = await createScene((hold) => ({ first: [[{ emit: { kind: 'plan', text: 'Well.' } }, hold, done]] }));
  await cutOff(scene, 1);
  expect(await scene.engine.describe(scene.thread)).toMatchObject({ usage: null });
  writeFileSync(scene.go, '');
  const { head } = await scene.engine.step(scene.thread);
  expect(JSON.parse(scene.git('show', `${head}:step.json`))).toMatchObject({ payload: { attempts: [] } });
});

test('branches of a block that were cut off count to the limit of their caller, which begins none beyond it', async () => {
  const block = await withBlock({ branches: { a: { role: 'checker' }, b: { role: 'checker' } }, join: 'all' });
  const good = says({ $status: 'good' }, used(2));
  const scene = await createScene(
    (hold) => ({ planner: [[says({}, used(1))]], checker: [[tells(2), hold, good]], closer: [[done]] }),
    { ...block, limits: { maxCostUsd: 2.5 } },
  );
  const { engine, thread, go } = scene;
  // Half a dollar for the planner, and a dollar for each branch.
  await cutOff(scene, 2);
  const over = await engine.run(thread);
  expect(over).toMatchObject({ event: 'thread.suspended', cause: 'child' });
  expect(over.text).toContain('the limit of 2.5 US dollars in thread');
  expect(scene.runs()).toEqual(['planner', 'checker', 'checker']);
  writeFileSync(go, '');
  expect(await engine.resume(thread, { more: { maxCostUsd: 5 } })).toMatchObject({ event: 'thread.ended' });
  expect(await engine.describe(thread)).toMatchObject({ usage: used(2) });
  for (const child of (await engine.describe(thread)).children) {
    expect(await engine.describe(child)).toMatchObject({ usage: used(4) });
  }
  await expectSound(scene);
});
