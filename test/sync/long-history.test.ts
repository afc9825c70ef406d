import { describe, expect, test } from 'vitest';
import { prepareHashing } from '../../src/cas/hash.ts';
import { ObjectBatch } from '../../src/git/stores/object-batch.ts';
import { appendStep } from '../../src/thread/append/append-step.ts';
import { startThread } from '../../src/thread/append/start-thread.ts';
import { writeWorkflowTree } from '../../src/workflow/nodes/encode-workflow.ts';
import type { StepEntry, ThreadState } from '../../src/thread/read/thread-state.ts';
import { readThread } from '../../src/thread/read/whole-thread.ts';
import { createMapRepository, type MapRepository } from '../helpers/map-repository.ts';
import { loop, stepDraft } from '../thread/thread-fixture.ts';
import { builtIn } from '../../src/schema/built-in.ts';
import { addNode, forge } from '../verify/forge-commit.ts';
import { collidingTexts } from './forge-hash.ts';
import { checkAll, refusals, tipOf, type Reads } from '../verify/incoming/incoming-fixture.ts';

await prepareHashing();

const MIB = 1024 * 1024;

/** A thread in which a rule is asked before each step after the first. */
async function startWith(remote: MapRepository, when: string): Promise<ThreadState> {
  const batch = new ObjectBatch();
  const rules = [
    { from: '__start__', to: 'writer', when: null },
    { from: 'writer', to: 'writer', when },
  ];
  const workflow = writeWorkflowTree(batch, { ...loop, moderator: rules });
  const agents = { writer: { name: 'robot', package: 'builtin:scripted', version: '1.0.0', config: {} } };
  return startThread(remote, batch, { workflow, prompt: 'Write.', agents });
}

async function grow(
  remote: MapRepository,
  state: ThreadState,
  steps: number,
  textOf: (number: number) => string,
): Promise<ThreadState> {
  let grown = state;
  for (let count = 0; count < steps; count++) {
    const number = grown.tally.steps + 1;
    const draft = { role: 'writer', rule: number === 1 ? 0 : 1, meta: { $status: 'again' }, text: textOf(number) };
    grown = await appendStep(remote, grown, stepDraft({ ...draft, prompt: `Do step ${number}.` }));
  }
  return grown;
}

describe('a fetched thread with much text', () => {
  test('is refused where its rules look at all of it, and sound where they look at the newest or at less', async () => {
    const remote = createMapRepository();
    const large = (number: number): string => `${number}`.repeat(1.2 * MIB);
    const all = await startWith(remote, `$count($steps[$contains(text, 'q')]) = 0`);
    await grow(remote, all, 9, large);
    const newest = await startWith(remote, `$contains($steps[-1].text, 'q') = false`);
    await grow(remote, newest, 9, large);
    const roles = await startWith(remote, `$visits('writer') > 0 and $last('writer')."$status" = 'again'`);
    await grow(remote, roles, 9, large);
    expect(refusals(await checkAll(remote))).toEqual({
      [`refs/threads/${all.id}`]: expect.stringMatching(
        /what its rules look at of its steps takes more than \d+ bytes/,
      ),
    });
  });

  test.each([
    [`$contains($steps[-2].text, 'q') = false`, [29, 30]],
    [`$visits('writer') > 0`, Array.from({ length: 30 }, (_, at) => at + 1)],
  ])('that goes on is read again as far as rules see it: %s', async (when, wanted) => {
    const remote = createMapRepository();
    const before = await grow(remote, await startWith(remote, when), 30, (number) => `Text ${number}.`);
    const local = createMapRepository(new Map(remote.objectMap), new Map(remote.refMap));
    const { id, head } = await grow(remote, before, 1, () => 'The next.');
    const reads: Reads = new Map();
    const faults = await checkAll(remote, { local, reads, tips: [tipOf(`refs/threads/${id}`, head.id)] });
    expect(refusals(faults)).toEqual({});
    const isRead = ({ commit }: StepEntry): boolean =>
      commit.index.some(({ path, oid }) => path === 'output.md' && reads.has(oid));
    const { steps } = await readThread(remote, before.id, before.head.id);
    expect(steps.filter(isRead).map(({ commit }) => commit.node.number)).toEqual(wanted);
  });

  test('that goes on cannot have a hash of a step that was not read again for something else', async () => {
    const remote = createMapRepository();
    const state = await startWith(remote, 'true');
    const [text, other] = collidingTexts();
    const first = await grow(remote, state, 1, () => text);
    const before = await grow(remote, first, 30, (number) => `Text ${number}.`);
    const local = createMapRepository(new Map(remote.objectMap), new Map(remote.refMap));
    const { id, head } = await grow(remote, before, 1, () => 'The next.');
    const forged = forge(remote, head.id, (draft) => {
      draft.node['content'] = addNode(remote, draft, 'output.md', builtIn.content, { text: other });
    });
    const faults = await checkAll(remote, { local, tips: [tipOf(`refs/threads/${id}`, forged)] });
    expect(Object.values(refusals(faults))).toEqual([expect.stringMatching(/two different objects/)]);
  });
});
