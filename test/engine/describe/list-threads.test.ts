import { describe, expect, test } from 'vitest';
import { readingContext } from '../../../src/engine/engine-context.ts';
import { eachThread, listThreads } from '../../../src/engine/describe/list-threads.ts';
import type { Repository } from '../../../src/git/repository.ts';
import { endThread } from '../../../src/thread/thread-verbs.ts';
import { getThread } from '../../../src/thread/find-thread.ts';
import type { ThreadState } from '../../../src/thread/thread-state.ts';
import { createTemporaryRepository } from '../../helpers/temporary-repository.ts';
import { watched } from '../../helpers/watched-repository.ts';
import { addManySteps } from '../../thread/long-thread.ts';
import { startLoop } from '../../thread/thread-fixture.ts';

async function manyThreads(count: number): Promise<{ open: () => Promise<Repository>; threads: ThreadState[] }> {
  const temporary = createTemporaryRepository();
  const repository = await temporary.open();
  const threads: ThreadState[] = [];
  for (let at = 0; at < count; at += 1) threads.push(await startLoop(repository, { prompt: `Task ${at}` }));
  return { open: () => temporary.open(), threads };
}

describe('a list of some of many threads', () => {
  test('reads no object of a thread that it does not show', async () => {
    const { open, threads } = await manyThreads(40);
    const { repository, read } = watched(await open());
    const listed = await listThreads(readingContext(repository), { limit: 3 });
    expect(listed.map(({ thread }) => thread)).toEqual(
      threads
        .slice(-3)
        .toReversed()
        .map(({ id }) => id),
    );
    for (const { head } of threads.slice(0, -3)) expect(read).not.toContain(head.id);
    expect(read).toContain(threads.at(-1)?.head.id);
  });

  test('by a text reads of each thread its head and its start, however many steps there are', async () => {
    const { open, threads } = await manyThreads(3);
    const writer = await open();
    for (const thread of threads) await addManySteps(writer, thread, 20, 0);
    const { repository, read } = watched(await open());
    expect(await listThreads(readingContext(repository), { text: 'Poem' })).toEqual([]);
    expect(read.length).toBeLessThanOrEqual(3 * 35);
  });

  test('by status reads of the others only what tells their status, and goes on until there are enough', async () => {
    const { open, threads } = await manyThreads(12);
    const writer = await open();
    for (const at of [1, 3]) {
      const thread = threads[at]!;
      await endThread(writer, thread, {
        outcome: 'cancelled',
        returnCode: 130,
        summary: 'no',
      });
    }
    const listed = await listThreads(readingContext(await open()), { statuses: ['cancelled'], limit: 2 });
    expect(listed.map(({ thread }) => thread)).toEqual([threads[3]!.id, threads[1]!.id]);
    const { repository, read } = watched(await open());
    await listThreads(readingContext(repository), { statuses: ['suspended'], limit: 2 });
    // Commit, tree, index and node of each head; its start is its head.
    expect(new Set(read).size).toBeLessThanOrEqual(10 * 5);
  });

  test('lets other work of its process go on', async () => {
    const { open } = await manyThreads(60);
    const engine = readingContext(await open());
    // What is remembered is read without waiting for a disk.
    await listThreads(engine);
    let isOtherDone = false;
    const seen: boolean[] = [];
    for await (const _ of eachThread(engine, {})) {
      if (seen.length === 0) setImmediate(() => (isOtherDone = true));
      seen.push(isOtherDone);
    }
    expect([seen.length, seen.at(-1)]).toEqual([60, true]);
  });

  test('goes on behind a thread, to the oldest', async () => {
    const { open, threads } = await manyThreads(9);
    const context = readingContext(await open());
    const seen: string[] = [];
    for (let cursor: ThreadState['id'] | undefined; ;) {
      const page = await listThreads(context, { limit: 4, ...(cursor && { cursor }) });
      seen.push(...page.map(({ thread }) => thread));
      cursor = page.at(-1)?.thread;
      if (page.length < 4) break;
    }
    expect(seen).toEqual(threads.map(({ id }) => id).toReversed());
  });
});

test('a thread is found by the beginning of its id, whether it runs or has ended', async () => {
  const { open, threads } = await manyThreads(3);
  const [first, second] = threads;
  const repository = await open();
  await endThread(repository, first!, { outcome: 'completed', returnCode: 0, summary: 'x' });
  expect(await getThread(repository, first!.id.toLowerCase())).toMatchObject({ id: first!.id, isHistory: true });
  expect(await getThread(repository, second!.id.slice(0, 25))).toMatchObject({ id: second!.id, isHistory: false });
  await expect(getThread(repository, second!.id.slice(0, 2))).rejects.toThrow('could be');
  await expect(getThread(repository, '7ZZZZZZZZZ')).rejects.toThrow('7ZZZZZZZZZ');
});
