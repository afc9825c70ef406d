import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { RefMoved } from '../../src/git/repository.ts';
import { parseRefName } from '../../src/git/format/refs.ts';
import { archiveThreads } from '../../src/thread/archive-threads.ts';
import { findThread, getThread } from '../../src/thread/find-thread.ts';
import { endThread } from '../../src/thread/thread-verbs.ts';
import { activeRef, parseThreadId, scratchRef } from '../../src/thread/thread-id.ts';
import { threadCas } from '../../src/thread/thread-cas.ts';
import {
  forgetRemoved,
  listRemoved,
  rememberRemoved,
  removeThread,
  removeThreads,
} from '../../src/thread/remove-thread.ts';
import { createMapRepository } from '../helpers/map-repository.ts';
import { createTemporaryFolder } from '../helpers/temporary-repository.ts';
import { startLoop } from './thread-fixture.ts';

const thread = parseThreadId('01KTWEWZ760000000000000000');

describe('what this machine removed', () => {
  test('is remembered with its refs, those that were known before among them, until it is asked for', async () => {
    const place = { ...createMapRepository(), stateDir: createTemporaryFolder() };
    expect(await listRemoved(place)).toEqual(new Map());
    rememberRemoved(place, thread, ['refs/threads/a']);
    rememberRemoved(place, thread, ['refs/history/b', 'refs/threads/a']);
    expect(await listRemoved(place)).toEqual(new Map([[thread, ['refs/threads/a', 'refs/history/b']]]));
    forgetRemoved(place, thread);
    expect(await listRemoved(place)).toEqual(new Map());
    forgetRemoved(place, thread);
  });

  test('is said by the name of a file alone, where its content is damaged', async () => {
    const place = { ...createMapRepository(), stateDir: createTemporaryFolder() };
    rememberRemoved(place, thread, ['refs/threads/a']);
    writeFileSync(join(place.stateDir, 'removed', thread), 'damaged');
    writeFileSync(join(place.stateDir, 'removed', 'no-thread'), '');
    expect(await listRemoved(place)).toEqual(new Map([[thread, []]]));
    expect(readdirSync(join(place.stateDir, 'removed'))).toHaveLength(2);
  });

  test('is not remembered without a disk', async () => {
    const place = { ...createMapRepository(), stateDir: undefined };
    rememberRemoved(place, thread, ['refs/threads/a']);
    forgetRemoved(place, thread);
    expect(await listRemoved(place)).toEqual(new Map());
  });
});

describe('a thread that is removed', () => {
  test('loses its refs, what was put under it, and what remotes were seen to have but for their marks', async () => {
    const stateDir = createTemporaryFolder();
    const repository = { ...createMapRepository(), stateDir };
    const state = await startLoop(repository);
    await threadCas(repository, state.id).put('a note');
    const names = [`threads/${state.id}`, `history/2026-11-21/${state.id}`, `removed/${state.id}`, `threads/${thread}`];
    for (const name of names) repository.refMap.set(parseRefName(`refs/uwf/remotes/origin/${name}`), state.head.id);
    await removeThread(repository, await getThread(repository, state.id));
    expect([...repository.refMap.keys()].toSorted()).toEqual([
      `refs/uwf/remotes/origin/removed/${state.id}`,
      `refs/uwf/remotes/origin/threads/${thread}`,
    ]);
    expect(await listRemoved(repository)).toEqual(new Map([[state.id, [activeRef(state.id)]]]));
  });

  test('loses what this machine keeps of it, and leaves that of other threads', async () => {
    const stateDir = createTemporaryFolder();
    const repository = { ...createMapRepository(), stateDir };
    const { id } = await startLoop(repository);
    const placesOf = (one: string): string[] => [
      join(stateDir, 'sessions', one),
      join(stateDir, 'journal', `${one}.jsonl`),
    ];
    for (const place of [id, thread].flatMap(placesOf)) {
      mkdirSync(dirname(place), { recursive: true });
      writeFileSync(place, '');
    }
    await removeThread(repository, await getThread(repository, id));
    expect(placesOf(id).filter(existsSync)).toEqual([]);
    expect(placesOf(thread).filter(existsSync)).toEqual(placesOf(thread));
  });

  test('loses both refs of an ending that a crash interrupted', async () => {
    const repository = { ...createMapRepository(), stateDir: createTemporaryFolder() };
    const begun = await startLoop(repository);
    await endThread(repository, begun, { outcome: 'cancelled', returnCode: 130, summary: '' });
    repository.refMap.set(activeRef(begun.id), begun.head.id);
    const pointer = await getThread(repository, begun.id);
    await removeThread(repository, pointer);
    expect(repository.refMap.size).toBe(0);
    expect(await listRemoved(repository)).toEqual(new Map([[begun.id, [activeRef(begun.id), pointer.ref]]]));
  });

  test('stays as it is where it has moved, or has no ref of its own', async () => {
    const repository = createMapRepository();
    const state = await startLoop(repository);
    const pointer = await getThread(repository, state.id);
    await expect(removeThread(repository, { ...pointer, keptBy: thread })).rejects.toMatchObject({
      code: 'no-ref-of-its-own',
      message: `thread ${state.id} has no ref here: it is part of thread ${thread}`,
    });
    repository.refMap.set(activeRef(state.id), repository.refMap.get(scratchRef(state.id)) ?? state.start.commit.tree);
    await expect(removeThread(repository, pointer)).rejects.toBeInstanceOf(RefMoved);
    expect(repository.refMap.size).toBe(1);
    await removeThreads(repository, []);
  });

  test('stays archived where another one that is removed with it has moved', async () => {
    const repository = createMapRepository();
    const over = await startLoop(repository);
    await endThread(repository, over, { outcome: 'cancelled', returnCode: 130, summary: '' });
    await archiveThreads(repository, [await getThread(repository, over.id)]);
    const pointer = await getThread(repository, (await startLoop(repository)).id);
    const both = [await getThread(repository, over.id), pointer];
    const moved = { ...pointer, head: over.head.id };
    await expect(removeThreads(repository, [both[0]!, moved])).rejects.toBeInstanceOf(RefMoved);
    expect(await getThread(repository, over.id)).toMatchObject({ isArchived: true });
    await removeThreads(repository, both);
    expect(await findThread(repository, over.id)).toBeUndefined();
    expect(await findThread(repository, pointer.id)).toBeUndefined();
  });
});
