import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { readingContext } from '../../../src/engine/engine-context.ts';
import type { AgentBinding } from '../../../src/agent/load/agent-binding.ts';
import type { Config } from '../../../src/engine/config/config.ts';
import { hintToAnswer } from '../../../src/engine/describe/describe.ts';
import { usageOfChildren } from '../../../src/engine/limits/allowance.ts';
import type { JsonObject } from '../../../src/json.ts';
import type { Limits, MoreLimits } from '../../../src/schema/built-in/schema-parts.ts';
import { findCalledNow } from '../../../src/thread/find-children.ts';
import { getThread } from '../../../src/thread/find-thread.ts';
import { forkThread } from '../../../src/thread/fork-thread.ts';
import { readChain } from '../../../src/thread/thread-chain.ts';
import { readState } from '../../../src/thread/thread-state.ts';
import type { ThreadId } from '../../../src/thread/thread-id.ts';
import { reply, statuses, workflow, type EngineFixture } from '../engine-fixture.ts';
import { createBlockFixture, withBlock } from '../blocks/block-fixture.ts';
import { expectCleanFsck } from '../../helpers/temporary-repository.ts';

const turn = { inputTokens: 7, outputTokens: 3, turns: 1, costUsd: 0.5 };
const spends = (more: JsonObject = {}): JsonObject => ({ reply: reply('good', 'It is done.'), usage: turn, ...more });

/** A workflow of a role that takes two turns, which cost a dollar. */
const twice = workflow('twice', { worker: statuses('good') }, [
  { from: '__start__', to: 'worker', when: null },
  { from: 'worker', to: 'worker', when: "$visits('worker') < 2" },
  { from: 'worker', to: '__end__', when: null },
]);

/** A workflow whose only role calls another one for ever. */
function calling(name: string, called: string, limits: Limits, ofRole: Limits = {}): typeof twice {
  const definition = workflow(name, { [`calls-${called}`]: { type: 'object' } }, [
    { from: '__start__', to: `calls-${called}`, when: null },
    { from: `calls-${called}`, to: `calls-${called}`, when: null },
  ]);
  const roles = Object.entries(definition.roles).map(([role, rest]) => [role, { ...rest, limits: ofRole }]);
  return { ...definition, limits, roles: Object.fromEntries(roles) };
}

/** An engine whose workers cost half a dollar a turn, and whose calling roles call workflows by their names. */
async function createCallers({
  limits,
  ofMiddle,
  agents,
}: { limits?: Limits; ofMiddle?: Limits; agents?: Config['agents'] } = {}): Promise<EngineFixture> {
  const scripts = { planner: ['---\nok: true\n---\nA plan.\n'], closer: [reply('done')], worker: [spends(), spends()] };
  const agentOf = (name: string, builtIn: string, config: JsonObject): AgentBinding => {
    return { name, package: `builtin:${builtIn}`, config };
  };
  const all = {
    script: agentOf('script', 'scripted', { replies: scripts }),
    twice: agentOf('twice', 'workflow', { workflow: 'twice' }),
    middle: agentOf('middle', 'workflow', { workflow: 'middle' }),
    ...agents,
  };
  const roles = { 'calls-twice': 'twice', 'calls-middle': 'middle', ...(agents?.['slow'] && { worker: 'slow' }) };
  const config = { agents: all, roles, defaultAgent: 'script', ...(limits && { limits }) };
  return createBlockFixture({ config }, [twice, calling('middle', 'twice', ofMiddle ?? {})]);
}

async function headOf({ repository }: EngineFixture, thread: ThreadId): Promise<Awaited<ReturnType<typeof readState>>> {
  return readState(repository, thread, (await getThread(repository, thread)).head);
}

async function branchesOf(fixture: EngineFixture, thread: ThreadId): Promise<Map<string, ThreadId>> {
  const called = await findCalledNow(fixture.repository, await headOf(fixture, thread), thread);
  return new Map(called.map(({ pointer, start }) => [start.node.call?.key ?? '', pointer.id]));
}

/** What people have added in a thread. */
async function addedIn({ repository }: EngineFixture, thread: ThreadId): Promise<MoreLimits[]> {
  const added: MoreLimits[] = [];
  for await (const commit of readChain(repository, (await getThread(repository, thread)).head)) {
    if (commit.kind === 'resume' && commit.node.more !== undefined) added.unshift(commit.node.more);
  }
  return added;
}

const task = { workflow: 'twice', prompt: 'Do {{ key }}.' };

