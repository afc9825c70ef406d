import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { readingContext } from '../../../src/engine/engine-context.ts';
import { hintToAnswer } from '../../../src/engine/describe/describe.ts';
import { usageOfChildren } from '../../../src/engine/limits/allowance.ts';
import type { JsonObject } from '../../../src/json.ts';
import type { Limits, MoreLimits } from '../../../src/schema/built-in/schema-parts.ts';
import { findCalledNow } from '../../../src/thread/find-children.ts';
import { getThread } from '../../../src/thread/find-thread.ts';
import { forkThread } from '../../../src/thread/thread-verbs.ts';
import { readChain } from '../../../src/thread/thread-chain.ts';
import { readState } from '../../../src/thread/thread-state.ts';
import type { ThreadId } from '../../../src/thread/thread-id.ts';
import type { WorkflowDefinition } from '../../../src/workflow/definition.ts';
import { startBlock, type Block } from '../blocks/block-fixture.ts';
import { expectCleanFsck } from '../../helpers/temporary-repository.ts';
import { plotOf } from '../../helpers/plot.ts';
import { print, reply, scenario, type Scenario, type ScenarioOptions } from '../../helpers/scenario.ts';

const turn = { inputTokens: 7, outputTokens: 3, turns: 1, costUsd: 0.5 };
const spends = (more: JsonObject = {}): JsonObject => ({ reply: reply('good', 'It is done.'), usage: turn, ...more });

/** A workflow of a role that takes two turns, which cost a dollar. */
const twice = plotOf({
  flow: ['start > worker', { from: 'worker', to: 'worker', when: "$visits('worker') < 2" }, 'worker > end'],
  agents: { worker: [spends()] },
  definition: { name: 'twice' },
}).definition;

/** A workflow whose only role calls another one for ever. */
function calling(name: string, called: string, limits?: Limits, ofRole?: Limits): WorkflowDefinition {
  const role = `calls-${called}`;
  const schemas = { [role]: { type: 'object' } };
  const { definition } = plotOf({ flow: `${role} > ${role}`, roles: schemas, definition: { name } });
  const roles = { [role]: { ...definition.roles[role]!, ...(ofRole && { limits: ofRole }) } };
  return { ...definition, ...(limits && { limits }), roles };
}

const callers = {
  agents: {
    'calls-twice': { package: 'builtin:workflow', config: { workflow: 'twice' } },
    'calls-middle': { package: 'builtin:workflow', config: { workflow: 'middle' } },
    worker: [spends()],
  },
  others: [twice, calling('middle', 'twice')],
} satisfies ScenarioOptions;

/** A thread that calls workflows by their names, whose workers cost half a dollar a turn. */
const startCaller = (definition: WorkflowDefinition, limits?: Limits): Promise<Scenario> =>
  scenario({ ...callers, definition, prompt: 'Go.', ...(limits && { config: { limits } }) });

/** A thread of a block whose branches do so. */
const startBranches = (block: Block, maxCostUsd: number): Promise<Scenario> =>
  startBlock(block, { ...callers, limits: { maxCostUsd } });

const turnsOf = (scene: Scenario): number => scene.told('step.started').filter(({ role }) => role === 'worker').length;

async function headOf({ repository }: Scenario, thread: ThreadId): Promise<Awaited<ReturnType<typeof readState>>> {
  return readState(repository, thread, (await getThread(repository, thread)).head);
}

async function branchesOf(scene: Scenario, thread = scene.thread): Promise<Map<string, ThreadId>> {
  const called = await findCalledNow(scene.repository, await headOf(scene, thread), thread);
  return new Map(called.map(({ pointer, start }) => [start.node.call?.key ?? '', pointer.id]));
}

/** What people have added in a thread. */
async function addedIn({ repository, thread: own }: Scenario, thread = own): Promise<MoreLimits[]> {
  const added: MoreLimits[] = [];
  for await (const commit of readChain(repository, (await getThread(repository, thread)).head)) {
    if (commit.kind === 'resume' && commit.node.more !== undefined) added.unshift(commit.node.more);
  }
  return added;
}

