import { describe, expect, test } from 'vitest';
import { createEngine } from '../../../src/engine/engine.ts';
import { scratchRef } from '../../../src/thread/thread-id.ts';
import { getThread } from '../../../src/thread/find-thread.ts';
import { readThread } from '../../../src/thread/thread-chain.ts';
import type { ObjectStore, Repository } from '../../../src/git/repository.ts';
import type { JsonObject } from '../../../src/json.ts';
import { createTemporaryRepository, expectCleanFsck } from '../../helpers/temporary-repository.ts';
import { startLoop } from '../../thread/thread-fixture.ts';
import { addManySteps } from '../../thread/long-thread.ts';
import { createFixture, reply, scripted, statuses, workflow } from '../engine-fixture.ts';

const talk = workflow('talk', { a: statuses('said'), b: statuses('said') }, [
  'a',
  { from: 'a', to: 'b', when: '$count($steps) < 6' },
  'a > end',
  'b > a',
]);

const words = { a: ['Alpha', 'Gamma', 'Epsilon', 'Eta'], b: ['Beta', 'Delta', 'Zeta'] };
const agents = (compactor: JsonObject[] | string[]): Parameters<typeof scripted>[1] => ({
  agents: {
    script: {
      name: 'script',
      package: 'builtin:scripted',
      config: {
        replies: { a: words.a.map((word) => reply('said', word)), b: words.b.map((word) => reply('said', word)) },
      },
    },
    short: { name: 'short', package: 'builtin:scripted', config: { replies: { compactor }, repeat: true } },
  },
});

