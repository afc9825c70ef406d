import { beforeEach, describe, expect, test } from 'vitest';
import type { ObjectId } from '../../../src/git/format/object-id.ts';
import type { Repository } from '../../../src/git/repository.ts';
import { FEW_THREADS, openOrigins, possibleChildren } from '../../../src/thread/find/find-origins.ts';
import { listTableRows, MANY_THREADS } from '../../../src/thread/read/head-table.ts';
import type { ThreadState } from '../../../src/thread/read/thread-state.ts';
import { parseThreadId } from '../../../src/thread/thread-id.ts';
import { activeRef, type ThreadPointer } from '../../../src/thread/thread-refs.ts';
import { createRepositoryWithState } from '../../helpers/memory-repository.ts';
import { watched } from '../../helpers/watched-repository.ts';
import { calledBy, startLoop } from '../thread-fixture.ts';

let repository: Repository;
let caller: ThreadState;
let child: ThreadState;

beforeEach(async () => {
  repository = await createRepositoryWithState();
  caller = await startLoop(repository);
  child = await startLoop(repository, calledBy(caller));
});

const pointerTo = ({ id, head }: ThreadState): ThreadPointer => ({
  id,
  ref: activeRef(id),
  head: head.id,
  isHistory: false,
});

/** Other threads, which have the same commits as one thread. */
function others(count: number, { head }: ThreadState = caller): ThreadPointer[] {
  return Array.from({ length: count }, (_, at) => {
    const id = parseThreadId(`01KTWEWZ76${String(at).padStart(16, '0')}`);
    return { id, ref: activeRef(id), head: head.id, isHistory: false };
  });
}

const idsOf = (pointers: readonly ThreadPointer[]): string[] => pointers.map(({ id }) => id);

describe('the threads that a start may have called', () => {
  test('are all, of few: none of them is read', async () => {
    const spied = watched(repository);
    const few = [...others(FEW_THREADS - 1), pointerTo(child)];
    expect(await possibleChildren(spied.repository, few, caller.start.hash)).toBe(few);
    expect(spied.read).toEqual([]);
  });

  test('are those with this caller, of many', async () => {
    const many = [...others(MANY_THREADS), pointerTo(child)];
    expect(idsOf(await possibleChildren(repository, many, caller.start.hash))).toEqual([child.id]);
    expect(await possibleChildren(repository, many, child.start.hash)).toEqual([]);
  });

  test('are remembered with where each starts, so that no thread is read twice', async () => {
    const many = [...others(MANY_THREADS), pointerTo(child)];
    await possibleChildren(repository, many, caller.start.hash);
    const origins = openOrigins(repository);
    expect(origins.get(pointerTo(child))).toEqual({ start: child.head.id, parentStart: caller.start.hash });
    expect(origins.get(many[0]!)).toEqual({ start: caller.head.id, parentStart: null });
    const rows = listTableRows(String(repository.stateDir));
    expect(rows.map(({ thread }) => thread)).toEqual(expect.arrayContaining(idsOf(many)));
    const spied = watched(repository);
    expect(idsOf(await possibleChildren(spied.repository, many, caller.start.hash))).toEqual([child.id]);
    expect(spied.read).toEqual([]);
  });

  test('are not those whose remembered start has another form', async () => {
    const many = [...others(MANY_THREADS), pointerTo(child)];
    const origins = openOrigins(repository);
    for (const [at, value] of [
      { start: 'x', parentStart: null },
      { start: child.head.id, parentStart: 'x' },
    ].entries())
      origins.set(many[at]!, value as never);
    origins.save();
    const again = openOrigins(repository);
    expect([again.get(many[0]!), again.get(many[1]!)]).toEqual([undefined, undefined]);
  });

  test('are without those that cannot be read', async () => {
    const lost = { ...pointerTo(child), head: '1'.repeat(40) as ObjectId };
    const many = [...others(MANY_THREADS), lost, pointerTo(caller)];
    expect(await possibleChildren(repository, many, caller.start.hash)).toEqual([]);
  });
});