describe('a sub-workflow counts to the budgets of its caller', () => {
  test.each([
    [
      'cost of the workflow',
      calling('outer', 'twice', { maxCostUsd: 2 }),
      2,
      'the limit of 2 US dollars is reached, child threads included',
    ],
    [
      'tokens of the role',
      calling('outer', 'twice', {}, { maxTokens: 60 }),
      3,
      'the limit of 60 tokens of calls-twice is reached',
    ],
    ['turns, and a part of a call is over', calling('outer', 'twice', { maxTurns: 3 }), 1, 'turns in thread'],
  ])('%s', async (_name, definition, steps, reason) => {
    const fixture = await createCallers();
    const { thread } = await fixture.engine.start({ definition, prompt: 'Go.' });
    const over = await fixture.engine.run(thread);
    expect(over.event).toBe('thread.suspended');
    expect(over.text).toContain(reason);
    expect((await fixture.engine.describe(thread)).steps).toBe(steps);
  });

  test('the limits of the configuration hold for all that a thread calls, however far below', async () => {
    const fixture = await createCallers({ limits: { maxCostUsd: 1.5 } });
    const { thread } = await fixture.engine.start({ definition: calling('outer', 'middle', {}), prompt: 'Go.' });
    const over = await fixture.engine.run(thread);
    // Three turns of half a dollar: two in the first call of the middle one, one in its second.
    expect(over.text).toMatch(/the limit of 1\.5 US dollars in thread \w{26}, which called it, is reached/);
    expect(fixture.events.filter((each) => each.event === 'step.started' && each.role === 'worker')).toHaveLength(3);

    const again = await fixture.engine.resume(thread, { more: { maxCostUsd: 1 } });
    expect(again.event).toBe('thread.suspended');
    expect(fixture.events.filter((each) => each.event === 'step.started' && each.role === 'worker')).toHaveLength(5);
  });

  test('what a child of a child uses counts before its own caller has a step', async () => {
    const fixture = await createCallers();
    const { engine } = fixture;
    const definition = calling('outer', 'middle', { maxCostUsd: 0.5 });
    const { thread } = await engine.start({ definition, prompt: 'Go.' });
    const over = await engine.run(thread);
    expect(over.text).toContain(`the limit of 0.5 US dollars in thread ${thread}, which called it, is reached`);
    expect(fixture.events.filter((each) => each.event === 'step.started' && each.role === 'worker')).toHaveLength(1);

    const hint = `run 'uwf thread resume ${thread} --cost 0.5' to let it use 0.5 more`;
    expect(await hintToAnswer(readingContext(fixture.repository), await engine.describe(thread))).toBe(hint);

    // The second one is paid for, and to hear of it costs its caller nothing.
    const [middle = thread] = (await branchesOf(fixture, thread)).values();
    const [twiceThread = thread] = (await branchesOf(fixture, middle)).values();
    await engine.resume(twiceThread, { more: { maxCostUsd: 0.5 } });
    expect((await engine.describe(twiceThread)).status).toBe('ended');
    expect((await engine.describe(middle)).steps).toBe(1);
  });

  test('a child of a step that is done again is held to what the thread has left', async () => {
    const fixture = await createCallers();
    const { engine } = fixture;
    const { thread } = await engine.start({
      definition: calling('outer', 'twice', { maxCostUsd: 1.5 }),
      prompt: 'Go.',
    });
    await engine.step(thread);
    const poked = await engine.poke(thread, 'Once more.');
    expect(poked.status).toBe('suspended');
    expect(poked.over?.text).toContain(
      `the limit of 1.5 US dollars in thread ${poked.thread}, which called it, is reached`,
    );
    // Two of the step that is done again, one of the turn that does it.
    expect(fixture.events.filter((each) => each.event === 'step.started' && each.role === 'worker')).toHaveLength(3);
  });

  test('a fork of a child has no caller', async () => {
    const fixture = await createCallers();
    const { thread } = await fixture.engine.start({
      definition: calling('outer', 'twice', { maxTurns: 3 }),
      prompt: 'Go.',
    });
    await fixture.engine.run(thread);
    const [child = thread] = (await branchesOf(fixture, thread)).values();
    const fork = await forkThread(fixture.repository, await getThread(fixture.repository, child));
    expect((await fixture.engine.resume(fork.thread)).event).toBe('thread.ended');
  });
});

