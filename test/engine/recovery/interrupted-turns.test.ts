import { describe, expect, test } from 'vitest';
import { TurnLog } from '../../../src/engine/recovery/turn-log.ts';
import type { Usage } from '../../../src/schema/built-in/schema-parts.ts';
import { newThreadId } from '../../../src/thread/new-thread-id.ts';
import { parseThreadId } from '../../../src/thread/thread-id.ts';
import type { WorkflowDefinition } from '../../../src/workflow/definition.ts';
import { held, type Act, type Flow } from '../../helpers/plot.ts';
import { scenario, type Scenario } from '../../helpers/scenario.ts';
import { withBlock } from '../blocks/block-fixture.ts';

const used = (turns: number, costUsd = turns * 0.5): Usage => ({
  inputTokens: 100 * turns,
  outputTokens: 10 * turns,
  turns,
  costUsd,
});

const tells = (turns: number): Act => ({ emit: { kind: 'usage', usage: used(turns) } });
const asks: Act = { emit: { kind: 'turn-start', input: 'Go on.' } };
const says = (meta: Record<string, string>, usage: Usage): Act => ({
  reply: { kind: 'reply', text: 'Done.', meta, usage },
});
const done = says({ $status: 'done' }, used(1));
const again = ['first', 'first > first: Once more.'];

/** A thread of two roles, of which the first one acts so. */
function createScene(
  first: Act[][],
  flow: Flow = 'first > second > end',
  limits?: WorkflowDefinition['limits'],
): Promise<Scenario> {
  const agents = { first: { acts: first }, second: { acts: [[done]] } };
  return scenario({ flow, agents, definition: { ...(limits && { limits }) } });
}

describe.each(['stop', 'kill'] as const)('a turn that was cut off (%s)', (how) => {
  test('has cost what it had reported, before and after the next step stores it', async () => {
    const scene = await createScene([[tells(1), tells(2), held, done]]);
    await scene.cutOff(2, how);
    expect(await scene.view()).toMatchObject({ steps: 0, usage: used(2), usageByRole: { first: used(2) } });
    await scene.cutOff(2, how);
    expect(await scene.view()).toMatchObject({ usage: used(4) });
    scene.go();
    const { head } = await scene.run();
    expect(await scene.view()).toMatchObject({ usage: used(6), usageByRole: { first: used(5), second: used(1) } });
    const attempt = { errors: ['the turn was interrupted'], interrupted: true, usage: used(2) };
    expect(await scene.payload('attempts/02/attempt.json', 2)).toMatchObject(attempt);
    expect(scene.git('ls-tree', '--name-only', `${head}~2:attempts`)).toBe('01\n02');
  });

  test('counts to the limits: none is begun beyond them, and the suspension stores what was used', async () => {
    const scene = await createScene([[tells(3), held, done]], undefined, { maxCostUsd: 3 });
    for (let times = 0; times < 2; times += 1) await scene.cutOff(1, how);
    const text = 'the limit of 3 US dollars is reached';
    expect(await scene.run()).toMatchObject({ event: 'thread.suspended', cause: 'limit', text });
    expect(scene.runs()).toHaveLength(2);
    expect(await scene.view()).toMatchObject({ usage: used(6), suspension: { usage: used(6) } });
    await expect(scene.resume()).rejects.toMatchObject({ code: 'waits-at-limit', used: 3 });
  });

  test('has cost at least that while a request was out, and its refused replies are stored', async () => {
    const end: Act = { emit: { kind: 'turn-end', usage: used(1) } };
    const refused = [asks, end, says({ $status: 'maybe' }, used(1))];
    const scene = await createScene([refused, [asks, end, asks, { waitFor: '/never' }], [done]]);
    await scene.cutOff(5, how);
    const usage = { ...used(2), isAtLeast: true };
    expect(await scene.view()).toMatchObject({ usage });
    expect(await scene.engine.cancel(scene.thread)).toMatchObject({ event: 'thread.cancelled' });
    expect(await scene.view()).toMatchObject({ usage, usageByRole: { first: usage } });
    expect(await scene.read('attempts/01/output.md', 1)).toBe('Done.');
  });

  test('is stored before a rule at the limit ends the thread', async () => {
    const flow = ['first > second > end', 'start [limit] > end: No money.'];
    const scene = await createScene([[tells(2), held]], flow, { maxCostUsd: 1 });
    await scene.cutOff(1, how);
    expect(await scene.run()).toMatchObject({ event: 'thread.ended', text: 'No money.' });
    const suspended = { cause: 'interrupted', role: 'first', rule: 0, usage: used(2) };
    expect(await scene.payload('suspend.json', 1)).toMatchObject(suspended);
    expect(await scene.view()).toMatchObject({ usage: used(2) });
  });

  test.each([
    ['its cost goes with the next turn of any role', undefined],
    ['is stored as a turn that the rules give, if they give the same role the next one', again],
  ])('of a step that is done again: %s', async (_, flow) => {
    const scene = await createScene([[tells(2), held, done]], flow);
    scene.go();
    await scene.step();
    scene.go(false);
    await scene.cutOff(1, how, (other) => other.poke(scene.thread, 'Better.'));
    if (flow !== undefined) {
      await scene.engine.cancel(scene.thread);
      expect(await scene.payload('suspend.json', 1)).toMatchObject({ cause: 'interrupted', rule: 1, usage: used(2) });
      return;
    }
    expect(await scene.view()).toMatchObject({ usage: used(3) });
    expect(await scene.run()).toMatchObject({ event: 'thread.ended' });
    expect(await scene.view()).toMatchObject({ usage: used(4) });
  });
});

