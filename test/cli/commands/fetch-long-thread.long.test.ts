import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { prepareHashing } from '../../../src/cas/hash.ts';
import type { ObjectId } from '../../../src/git/format/object-id.ts';
import { DiskObjectStore } from '../../../src/git/stores/disk/open-disk-stores.ts';
import { activeRef } from '../../../src/thread/thread-id.ts';
import type { ThreadState } from '../../../src/thread/thread-state.ts';
import { cloneCliRepository, createCliRepository, type CliRepository } from '../../helpers/cli.ts';
import { createMapRepository } from '../../helpers/map-repository.ts';
import { grow, startWith } from '../../verify/incoming/looping-thread.ts';

await prepareHashing();

afterEach(() => {
  vi.restoreAllMocks();
});

/** A remote that has a thread of many steps, and a clone that has fetched it. */
async function createScene(): Promise<{
  home: CliRepository;
  state: ThreadState;
  /** Adds steps to what a state stands for, and moves the remote's thread there. */
  push: (state: ThreadState, steps: number, text: string) => Promise<ThreadState>;
}> {
  const server = createCliRepository();
  const made = createMapRepository();
  const state = await grow(made, await startWith(made, `$visits('writer') < 1000`), 350, (at) => `Text ${at}.`);
  const written = new Set<ObjectId>();
  const ref = activeRef(state.id);
  const push = async (from: ThreadState, steps: number, text: string): Promise<ThreadState> => {
    made.refMap.set(ref, from.head.id);
    const grown = await grow(made, from, steps, () => text);
    const repository = await server.open();
    const news = [...made.objectMap].filter(([id]) => !written.has(id));
    await (await repository.objects.write(news.map(([, object]) => object))).release();
    for (const [id] of news) written.add(id);
    await repository.close();
    server.git('update-ref', ref, grown.head.id);
    return grown;
  };
  await push(state, 0, '');
  const home = cloneCliRepository(server.dir);
  expect((await home.uwf(['fetch'])).code).toBe(0);
  return { home, state, push };
}

/** How many objects a fetch reads. */
async function countReads(home: CliRepository): Promise<number> {
  const read = vi.spyOn(DiskObjectStore.prototype, 'read');
  const { code, stderr } = await home.uwf(['fetch', '--json']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.not.stringContaining('refused') });
  const { length } = read.mock.calls;
  read.mockRestore();
  return length;
}

test('a fetch of one step reads as little after git gc, and more once where the lookup is not there', async () => {
  const { home, state, push } = await createScene();
  const ref = activeRef(state.id);
  let grown = await push(state, 1, 'One more.');
  expect(await countReads(home)).toBeGreaterThan(3 * 350);
  grown = await push(grown, 1, 'Another.');
  const few = await countReads(home);
  expect(few).toBeLessThan(600);
  home.git('gc', '--quiet', '--prune=now');
  grown = await push(grown, 1, 'And another.');
  expect(await countReads(home)).toBeLessThan(few + 20);
  expect(home.git('rev-parse', ref)).toBe(grown.head.id);
  rmSync(join(home.dir, '.git/uwf/lookup'), { recursive: true });
  grown = await push(grown, 1, 'A third.');
  expect(await countReads(home)).toBeGreaterThan(3 * 350);
  grown = await push(grown, 1, 'A fourth.');
  expect(await countReads(home)).toBeLessThan(few + 40);
  expect(home.git('rev-parse', ref)).toBe(grown.head.id);
});

test('a remote that takes another course loses no step, and goes on as before', async () => {
  const { home, state, push } = await createScene();
  const ref = activeRef(state.id);
  const ours = await push(state, 2, 'Ours.');
  await home.uwf(['fetch']);
  const theirs = await push(state, 1, 'Theirs.');
  // The commits before were verified: the lookup serves both.
  expect(await countReads(home)).toBeLessThan(600);
  expect(home.git('rev-parse', ref)).toBe(theirs.head.id);
  const refs = home.git('for-each-ref', '--format=%(objectname)', 'refs/threads').split('\n');
  expect(refs.toSorted()).toEqual([ours.head.id, theirs.head.id].toSorted());
  const next = await push(theirs, 1, 'The next.');
  expect(await countReads(home)).toBeLessThan(600);
  expect(home.git('rev-parse', ref)).toBe(next.head.id);
  expect((await home.uwf(['thread', 'verify', state.id])).code).toBe(0);
});
