import { describe, expect, test } from 'vitest';
import { appendStep } from '../../src/thread/append-step.ts';
import { endThread, forkThread } from '../../src/thread/thread-verbs.ts';
import { getThread } from '../../src/thread/find-thread.ts';
import { activeRef } from '../../src/thread/thread-id.ts';
import { readState, type ThreadState } from '../../src/thread/thread-state.ts';
import { readThread } from '../../src/thread/thread-chain.ts';
import { createTemporaryRepository, expectCleanFsck } from '../helpers/temporary-repository.ts';
import { addManySteps } from './long-thread.ts';
import { startLoop, stepDraft } from './thread-fixture.ts';
import type { Repository } from '../../src/git/repository.ts';

async function withSteps(repository: Repository, count: number): Promise<ThreadState> {
  let state = await startLoop(repository);
  for (let number = 1; number <= count; number += 1) {
    const role = number % 2 === 1 ? 'writer' : 'checker';
    state = await appendStep(repository, state, stepDraft({ role, text: `Text ${number}.\n` }));
  }
  return state;
}

describe('a fork', () => {
  test('of step 500 of 1,000 writes no object, and both futures go on by themselves', async () => {
    const { open, git, dir } = createTemporaryRepository();
    const repository = await open();
    const begun = await startLoop(repository);
    const state = await readState(repository, begun.id, await addManySteps(repository, begun, 1_000, 0));
    const middle = (await readThread(repository, state.id, state.head.id)).steps[499]!.commit;
    const before = git('count-objects', '-v');
    const fork = await forkThread(repository, await getThread(repository, state.id), middle.id);
    expect(git('count-objects', '-v')).toBe(before);
    expect(fork).toMatchObject({ head: middle.id, forkedFrom: state.id });
    expect(git('rev-parse', activeRef(fork.thread))).toBe(middle.id);

    const there = await readState(repository, fork.thread, fork.head);
    const other = await appendStep(repository, there, stepDraft({ text: 'Another way.' }));
    const own = await appendStep(repository, state, stepDraft({ text: 'The old way.' }));
    expect(other.last?.node).toMatchObject({ number: 501, previous: middle.hash });
    expect(own.last?.node).toMatchObject({ number: 1_001 });
    expect(other.start.node.id).toBe(state.id);
    expectCleanFsck(dir);
  });

  test('of a fork names the fork, and forks made at once are all there', async () => {
    const repository = await createTemporaryRepository().open();
    const state = await withSteps(repository, 2);
    const pointer = await getThread(repository, state.id);
    const forks = await Promise.all(Array.from({ length: 20 }, () => forkThread(repository, pointer)));
    expect(new Set(forks.map(({ thread }) => thread)).size).toBe(20);
    const first = await getThread(repository, forks[0]!.thread);
    expect(first.head).toBe(state.head.id);
    expect(await forkThread(repository, first, state.start.id)).toMatchObject({
      head: state.start.id,
      forkedFrom: first.id,
    });
  });

  test('of a thread that has ended goes on from its last step, and never from its end', async () => {
    const repository = await createTemporaryRepository().open();
    const state = await withSteps(repository, 3);
    const ended = await endThread(repository, state, { outcome: 'completed', returnCode: 0, summary: 'Done.' });
    const pointer = await getThread(repository, state.id);
    expect(await forkThread(repository, pointer)).toMatchObject({ head: state.head.id });
    await expect(forkThread(repository, pointer, ended.head.id)).rejects.toMatchObject({ code: 'wrong-thread-state' });
  });

  test('is refused at a commit of another thread', async () => {
    const repository = await createTemporaryRepository().open();
    const [one, other] = [await withSteps(repository, 1), await startLoop(repository, { prompt: 'Another.' })];
    const pointer = await getThread(repository, one.id);
    await expect(forkThread(repository, pointer, other.start.id)).rejects.toMatchObject({ code: 'wrong-thread-state' });
  });
});
