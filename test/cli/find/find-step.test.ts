import { describe, expect, test } from 'vitest';
import { findCommitsOfTurns, startCommitOf } from '../../../src/engine/describe/find-turn.ts';
import { commitBefore, findStep } from '../../../src/cli/find/find-turn.ts';
import type { CliEnvironment } from '../../../src/cli/process/cli-environment.ts';
import { reindex } from '../../../src/cas/lookup.ts';
import type { Repository } from '../../../src/git/repository.ts';
import { appendStep } from '../../../src/thread/append-step.ts';
import { resumeThread, suspendThread } from '../../../src/thread/thread-verbs.ts';
import { getThread } from '../../../src/thread/find-thread.ts';
import { activeRef, type ThreadPointer } from '../../../src/thread/thread-id.ts';
import { readSteps } from '../../../src/thread/thread-chain.ts';
import type { StepEntry } from '../../../src/thread/thread-state.ts';
import { createMapRepository } from '../../helpers/map-repository.ts';
import { createTemporaryRepository } from '../../helpers/temporary-repository.ts';
import { watched } from '../../helpers/watched-repository.ts';
import { addManySteps } from '../../thread/long-thread.ts';
import { startLoop, stepDraft, suspensionDraft } from '../../thread/thread-fixture.ts';

/** A step's commit, its tree and index, its node and its text. */
const objectsOfStep = 5;
/** So many steps are passed at most on the way to one of 500. */
const WAY = 64;

// findStep takes nothing else of a context.
const cli = { env: {} } as CliEnvironment;

async function longThread(count: number): Promise<{ open: () => Promise<Repository>; pointer: ThreadPointer }> {
  const temporary = createTemporaryRepository();
  const repository = await temporary.open();
  const state = await startLoop(repository);
  await addManySteps(repository, state, count, 0);
  return { open: () => temporary.open(), pointer: await getThread(repository, state.id) };
}

function numbersOf(steps: readonly StepEntry[]): number[] {
  return steps.map(({ commit }) => commit.node.number);
}

describe.each([50, 500])('of a thread of %i steps', (count) => {
  test('the last few cost what they are, wherever nothing is remembered', async () => {
    const { open, pointer } = await longThread(count);
    const { repository, read } = watched(await open());
    const { steps, start } = await readSteps(repository, pointer.head, 3);
    expect(numbersOf(steps)).toEqual([count - 2, count - 1, count]);
    expect(steps.at(-1)?.text).toBe(`Text ${count} of many.\n`);
    expect(start).toBeUndefined();
    expect(read).toHaveLength(3 * objectsOfStep);
  });

  test('a few before a step and one step by itself cost what they are, once the repository knows its nodes', async () => {
    const { open, pointer } = await longThread(count);
    const first = await open();
    await reindex(first);
    const { hash } = (await readSteps(first, await commitBefore(first, pointer, '31'), 1)).steps[0]!.commit;

    const { repository, read } = watched(await open());
    const { steps } = await readSteps(
      repository,
      await commitBefore(repository, pointer, hash.slice(0, 9).toLowerCase()),
      4,
    );
    expect(numbersOf(steps)).toEqual([26, 27, 28, 29]);
    // The head is looked at, too, and steps on the way.
    expect(read.length).toBeLessThanOrEqual((5 + WAY) * objectsOfStep);

    for (const [text, thread] of [
      ['30', pointer.id],
      [hash, pointer.id],
      [hash, undefined],
      [hash.slice(0, 9), undefined],
    ] as const) {
      const alone = watched(await open());
      const found = await findStep(cli, alone.repository, text, thread);
      expect(found).toMatchObject({ thread: pointer, commit: { hash } });
      expect(await startCommitOf(alone.repository, pointer)).toMatchObject({ kind: 'start' });
      expect(alone.read.length).toBeLessThanOrEqual((4 + WAY) * objectsOfStep);
    }
  }, 30_000);
});

test('a suspension and a resumption are found by their hashes, also before steps', async () => {
  const repository = createMapRepository();
  const waits = await suspendThread(repository, await startLoop(repository), suspensionDraft());
  const resumed = await resumeThread(repository, waits, 'Yes.');
  const step = await appendStep(repository, resumed, stepDraft());
  const again = await suspendThread(repository, step, suspensionDraft());
  for (const { head } of [step, again]) {
    const pointer = { id: step.id, ref: activeRef(step.id), head: head.id, isHistory: false };
    for (const { head: wanted } of [waits, resumed, step, again]) {
      const isBehind = head !== again.head && wanted === again.head;
      const found = await findCommitsOfTurns(repository, pointer, wanted.hash);
      expect(found).toEqual(isBehind ? [] : [wanted.id]);
    }
    expect(await findCommitsOfTurns(repository, pointer, step.start.hash)).toEqual([]);
    expect(await findCommitsOfTurns(repository, pointer, '')).toEqual([]);
    expect(await findCommitsOfTurns(repository, pointer, 'no hash')).toEqual([]);
  }
});