describe('compact', () => {
  test('pins a summary that the next step carries, and that agents are told instead of what was before', async () => {
    const { engine, repository, git, dir, events } = await createFixture(scripted({}, agents(['In short: A, B.'])));
    const { thread } = await engine.start({ definition: talk, prompt: 'Talk.' });
    await engine.step(thread);
    await engine.step(thread);
    const compacted = await engine.compact(thread, { agent: 'short' });
    expect(compacted).toMatchObject({ thread, steps: 2, agent: 'short', characters: 16 });
    expect(events).toContainEqual(expect.objectContaining({ event: 'thread.compacted', agent: 'short', steps: 2 }));
    expect(git('rev-parse', scratchRef(thread))).toMatch(/^[0-9a-f]{40}$/);
    const { text } = await engine.context(thread);
    expect(text).toContain('In short: A, B.');
    expect(text).not.toMatch(/Alpha|Beta/);
    expect(text).toContain('3. a: now');

    const third = await engine.step(thread);
    expect(git('show', `${third.head}:compact.md`)).toBe('In short: A, B.');
    expect(JSON.parse(git('show', `${third.head}:step.json`)).payload).toMatchObject({
      number: 3,
      compact: compacted.compact,
    });
    expect(git('show', `${third.head}:prompt.md`)).not.toMatch(/Alpha|Beta/);
    expect(git('for-each-ref', scratchRef(thread))).toBe('');

    const fourth = await engine.step(thread);
    expect(JSON.parse(git('show', `${fourth.head}:step.json`)).payload.compact).toBeNull();
    const told = git('show', `${fourth.head}:prompt.md`);
    expect(told).toContain('In short: A, B.');
    expect(told).toContain('Gamma');
    expect(told).not.toMatch(/Alpha|Beta/);
    // The rule counts every step, summed up or not.
    const over = await engine.run(thread);
    const state = await readThread(repository, over.thread, over.head);
    expect(state.steps.map((step) => step.text.trim())).toEqual([
      'Alpha',
      'Beta',
      'Gamma',
      'Delta',
      'Epsilon',
      'Zeta',
      'Eta',
    ]);
    expectCleanFsck(dir);
  });

  test('sums up in rounds what does not fit into one', async () => {
    const asked = ['Round one.', 'Round two.', 'Round three.'];
    const config = { ...scripted({}, agents(asked)), context: { maxCharacters: 12 } };
    const { engine } = await createFixture(config);
    const { thread } = await engine.start({ definition: talk, prompt: 'Talk.' });
    for (let i = 0; i < 5; i += 1) await engine.step(thread);
    // Texts of six and five characters: two, two and one fit.
    expect(await engine.compact(thread, { agent: 'short' })).toMatchObject({
      steps: 5,
      characters: 'Round three.\n'.length,
    });
  });

  test('by hand needs no agent, and a later one replaces it; a step that is done again carries what the old one did', async () => {
    const { engine, git } = await createFixture(scripted({}, agents(['x'])));
    const { thread } = await engine.start({ definition: talk, prompt: 'Talk.' });
    await expect(engine.compact(thread, { text: 'x' })).rejects.toMatchObject({ code: 'wrong-thread-state' });
    await engine.step(thread);
    await engine.compact(thread, { text: 'First.' });
    const { compact } = await engine.compact(thread, { text: 'Second.' });
    await engine.step(thread);
    const { head } = await engine.poke(thread, 'Again.');
    expect(JSON.parse(git('show', `${head}:step.json`)).payload).toMatchObject({ number: 2, compact });
    expect(git('show', `${head}:prompt.md`)).toContain('Second.');
    expect(git('show', `${head}:prompt.md`)).not.toContain('Alpha');
  });

  test('a summary of fewer steps than there are by now is dropped', async () => {
    const { engine, repository, git } = await createFixture(scripted({}, agents(['x'])));
    const { thread } = await engine.start({ definition: talk, prompt: 'Talk.' });
    await engine.step(thread);
    const { head } = await engine.step(thread);
    await engine.compact(thread, { text: 'Of two steps.' });
    // Somebody else's ref moves the thread to where it was before the second step.
    git('update-ref', `refs/threads/${thread}`, `${head}~1`, head);
    const next = await engine.step(thread);
    expect(JSON.parse(git('show', `${next.head}:step.json`)).payload).toMatchObject({ number: 2, compact: null });
    expect((await getThread(repository, thread)).head).toBe(next.head);
  });

  test('happens by itself at the size that the configuration sets, and a failure keeps no turn from being taken', async () => {
    const config = scripted({}, agents(['Summed up.']));
    const context = { compactAtCharacters: 15, compactor: 'short' };
    const { engine, git, events, repository } = await createFixture({ ...config, context });
    const { thread } = await engine.start({ definition: talk, prompt: 'Talk.' });
    const heads: string[] = [];
    for (let i = 0; i < 4; i += 1) heads.push((await engine.step(thread)).head);
    const carried = heads.map((head) => JSON.parse(git('show', `${head}:step.json`)).payload.compact !== null);
    // `Alpha\n`, `Beta\n` and `Gamma\n` are seventeen characters.
    expect(carried).toEqual([false, false, false, true]);
    expect(events.filter(({ event }) => event === 'thread.compacted')).toHaveLength(1);

    const broken = scripted({}, agents([{ fail: 'no' }]));
    const onEvent = (event: (typeof events)[number]): void => void events.push(event);
    const other = createEngine({
      repository,
      config: { ...broken, context: { ...context, compactAtCharacters: 1 } },
      onEvent,
    });
    expect(await other.step(thread)).toMatchObject({ role: 'a' });
    expect(events).toContainEqual(expect.objectContaining({ event: 'thread.not-compacted' }));
  });
});

test('the context of a thread of 1,000 steps is assembled from what follows its summary, and nothing before it', async () => {
  const temporary = createTemporaryRepository();
  const repository = await temporary.open();
  const state = await startLoop(repository);
  const head = await addManySteps(repository, state, 1_000, 981);
  const config = scripted({});
  // What this machine remembers of a head has to be worked out once.
  await createEngine({ repository, config }).describe(state.id);
  let reads = 0;
  const objects: ObjectStore = {
    format: repository.objects.format,
    read: (id, options) => {
      reads += 1;
      return repository.objects.read(id, options);
    },
    has: (id) => repository.objects.has(id),
    write: (list) => repository.objects.write(list),
    close: () => repository.objects.close(),
  };
  const counted: Repository = { ...repository, objects };
  const engine = createEngine({ repository: counted, config });
  const { text } = await engine.context(state.id, 'writer');
  expect(text).toContain('All that went before, in short.');
  expect(text).toContain('Text 1000 of many.');
  expect(text).toContain('Text 981 of many.');
  expect(text).not.toContain('Text 980 of many.');
  // A commit, its tree and index, its node and its text for each of twenty steps; the start and its workflow; and the steps
  // back to one whose tally is kept.
  expect(reads).toBeLessThan(20 * 6 + 60 + 64 * 4);
  expect((await readThread(repository, state.id, head)).steps).toHaveLength(1_000);
}, 60_000);
