import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { prepareHashing } from '../../src/cas/hash.ts';
import { reindex } from '../../src/cas/lookup.ts';
import { DiskObjectStore } from '../../src/git/stores/disk/open-disk-stores.ts';
import type { ObjectId } from '../../src/git/format/object-id.ts';
import { RefReader } from '../../src/git/stores/disk/read-refs.ts';
import { parseRefName } from '../../src/git/format/refs.ts';
import { readThreadCommit } from '../../src/thread/thread-commit.ts';
import { newThreadId } from '../../src/thread/new-thread-id.ts';
import { createCliRepository, type CliRepository } from '../helpers/cli.ts';
import { addManySteps } from '../thread/long-thread.ts';
import { startLoop } from '../thread/thread-fixture.ts';

type Place = CliRepository & { thread: string; newest: string; head: ObjectId };

/** A repository with a thread of many steps and others beside it, all that uwf remembers of them being there. */
async function createPlace(steps: number, threads: number): Promise<Place> {
  const place = createCliRepository();
  const repository = await place.open();
  const state = await startLoop(repository);
  const head = await addManySteps(repository, state, steps, 0);
  for (let number = 1; number < threads; number += 1) await startLoop(repository);
  await reindex(repository);
  const { hash } = await readThreadCommit(repository, head);
  await repository.close();
  await place.uwf(['thread', 'list']);
  return { ...place, thread: state.id, newest: hash, head };
}

/** Gives the thread's head many more refs, of which nothing is remembered. */
async function addForks(place: Place, count: number, afterMs = 0): Promise<void> {
  const repository = await place.open();
  const names = Array.from({ length: count }, () =>
    parseRefName(`refs/threads/${newThreadId(repository, repository.now() + afterMs)}`),
  );
  await repository.refs.update(names.map((name) => ({ name, expected: null, value: place.head })));
  await repository.close();
}

/** The words of a command line, with the thread and the hash of its newest node in their places. */
function wordsOf(command: string, { thread, newest }: Place): string[] {
  return command.split(' ').map((word) => ({ '<thread>': thread, '<hash>': newest })[word] ?? word);
}

/** How many objects a command reads when it is given for the second time. */
async function countReads(command: string, place: Place): Promise<number> {
  const words = wordsOf(command, place);
  await place.uwf(words);
  const read = vi.spyOn(DiskObjectStore.prototype, 'read');
  const { code, stdout, stderr } = await place.uwf(words);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).not.toBe('');
  const { length } = read.mock.calls;
  read.mockRestore();
  return length;
}

let short: Place;
let long: Place;

beforeAll(async () => {
  await prepareHashing();
  short = await createPlace(30, 25);
  long = await createPlace(300, 60);
});

afterEach(() => {
  vi.restoreAllMocks();
});

describe('a command that is given again reads as many objects, however many steps and threads there are:', () => {
  test.each([
    ['thread show <thread>', 27],
    ['thread list -n 20', 20 * 11],
    ['log -n 20 <thread>', 20 * 3],
    ['log --oneline -n 5 <thread>', 27 + 5 * 3],
    ['cas get <hash>', 1],
    ['cas get <hash> --thread <thread>', 7],
  ])('uwf %s', async (command, most) => {
    const reads = await countReads(command, long);
    expect(reads).toBe(await countReads(command, short));
    expect(reads).toBeLessThanOrEqual(most);
  });
});

test('a thread that is over is shown without the refs of those that began after its end', async () => {
  const place = await createPlace(2, 1);
  await place.uwf(['thread', 'cancel', place.thread]);
  const afterMs = 60_000;
  await addForks(place, 20, afterMs);
  const follow = vi.spyOn(RefReader.prototype, 'follow');
  const { code } = await place.uwf(['thread', 'show', place.thread]);
  const active = follow.mock.calls.filter(([name]) => name.startsWith('refs/threads/'));
  follow.mockRestore();
  expect({ code, active }).toEqual({ code: 0, active: [] });
});
