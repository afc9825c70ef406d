import { describe, expect, test } from 'vitest';
import { prepareHashing } from '../../src/cas/hash.ts';
import type { StepEntry } from '../../src/thread/thread-state.ts';
import { readThread } from '../../src/thread/thread-chain.ts';
import { createMapRepository } from '../helpers/map-repository.ts';
import { builtIn } from '../../src/schema/built-in.ts';
import { addNode, forge } from '../verify/forge-commit.ts';
import { collidingTexts } from './forge-hash.ts';
import { checkAll, refusals, tipOf, type Reads } from '../verify/incoming/incoming-fixture.ts';
import { grow, startWith } from '../verify/incoming/looping-thread.ts';

await prepareHashing();

const MIB = 1024 * 1024;

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
    [`$visits('writer') > 0 and $last('writer')."$status" = 'again'`, [30]],
    [`$count($steps[$contains(text, 'q')]) = 0`, Array.from({ length: 30 }, (_, at) => at + 1)],
    [`$count($steps[meta."$status" = 'again']) > 0`, [30]],
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
