import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startCommitOf } from '../../../src/engine/describe/find-turn.ts';
import { commitBefore, findStep } from '../../../src/cli/find/find-turn.ts';
import type { CliEnvironment } from '../../../src/cli/process/cli-environment.ts';
import { reindex } from '../../../src/cas/lookup/repository-nodes.ts';
import { findStepPlaces } from '../../../src/engine/describe/step-places.ts';
import type { Repository } from '../../../src/git/repository.ts';
import { publish } from '../../../src/git/stores/publish.ts';
import { ObjectBatch } from '../../../src/git/stores/object-batch.ts';
import { getThread, type ThreadPointer } from '../../../src/thread/find/find-thread.ts';
import { readSteps } from '../../../src/thread/read/read-steps.ts';
import type { StepEntry } from '../../../src/thread/read/thread-state.ts';
import { readThread } from '../../../src/thread/read/whole-thread.ts';
import { createTemporaryRepository } from '../../helpers/temporary-repository.ts';
import { watched } from '../../helpers/watched-repository.ts';
import { addManySteps } from '../../thread/long-thread.ts';
import { startLoop } from '../../thread/thread-fixture.ts';

/** A step's commit, its tree and index, its node and its text. */
const objectsOfStep = 5;

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

  test('a few before a step and one step by itself cost what they are, once it is known where they are', async () => {
    const { open, pointer } = await longThread(count);
    const first = await open();
    await findStepPlaces(first, pointer);
    await reindex(first);
    const { hash } = (await readSteps(first, await commitBefore(first, pointer, '31'), 1)).steps[0]!.commit;

    const { repository, read } = watched(await open());
    const { steps } = await readSteps(
      repository,
      await commitBefore(repository, pointer, hash.slice(0, 9).toLowerCase()),
      4,
    );
    expect(numbersOf(steps)).toEqual([26, 27, 28, 29]);
    // The head is looked at, too.
    expect(read.length).toBeLessThanOrEqual(5 * objectsOfStep);

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
      expect(alone.read.length).toBeLessThanOrEqual(4 * objectsOfStep);
    }
  }, 30_000);
});

describe('where the steps of a thread are', () => {
  test('is the same as the chain says, with the start under 0', async () => {
    const { open, pointer } = await longThread(12);
    const repository = await open();
    const places = await findStepPlaces(repository, pointer);
    const { start, steps } = await readThread(repository, pointer.id, pointer.head);
    const commits = Array.from({ length: places.count + 1 }, (_, number) => places.commitOf(number));
    expect(commits).toEqual([start.id, ...steps.map(({ commit }) => commit.id)]);
    for (const { commit } of steps) expect(places.findByPrefix(commit.hash)).toEqual([commit.node.number]);
    expect(places.findByPrefix('')).toHaveLength(12);
    expect(places.findByPrefix(start.hash)).toEqual([]);
    expect(places.findByPrefix(`${steps[0]!.commit.hash}0`)).toEqual([]);
    expect([places.commitOf(-1), places.commitOf(13), places.commitOf(Number.NaN)]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  test('follows a thread that goes back and goes on otherwise', async () => {
    const { open, pointer } = await longThread(6);
    const repository = await open();
    const before = await findStepPlaces(repository, pointer);
    const fourth = before.commitOf(4)!;
    await publish(repository, new ObjectBatch(), [{ name: pointer.ref, expected: pointer.head, value: fourth }]);
    const after = await findStepPlaces(repository, { id: pointer.id, head: fourth });
    expect(after.count).toBe(4);
    expect(await findStepPlaces(await open(), { id: pointer.id, head: fourth })).toMatchObject({ count: 4 });
    expect((await findStepPlaces(repository, pointer)).commitOf(6)).toBe(pointer.head);
  });

  test('is read once for one head', async () => {
    const { open, pointer } = await longThread(6);
    const { repository, read } = watched(await open());
    const places = await findStepPlaces(repository, pointer);
    read.length = 0;
    expect(await findStepPlaces(repository, pointer)).toBe(places);
    expect(read).toEqual([]);
    const earlier = { id: pointer.id, head: places.commitOf(4)! };
    expect((await findStepPlaces(repository, earlier)).count).toBe(4);
    expect((await findStepPlaces(repository, pointer)).count).toBe(6);
  });

  test.each([
    ['cut off', (text: string) => text.slice(0, -9)],
    ['mixed', (text: string) => text.replaceAll('0', '1')],
    ['empty', () => ''],
  ])('is worked out again where what was remembered is %s', async (_, spoil) => {
    const { open, pointer } = await longThread(6);
    const places = await findStepPlaces(await open(), pointer);
    const repository = await open();
    const folder = join(repository.stateDir!, 'facts', pointer.id.slice(-2));
    const [name] = readdirSync(folder).filter((file) => file.endsWith('.steps'));
    const path = join(folder, name!);
    const text = readFileSync(path, 'latin1');
    writeFileSync(path, spoil(text));
    const again = await findStepPlaces(repository, pointer);
    expect(again.commitOf(3)).toBe(places.commitOf(3));
    expect(readFileSync(path, 'latin1')).toBe(text);
  });
});
