import { describe, expect, test } from 'vitest';
import { readThread } from '../../../src/thread/thread-chain.ts';
import { getThread } from '../../../src/thread/find-thread.ts';
import { forkThread } from '../../../src/thread/thread-verbs.ts';
import { expectCleanFsck } from '../../helpers/temporary-repository.ts';
import { plotOf } from '../../helpers/plot.ts';
import { reply, scenario, statuses, type Scenario } from '../../helpers/scenario.ts';
import type { AgentBinding } from '../../../src/agent/load/agent-binding.ts';
import type { JsonObject } from '../../../src/json.ts';

const script = (name: string, replies: JsonObject): AgentBinding => {
  return { name, package: 'builtin:scripted', config: { replies, repeat: true } };
};

/** Two roles that hand the work to each other, and agents that would do it otherwise. */
function startRelay(): Promise<Scenario> {
  return scenario({
    flow: [
      'start > first: Begin with {{ start.prompt }}',
      'first > second: Go on from: {{ _body }}',
      { from: 'second', to: 'first', when: "$last('second').`$status` = 'done'" },
      'second > end',
    ],
    agents: { first: ['done: One.'], second: ['done: Two.'] },
    roles: { first: statuses('done', 'redone'), second: statuses('done', 'redone') },
    config: {
      agents: {
        other: script('other', { first: [reply('redone', 'Uno.')], second: [reply('done', 'Due.')] }),
        ender: script('ender', { second: [reply('redone', 'Fine.')] }),
        asker: script('asker', { second: [{ suspend: 'Which way?' }] }),
      },
    },
    prompt: 'numbers',
  });
}

describe('poke', () => {
  test('replaces the newest step under its number, and keeps it as a parent', async () => {
    const scene = await startRelay();
    const { engine, repository, thread, git } = scene;
    const old = await scene.step(2);
    const poked = await engine.poke(thread, 'In Italian, please.', { agent: 'other' });
    expect(poked).toMatchObject({ thread, role: 'second', status: 'idle', nextRole: 'first' });

    const { head } = await getThread(repository, thread);
    expect(head).toBe(poked.head);
    const state = await readThread(repository, thread, head);
    expect(state.steps.map(({ text }) => text)).toEqual(['One.\n', 'Due.\n']);
    const [first, second] = state.steps.map(({ commit }) => commit);
    expect(second!.node).toMatchObject({ number: 2, rule: 1, previous: first!.hash, replaces: old.step });
    expect(second!.node.ancestors).toEqual([first!.hash]);
    expect(second!.commit.parents).toEqual([first!.id, old.head]);
    // The ref has moved forward, as git sees it.
    git('merge-base', '--is-ancestor', old.head, poked.head);
    const prompt = await scene.read('prompt.md');
    for (const told of ['In Italian, please.', 'Two.', 'Go on from: One.']) expect(prompt).toContain(told);
    expectCleanFsck(scene.dir);

    const again = await engine.poke(thread, 'And once more.');
    const pokedTwice = await readThread(repository, thread, again.head);
    expect(pokedTwice.steps.map(({ text }) => text)).toEqual(['One.\n', 'Two.\n']);
    expect(pokedTwice.head.commit.parents).toEqual([first!.id, poked.head]);
  });

  test('decides anew after the step, and ends the thread if that is decided', async () => {
    const scene = await startRelay();
    const { engine, thread } = scene;
    await scene.step(2);
    expect(await engine.poke(thread, 'Enough.', { agent: 'ender' })).toMatchObject({ status: 'ended', role: 'second' });
    await expect(engine.poke(thread, 'More.')).rejects.toMatchObject({
      code: 'wrong-thread-state',
      hint: expect.stringContaining('uwf thread fork'),
    });
  });

  test('that only brings a question leaves the thread as it is, and a fork waits', async () => {
    const scene = await startRelay();
    const { engine, repository, thread } = scene;
    const old = await scene.step(2);
    const poked = await engine.poke(thread, 'Otherwise.', { agent: 'asker' });
    expect(poked).toMatchObject({ status: 'suspended', step: null });
    expect(poked.thread).not.toBe(thread);
    expect((await getThread(repository, thread)).head).toBe(old.head);
    expect(await engine.describe(poked.thread)).toMatchObject({ steps: 1, nextRole: 'second', reason: 'Which way?' });
  });

  test('is refused where no step is the newest commit, and by an agent that nobody has', async () => {
    const { engine, thread } = await startRelay();
    await expect(engine.poke(thread, 'x')).rejects.toMatchObject({ code: 'wrong-thread-state' });
    await engine.step(thread);
    await expect(engine.poke(thread, 'x', { agent: 'othr' })).rejects.toMatchObject({
      code: 'unknown-agent',
      hint: "did you mean 'other'?",
    });
  });
});

test('another agent takes the next turn of a run, and only that', async () => {
  const { engine, repository, thread } = await startRelay();
  await engine.step(thread, { agent: 'other' });
  const { head } = await getThread(repository, thread);
  const fork = await forkThread(repository, { id: thread, head });
  expect(await engine.run(fork.thread, { agent: 'ender' })).toMatchObject({ status: 'ended', text: 'Fine.\n' });
  const state = await readThread(repository, fork.thread, (await getThread(repository, fork.thread)).head);
  expect(state.steps.map(({ text }) => text)).toEqual(['Uno.\n', 'Fine.\n']);
});

test('a fork, and a step that is done again, call a child thread of their own', async () => {
  const { definition: child } = plotOf({ flow: 'worker > end', definition: { name: 'child' } });
  const scene = await scenario({
    flow: 'caller > caller',
    agents: { caller: { package: 'builtin:workflow', config: { workflow: 'child' } }, worker: ['done: Worked.'] },
    roles: { caller: { type: 'object', properties: { $status: { type: 'string' } } } },
    others: [child],
  });
  const { engine, repository, thread, git } = scene;
  const start = await getThread(repository, thread);
  const one = await engine.step(thread);
  const fork = await forkThread(repository, start, start.head);
  const other = await engine.step(fork.thread);
  const poked = await engine.poke(thread, 'Again.');
  const ends = [one, other, poked].map(({ head }) => git('rev-parse', `${head}^2`));
  expect(new Set(ends).size).toBe(3);
  // The fork's child is the fork's alone; that of the step which was replaced is left beside the new one's.
  const { calls } = await engine.describe(thread);
  expect(calls.map(({ isLeft }) => isLeft)).toEqual([false, true]);
  expect((await engine.describe(fork.thread)).children).toHaveLength(1);
  // The child's end comes before the replaced step.
  expect(git('rev-parse', `${poked.head}^3`)).toBe(one.head);
  expectCleanFsck(scene.dir);
});
