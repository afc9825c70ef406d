import { describe, expect, test } from 'vitest';
import { createEngine } from '../../../src/engine/engine.ts';
import { scratchRef } from '../../../src/thread/thread-id.ts';
import { getThread } from '../../../src/thread/find-thread.ts';
import { readThread } from '../../../src/thread/thread-chain.ts';
import type { AgentBinding } from '../../../src/agent/load/agent-binding.ts';
import type { Config } from '../../../src/engine/config/config.ts';
import type { ObjectStore, Repository } from '../../../src/git/repository.ts';
import { createTemporaryRepository, expectCleanFsck } from '../../helpers/temporary-repository.ts';
import { startLoop } from '../../thread/thread-fixture.ts';
import { addManySteps } from '../../thread/long-thread.ts';
import type { Turn } from '../../helpers/plot.ts';
import { scenario, type Scenario } from '../../helpers/scenario.ts';

/** Two roles that talk, each of whose turns says the next word, and a compactor that says so. */
function startTalk(compactor: Turn[], more: Partial<Config> = {}): Promise<Scenario> {
  const says = (...words: string[]): Turn[] => words.map((word) => `said: ${word}`);
  return scenario({
    flow: ['a', { from: 'a', to: 'b', when: '$count($steps) < 6' }, 'a > end', 'b > a'],
    agents: { a: says('Alpha', 'Gamma', 'Epsilon', 'Eta'), b: says('Beta', 'Delta', 'Zeta') },
    config: { ...more, agents: { short: compactorOf(compactor) } },
    prompt: 'Talk.',
  });
}

function compactorOf(replies: Turn[]): AgentBinding {
  return { name: 'short', package: 'builtin:scripted', config: { replies: { compactor: replies }, repeat: true } };
}

describe('compact', () => {
  test('pins a summary that the next step carries, and that agents are told instead of what was before', async () => {
    const scene = await startTalk(['In short: A, B.']);
    const { engine, repository, git, thread } = scene;
    await scene.step(2);
    const compacted = await engine.compact(thread, { agent: 'short' });
    expect(compacted).toMatchObject({ thread, steps: 2, agent: 'short', characters: 16 });
    expect(scene.told('thread.compacted')).toMatchObject([{ agent: 'short', steps: 2 }]);
    expect(git('rev-parse', scratchRef(thread))).toMatch(/^[0-9a-f]{40}$/);
    const { text } = await engine.context(thread);
    expect(text).toContain('In short: A, B.');
    expect(text).not.toMatch(/Alpha|Beta/);
    expect(text).toContain('3. a: now');

    await scene.step();
    expect(await scene.read('compact.md')).toBe('In short: A, B.');
    expect(await scene.payload('step.json')).toMatchObject({ number: 3, compact: compacted.compact });
    expect(await scene.read('prompt.md')).not.toMatch(/Alpha|Beta/);
    expect(git('for-each-ref', scratchRef(thread))).toBe('');

    await scene.step();
    expect((await scene.payload('step.json'))['compact']).toBeNull();
    const told = await scene.read('prompt.md');
    expect(told).toContain('In short: A, B.');
    expect(told).toContain('Gamma');
    expect(told).not.toMatch(/Alpha|Beta/);
    // The rule counts every step, summed up or not.
    const over = await scene.run();
    const state = await readThread(repository, over.thread, over.head);
    const said = state.steps.map((step) => step.text.trim()).join(' ');
    expect(said).toBe('Alpha Beta Gamma Delta Epsilon Zeta Eta');
    expectCleanFsck(scene.dir);
  });

  test('sums up in rounds what does not fit into one', async () => {
    const asked = ['Round one.', 'Round two.', 'Round three.'];
    const scene = await startTalk(asked, { context: { maxCharacters: 12 } });
    await scene.step(5);
    // Texts of six and five characters: two, two and one fit.
    expect(await scene.engine.compact(scene.thread, { agent: 'short' })).toMatchObject({
      steps: 5,
      characters: 'Round three.\n'.length,
    });
  });

  test('by hand needs no agent, and a later one replaces it; a step that is done again carries what the old one did', async () => {
    const scene = await startTalk(['x']);
    const { engine, thread } = scene;
    await expect(engine.compact(thread, { text: 'x' })).rejects.toMatchObject({ code: 'wrong-thread-state' });
    await engine.step(thread);
    await engine.compact(thread, { text: 'First.' });
    const { compact } = await engine.compact(thread, { text: 'Second.' });
    await engine.step(thread);
    await engine.poke(thread, 'Again.');
    expect(await scene.payload('step.json')).toMatchObject({ number: 2, compact });
    expect(await scene.read('prompt.md')).toContain('Second.');
    expect(await scene.read('prompt.md')).not.toContain('Alpha');
  });

  test('a summary of fewer steps than there are by now is dropped', async () => {
    const scene = await startTalk(['x']);
    const { engine, repository, thread, git } = scene;
    const { head } = await scene.step(2);
    await engine.compact(thread, { text: 'Of two steps.' });
    // Somebody else's ref moves the thread to where it was before the second step.
    git('update-ref', `refs/threads/${thread}`, `${head}~1`, head);
    const next = await scene.step();
    expect(await scene.payload('step.json')).toMatchObject({ number: 2, compact: null });
    expect((await getThread(repository, thread)).head).toBe(next.head);
  });

  test('happens by itself at the size that the configuration sets, and a failure keeps no turn from being taken', async () => {
    const context = { compactAtCharacters: 15, compactor: 'short' };
    const scene = await startTalk(['Summed up.'], { context });
    const carried: boolean[] = [];
    for (let step = 0; step < 4; step += 1) {
      await scene.step();
      carried.push((await scene.payload('step.json'))['compact'] !== null);
    }
    // `Alpha\n`, `Beta\n` and `Gamma\n` are seventeen characters.
    expect(carried).toEqual([false, false, false, true]);
    expect(scene.told('thread.compacted')).toHaveLength(1);

    const { config } = scene.plot;
    const agents = { ...config.agents, short: compactorOf([{ fail: 'no' }]) };
    const broken = { ...config, agents, context: { ...context, compactAtCharacters: 1 } };
    expect(await scene.beside({ config: broken }).step(scene.thread)).toMatchObject({ role: 'a' });
    expect(scene.told('thread.not-compacted')).toHaveLength(1);
  });
});

test('the context of a thread of 1,000 steps is assembled from what follows its summary, and nothing before it', async () => {
  const temporary = createTemporaryRepository();
  const repository = await temporary.open();
  const state = await startLoop(repository);
  const head = await addManySteps(repository, state, 1_000, 981);
  const config = { agents: {}, roles: {} };
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
