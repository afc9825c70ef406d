import { readingContext } from '../../../src/engine/engine-context.ts';
import { verifyThread } from '../../../src/verify/verify-threads.ts';
import { describe, expect, test } from 'vitest';
import { readThread } from '../../../src/thread/thread-chain.ts';
import { getThread } from '../../../src/thread/find-thread.ts';
import { forkThread } from '../../../src/thread/thread-verbs.ts';
import { expectCleanFsck } from '../../helpers/temporary-repository.ts';
import { createFixture, reply, scripted, statuses, workflow } from '../engine-fixture.ts';
import type { JsonObject } from '../../../src/json.ts';

const relay = workflow('relay', { first: statuses('done', 'redone'), second: statuses('done', 'redone') }, [
  'start > first: Begin with {{ start.prompt }}',
  'first > second: Go on from: {{ _body }}',
  { from: 'second', to: 'first', when: "$last('second').`$status` = 'done'" },
  'second > end',
]);

const script = (replies: JsonObject): { name: string; package: string; config: JsonObject } => {
  return { name: 'x', package: 'builtin:scripted', config: { replies, repeat: true } };
};
const told = {
  first: [reply('done', 'One.')],
  second: [reply('done', 'Two.')],
};
const config = {
  ...scripted(told),
  agents: {
    script: { ...script(told), name: 'script' },
    other: { ...script({ first: [reply('redone', 'Uno.')], second: [reply('done', 'Due.')] }), name: 'other' },
    ender: { ...script({ second: [reply('redone', 'Fine.')] }), name: 'ender' },
    asker: { ...script({ second: [{ suspend: 'Which way?' }] }), name: 'asker' },
  },
};

describe('poke', () => {
  test('replaces the newest step under its number, and keeps it as a parent', async () => {
    const { engine, repository, git, dir } = await createFixture(config);
    const { thread } = await engine.start({ definition: relay, prompt: 'numbers' });
    await engine.step(thread);
    const old = await engine.step(thread);
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
    const prompt = git('show', `${poked.head}:prompt.md`);
    expect(prompt).toContain('In Italian, please.');
    expect(prompt).toContain('Two.');
    expect(prompt).toContain('Go on from: One.');
    expectCleanFsck(dir);

    const again = await engine.poke(thread, 'And once more.');
    const pokedTwice = await readThread(repository, thread, again.head);
    expect(pokedTwice.steps.map(({ text }) => text)).toEqual(['One.\n', 'Two.\n']);
    expect(pokedTwice.head.commit.parents).toEqual([first!.id, poked.head]);
  });

  test('decides anew after the step, and ends the thread if that is decided', async () => {
    const { engine } = await createFixture(config);
    const { thread } = await engine.start({ definition: relay, prompt: 'numbers' });
    await engine.step(thread);
    await engine.step(thread);
    expect(await engine.poke(thread, 'Enough.', { agent: 'ender' })).toMatchObject({ status: 'ended', role: 'second' });
    await expect(engine.poke(thread, 'More.')).rejects.toMatchObject({
      code: 'wrong-thread-state',
      hint: expect.stringContaining('uwf thread fork'),
    });
  });

  test('that only brings a question leaves the thread as it is, and a fork waits', async () => {
    const { engine, repository } = await createFixture(config);
    const { thread } = await engine.start({ definition: relay, prompt: 'numbers' });
    await engine.step(thread);
    const old = await engine.step(thread);
    const poked = await engine.poke(thread, 'Otherwise.', { agent: 'asker' });
    expect(poked).toMatchObject({ status: 'suspended', step: null });
    expect(poked.thread).not.toBe(thread);
    expect((await getThread(repository, thread)).head).toBe(old.head);
    expect(await engine.describe(poked.thread)).toMatchObject({ steps: 1, nextRole: 'second', reason: 'Which way?' });
  });

  test('is refused where no step is the newest commit, and by an agent that nobody has', async () => {
    const { engine } = await createFixture(config);
    const { thread } = await engine.start({ definition: relay, prompt: 'numbers' });
    await expect(engine.poke(thread, 'x')).rejects.toMatchObject({ code: 'wrong-thread-state' });
    await engine.step(thread);
    await expect(engine.poke(thread, 'x', { agent: 'othr' })).rejects.toMatchObject({
      code: 'unknown-agent',
      hint: "did you mean 'other'?",
    });
  });
});

test('another agent takes the next turn of a run, and only that', async () => {
  const { engine, repository } = await createFixture(config);
  const { thread } = await engine.start({ definition: relay, prompt: 'numbers' });
  await engine.step(thread, { agent: 'other' });
  const { head } = await getThread(repository, thread);
  const fork = await forkThread(repository, { id: thread, head });
  expect(await engine.run(fork.thread, { agent: 'ender' })).toMatchObject({ status: 'ended', text: 'Fine.\n' });
  const state = await readThread(repository, fork.thread, (await getThread(repository, fork.thread)).head);
  expect(state.steps.map(({ text }) => text)).toEqual(['Uno.\n', 'Fine.\n']);
});

test('a fork, and a step that is done again, call a child thread of their own', async () => {
  const child = workflow('child', { worker: statuses('done') }, 'worker > end');
  const parent = workflow(
    'parent',
    { caller: { type: 'object', properties: { $status: { type: 'string' } } } },
    'caller > caller',
  );
  const { engine, repository, git, dir } = await createFixture(
    {
      agents: {
        calls: { name: 'calls', package: 'builtin:workflow', config: { workflow: 'child' } },
        works: { ...script({ worker: [reply('done', 'Worked.')] }), name: 'works' },
      },
      roles: { caller: 'calls', worker: 'works' },
    },
    { resolveWorkflow: () => Promise.resolve(child) },
  );
  const { thread } = await engine.start({ definition: parent, prompt: 'x' });
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
  expect(await verifyThread(readingContext(repository), thread)).toMatchObject({ sound: true });
  // The child's end comes before the replaced step.
  expect(git('rev-parse', `${poked.head}^3`)).toBe(one.head);
  expectCleanFsck(dir);
});
