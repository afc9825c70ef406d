import { expect, test } from 'vitest';
import { describeThread } from '../../src/engine/describe/describe.ts';
import { readingContext } from '../../src/engine/engine-context.ts';
import type { Repository } from '../../src/git/repository.ts';
import { appendStep } from '../../src/thread/append-step.ts';
import { findChildren } from '../../src/thread/find-children.ts';
import { readState, type ThreadState } from '../../src/thread/thread-state.ts';
import { createTemporaryRepository } from '../helpers/temporary-repository.ts';
import { watched } from '../helpers/watched-repository.ts';
import { calledBy, startLoop, stepDraft } from './thread-fixture.ts';

function childOf(repository: Repository, caller: ThreadState): Promise<ThreadState> {
  return startLoop(repository, calledBy(caller));
}

async function idsOf(repository: Repository, caller: ThreadState): Promise<string[]> {
  return (await findChildren(repository, caller)).map(({ pointer }) => pointer.id);
}

test('the children of a thread are found among many, whatever was called by others', async () => {
  const temporary = createTemporaryRepository();
  const repository = await temporary.open();
  let caller = await startLoop(repository);
  const left = await childOf(repository, caller);
  const stranger = await startLoop(repository);
  await childOf(repository, stranger);
  caller = await appendStep(repository, caller, stepDraft({ leftUsage: {} }));
  caller = await appendStep(repository, caller, stepDraft());
  const called = await childOf(repository, caller);
  for (let at = 0; at < 200; at += 1) await startLoop(repository);

  const again = watched(await temporary.open());
  const state = await readState(again.repository, caller.id, caller.head.id);
  expect(await idsOf(again.repository, state)).toEqual([left.id, called.id].toSorted());
  // Those that began at the same moments are read, and no others.
  expect(again.read.length).toBeLessThan(100);
  const { children } = await describeThread(readingContext(await temporary.open()), caller.id);
  expect(children.toSorted()).toEqual([left.id, called.id].toSorted());
});