describe('branches of a block', () => {
  /** Runs a block of three branches under a limit of one dollar: each wants one. */
  async function run(join: 'all' | 'any' = 'all'): Promise<EngineFixture & { thread: ThreadId; text: string }> {
    const fixture = await createCallers();
    const block = { branches: { a: task, b: task, c: task }, join };
    const definition = { ...(await withBlock(block)), limits: { maxCostUsd: 1 } };
    const { thread } = await fixture.engine.start({ definition, prompt: 'Go.' });
    return { ...fixture, thread, text: (await fixture.engine.run(thread)).text };
  }
  const turnsOf = ({ events }: EngineFixture): number =>
    events.filter((each) => each.event === 'step.started' && each.role === 'worker').length;

  test('no turn begins when the budget is used up, and what a person allows is for all of them', async () => {
    const fixture = await run();
    const { engine, thread } = fixture;
    const { head } = await headOf(fixture, thread);
    expect(head).toMatchObject({ kind: 'suspend', node: { cause: 'child' } });
    expect(fixture.text).toContain('the limit of 1 US dollars in thread');
    // Turns that run at the same time begin before one of them has said what it cost.
    expect(turnsOf(fixture)).toBeLessThan(6);

    await expect(engine.resume(thread)).rejects.toMatchObject({
      code: 'waits-at-limit',
      hint: expect.stringContaining(`uwf thread resume ${thread} --cost`),
    });
    const over = await engine.resume(thread, { more: { maxCostUsd: 2.5 } });
    expect(over.event).toBe('thread.ended');
    expect(turnsOf(fixture)).toBe(6);
    expect(await addedIn(fixture, thread)).toEqual([{ maxCostUsd: 2.5 }]);
    expectCleanFsck(fixture.dir);
  });

  test('more for one branch is for that branch', async () => {
    const fixture = await run();
    const { engine, thread } = fixture;
    const branches = await branchesOf(fixture, thread);
    const waiting: ThreadId[] = [];
    for (const id of branches.values()) if ((await headOf(fixture, id)).head.kind === 'suspend') waiting.push(id);
    const [first = '' as ThreadId] = waiting;
    expect((await engine.resume(first, { more: { maxCostUsd: 1 } })).event).toBe('thread.ended');
    expect(await addedIn(fixture, thread)).toEqual([]);
    expect(await addedIn(fixture, first)).toEqual([{ maxCostUsd: 1 }]);
  });

  test('an answer that is stored first allows the caller as much', async () => {
    const fixture = await run();
    const { engine, thread } = fixture;
    await engine.answer(thread, { more: { maxCostUsd: 2.5 } });
    expect(await addedIn(fixture, thread)).toEqual([{ maxCostUsd: 2.5 }]);
    expect((await engine.run(thread)).event).toBe('thread.ended');
  });

  test('what the children of another branch use counts while that branch waits for them', async () => {
    const fixture = await createCallers();
    const branch = { workflow: 'middle', prompt: 'Do {{ key }}.' };
    const block = { branches: { a: branch, b: branch, c: branch }, join: 'all' };
    const definition = { ...(await withBlock(block)), limits: { maxCostUsd: 2 } };
    const { thread } = await fixture.engine.start({ definition, prompt: 'Go.' });
    expect((await fixture.engine.run(thread)).event).toBe('thread.suspended');
    // Without a limit, each branch would go on for ever: four turns are paid for, and two more can begin beside the last one.
    expect(turnsOf(fixture)).toBeLessThanOrEqual(6);
  });

  test('branches that would only wait are not started', async () => {
    const fixture = await createCallers();
    const { engine } = fixture;
    const each = { over: '[1..10]', as: 'n', key: '$string(n)', workflow: 'twice', prompt: 'Do.', atOnce: 2 };
    const definition = { ...(await withBlock({ each, join: 'all' })), limits: { maxCostUsd: 2 } };
    const { thread } = await engine.start({ definition, prompt: 'Go.' });
    const over = await engine.run(thread);
    expect(over.text).toBe('the limit of 2 US dollars is reached, child threads included');
    expect((await branchesOf(fixture, thread)).size).toBe(2);

    await expect(engine.resume(thread)).rejects.toMatchObject({ code: 'waits-at-limit' });
    expect(await engine.resume(thread, { more: { maxCostUsd: 9 } })).toMatchObject({ event: 'thread.ended' });
    expect(turnsOf(fixture)).toBe(20);
  });

  test('those that a block has cancelled were paid for, too', async () => {
    const isWaiting = 'while ! test -e up; do sleep 0.02; done; printf -- "---\\n\\$status: good\\n---\\nGood.\\n"';
    const agents = {
      reader: { name: 'reader', package: 'builtin:command', config: { argv: ['sh', '-c', isWaiting] } },
      slow: {
        name: 'slow',
        package: 'builtin:scripted',
        config: { replies: { worker: [spends(), spends({ delayMs: 60_000 })] } },
      },
    };
    const fixture = await createCallers({ agents });
    const block = { branches: { a: { workflow: 'review', prompt: 'Look.' }, b: task }, join: 'any' } as const;
    const { thread } = await fixture.engine.start({ definition: await withBlock(block), prompt: 'Go.' });
    const running = fixture.engine.run(thread);
    await vi.waitFor(() => expect(turnsOf(fixture)).toBe(2), 20_000);
    writeFileSync(path.join(fixture.dir, 'up'), '');
    await running;
    const usage = await usageOfChildren(fixture.repository, await headOf(fixture, thread));
    expect(Object.fromEntries(usage)).toEqual({ work: turn });
  });
});