test('the turn of a person that began at another place is stored with what the person is asked where the thread ends', async () => {
  const scene = await createScene([[done]], again);
  const { head } = await scene.step();
  const agent = { name: 'me', package: 'builtin:human', version: '1', config: {} };
  const turn = { role: 'first', agent, rule: 0, prompt: 'Begin.', head, startedAtMs: 1 };
  const files = { cwd: scene.dir, isolation: 'none', mode: 'off', before: [] } as const;
  const log = new TurnLog(scene.repository, parseThreadId(scene.thread));
  log.begin({ ...turn, again: { word: 'Better.', as: newThreadId({ now: () => 1 }) }, files });
  log.used(used(1));
  await scene.engine.cancel(scene.thread);
  expect(await scene.read('prompt.md', 1)).toBe('Once more.');
});

test('a sign of life without a cost does not report the request that is out', async () => {
  const sign: Act = { emit: { kind: 'usage', usage: { ...used(0), costUsd: 0 } } };
  const scene = await createScene([[asks, sign, { waitFor: '/never' }]]);
  await scene.cutOff(2, 'kill');
  expect(await scene.view()).toMatchObject({ usage: { turns: 0, isAtLeast: true } });
});

test('an agent that reports nothing leaves nothing behind', async () => {
  const scene = await createScene([[{ emit: { kind: 'plan', text: 'Well.' } }, held, done]]);
  await scene.cutOff(1);
  expect(await scene.view()).toMatchObject({ usage: null });
  scene.go();
  await scene.step();
  expect(await scene.payload('step.json')).toMatchObject({ attempts: [] });
});

test('branches of a block that were cut off count to the limit of their caller, which begins none beyond it', async () => {
  const block = await withBlock({ branches: { a: { role: 'checker' }, b: { role: 'checker' } }, join: 'all' });
  const agents = {
    planner: { acts: [[says({}, used(1))]] },
    checker: { acts: [[tells(2), held, says({ $status: 'good' }, used(2))]] },
    closer: { acts: [[done]] },
  };
  const scene = await scenario({ flow: 'planner > end', agents, prompt: null });
  await scene.start('Work.', { definition: { ...block, limits: { maxCostUsd: 2.5 } } });
  // Half a dollar for the planner, and a dollar for each branch.
  await scene.cutOff(2);
  const over = await scene.run();
  expect(over).toMatchObject({ event: 'thread.suspended', cause: 'child' });
  expect(over.text).toContain('the limit of 2.5 US dollars in thread');
  expect(scene.runs()).toEqual(['planner', 'checker', 'checker']);
  scene.go();
  expect(await scene.resume({ more: { maxCostUsd: 5 } })).toMatchObject({ event: 'thread.ended' });
  const view = await scene.view();
  expect(view).toMatchObject({ usage: used(2) });
  for (const child of view.children) expect(await scene.engine.describe(child)).toMatchObject({ usage: used(4) });
});