const task = { workflow: 'twice', prompt: 'Do {{ key }}.' };

describe('a sub-workflow counts to the budgets of its caller', () => {
  test.each<[string, Limits | undefined, Limits | undefined, number, string]>([
    [
      'cost of the workflow',
      { maxCostUsd: 2 },
      undefined,
      2,
      'the limit of 2 US dollars is reached, child threads included',
    ],
    ['tokens of the role', undefined, { maxTokens: 60 }, 3, 'the limit of 60 tokens of calls-twice is reached'],
    ['turns, and a part of a call is over', { maxTurns: 3 }, undefined, 1, 'turns in thread'],
  ])('%s', async (_name, limits, ofRole, steps, reason) => {
    const scene = await startCaller(calling('outer', 'twice', limits, ofRole));
    const over = await scene.run();
    expect(over.event).toBe('thread.suspended');
    expect(over.text).toContain(reason);
    expect((await scene.view()).steps).toBe(steps);
  });

  test('the limits of the configuration hold for all that a thread calls, however far below', async () => {
    const scene = await startCaller(calling('outer', 'middle'), { maxCostUsd: 1.5 });
    // Three turns of half a dollar: two in the first call of the middle one, one in its second.
    expect((await scene.run()).text).toMatch(
      /the limit of 1\.5 US dollars in thread \w{26}, which called it, is reached/,
    );
    expect(turnsOf(scene)).toBe(3);

    expect((await scene.resume({ more: { maxCostUsd: 1 } })).event).toBe('thread.suspended');
    expect(turnsOf(scene)).toBe(5);
  });

  test('what a child of a child uses counts before its own caller has a step', async () => {
    const scene = await startCaller(calling('outer', 'middle', { maxCostUsd: 0.5 }));
    const { engine, thread } = scene;
    const { text } = await scene.run();
    expect(text).toContain(`the limit of 0.5 US dollars in thread ${thread}, which called it, is reached`);
    expect(turnsOf(scene)).toBe(1);

    const hint = `run 'uwf thread resume ${thread} --cost 0.5' to let it use 0.5 more`;
    expect(await hintToAnswer(readingContext(scene.repository), await scene.view())).toBe(hint);

    // The second one is paid for, and to hear of it costs its caller nothing.
    const [middle] = (await branchesOf(scene)).values();
    const [twiceThread] = (await branchesOf(scene, middle)).values();
    await engine.resume(twiceThread!, { more: { maxCostUsd: 0.5 } });
    expect((await engine.describe(twiceThread!)).status).toBe('ended');
    expect((await engine.describe(middle!)).steps).toBe(1);
  });

  test('a child of a step that is done again is held to what the thread has left', async () => {
    const scene = await startCaller(calling('outer', 'twice', { maxCostUsd: 1.5 }));
    await scene.step();
    const poked = await scene.engine.poke(scene.thread, 'Once more.');
    expect(poked.status).toBe('suspended');
    expect(poked.over?.text).toContain(
      `the limit of 1.5 US dollars in thread ${poked.thread}, which called it, is reached`,
    );
    // Two of the step that is done again, one of the turn that does it.
    expect(turnsOf(scene)).toBe(3);
  });

  test('a fork of a child has no caller', async () => {
    const scene = await startCaller(calling('outer', 'twice', { maxTurns: 3 }));
    await scene.run();
    const [child] = (await branchesOf(scene)).values();
    const fork = await forkThread(scene.repository, await getThread(scene.repository, child!));
    expect((await scene.engine.resume(fork.thread)).event).toBe('thread.ended');
  });
});

describe('branches of a block', () => {
  /** Runs a block of three branches under a limit of one dollar: each wants one. */
  async function run(): Promise<{ scene: Scenario; text: string }> {
    const scene = await startBranches({ branches: { a: task, b: task, c: task }, join: 'all' }, 1);
    return { scene, text: (await scene.run()).text };
  }

  test('no turn begins when the budget is used up, and what a person allows is for all of them', async () => {
    const { scene, text } = await run();
    expect((await headOf(scene, scene.thread)).head).toMatchObject({ kind: 'suspend', node: { cause: 'child' } });
    expect(text).toContain('the limit of 1 US dollars in thread');
    // Turns that run at the same time begin before one of them has said what it cost.
    expect(turnsOf(scene)).toBeLessThan(6);

    await expect(scene.resume()).rejects.toMatchObject({
      code: 'waits-at-limit',
      hint: expect.stringContaining(`uwf thread resume ${scene.thread} --cost`),
    });
    expect((await scene.resume({ more: { maxCostUsd: 2.5 } })).event).toBe('thread.ended');
    expect(turnsOf(scene)).toBe(6);
    expect(await addedIn(scene)).toEqual([{ maxCostUsd: 2.5 }]);
    expectCleanFsck(scene.dir);
  });

  test('more for one branch is for that branch', async () => {
    const { scene } = await run();
    const waiting: ThreadId[] = [];
    for (const id of (await branchesOf(scene)).values()) {
      if ((await headOf(scene, id)).head.kind === 'suspend') waiting.push(id);
    }
    const [first] = waiting;
    expect((await scene.engine.resume(first!, { more: { maxCostUsd: 1 } })).event).toBe('thread.ended');
    expect(await addedIn(scene)).toEqual([]);
    expect(await addedIn(scene, first)).toEqual([{ maxCostUsd: 1 }]);
  });

  test('an answer that is stored first allows the caller as much', async () => {
    const { scene } = await run();
    await scene.engine.answer(scene.thread, { more: { maxCostUsd: 2.5 } });
    expect(await addedIn(scene)).toEqual([{ maxCostUsd: 2.5 }]);
    expect((await scene.run()).event).toBe('thread.ended');
  });

  test('what the children of another branch use counts while that branch waits for them', async () => {
    const branch = { workflow: 'middle', prompt: 'Do {{ key }}.' };
    const scene = await startBranches({ branches: { a: branch, b: branch, c: branch }, join: 'all' }, 2);
    expect((await scene.run()).event).toBe('thread.suspended');
    // Without a limit, each branch would go on for ever: four turns are paid for, and two more can begin beside the last one.
    expect(turnsOf(scene)).toBeLessThanOrEqual(6);
  });

  test('branches that would only wait are not started', async () => {
    const each = { over: '[1..10]', as: 'n', key: '$string(n)', workflow: 'twice', prompt: 'Do.', atOnce: 2 };
    const scene = await startBranches({ each, join: 'all' }, 2);
    expect((await scene.run()).text).toBe('the limit of 2 US dollars is reached, child threads included');
    expect((await branchesOf(scene)).size).toBe(2);

    await expect(scene.resume()).rejects.toMatchObject({ code: 'waits-at-limit' });
    expect(await scene.resume({ more: { maxCostUsd: 9 } })).toMatchObject({ event: 'thread.ended' });
    expect(turnsOf(scene)).toBe(20);
  });

  test('those that a block has cancelled were paid for, too', async () => {
    const reader = { program: `while ! test -e up; do sleep 0.02; done; ${print('good', 'Good.')}` };
    const agents = { ...callers.agents, reader, worker: [spends(), spends({ delayMs: 60_000 })] };
    const block: Block = { branches: { a: { workflow: 'review', prompt: 'Look.' }, b: task }, join: 'any' };
    const scene = await startBlock(block, { ...callers, agents });
    const running = scene.run();
    await vi.waitFor(() => expect(turnsOf(scene)).toBe(2), 20_000);
    writeFileSync(path.join(scene.dir, 'up'), '');
    await running;
    const usage = await usageOfChildren(scene.repository, await headOf(scene, scene.thread));
    expect(Object.fromEntries(usage)).toEqual({ work: turn });
  });
});
