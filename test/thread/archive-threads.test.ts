import { describe, expect, test } from 'vitest';
import { addEnds, archiveThreads, readEnds, takeOut } from '../../src/thread/archive-threads.ts';
import {
  addListCommit,
  type ArchivedThread,
  ArchiveList,
  editList,
  findArchived,
  findListFault,
  LIST_REF,
} from '../../src/thread/archive-list.ts';
import type { ObjectId } from '../../src/git/format/object-id.ts';
import { ObjectBatch, repositoryWith } from '../../src/git/stores/publish.ts';
import type { Repository } from '../../src/git/repository.ts';
import { endThread } from '../../src/thread/thread-verbs.ts';
import { getThread, listPointers } from '../../src/thread/find-thread.ts';
import type { ThreadId, ThreadPointer } from '../../src/thread/thread-id.ts';
import { verifyThread } from '../../src/verify/verify-threads.ts';
import { createTemporaryRepository, expectCleanFsck } from '../helpers/temporary-repository.ts';
import { startLoop } from './thread-fixture.ts';
import { archivedLines } from './archive/archived-lines.ts';

const over = { outcome: 'cancelled', returnCode: 130, summary: 'over' } as const;

async function endedThreads(repository: Repository, count: number): Promise<ThreadPointer[]> {
  for (let at = 0; at < count; at += 1) await endThread(repository, await startLoop(repository), over);
  return listPointers(repository, { history: true });
}

async function listOf(repository: Repository, threads: readonly ArchivedThread[]): Promise<[Repository, ObjectId]> {
  const batch = new ObjectBatch(repository.objects.format);
  const changes = new Map<ThreadId, ArchivedThread>(threads.map((line) => [line.id, line]));
  const commit = addListCommit(batch, await editList(repository.objects, batch, undefined, changes));
  return [repositoryWith(repository, batch), commit];
}

describe('an archived thread', () => {
  test('has no ref, is found by its id, and survives the garbage collection of git', async () => {
    const temporary = createTemporaryRepository();
    const repository = await temporary.open();
    const threads = await endedThreads(repository, 3);
    const [first] = threads as [ThreadPointer];
    expect(await archiveThreads(repository, threads)).toHaveLength(3);
    expect(await listPointers(repository)).toEqual([]);
    temporary.git('gc', '--quiet', '--prune=now');
    expectCleanFsck(temporary.dir);
    expect(await getThread(repository, first.id)).toEqual({ ...first, isArchived: true });
    expect(await getThread(repository, first.id.slice(0, 24).toLowerCase())).toMatchObject({ id: first.id });
    expect(await verifyThread({ repository }, first.id)).toMatchObject({ sound: true, commits: 2 });
    expect(await findArchived(repository, '', 2)).toHaveLength(2);
  });

  test('gets its ref back, or leaves nothing that git keeps', async () => {
    const temporary = createTemporaryRepository();
    const repository = await temporary.open();
    const threads = await endedThreads(repository, 3);
    const [first, second, third] = threads as [ThreadPointer, ThreadPointer, ThreadPointer];
    await archiveThreads(repository, threads);
    await takeOut(repository, [first.id], { isRestored: true });
    expect(await listPointers(repository)).toEqual([first]);
    await takeOut(repository, [second.id], { isRestored: false });
    temporary.git('gc', '--quiet', '--prune=now');
    expect(() => temporary.git('cat-file', '-e', second.head)).toThrow('exited with 1');
    expect(await findArchived(repository, '')).toMatchObject([{ id: third.id }]);
    expectCleanFsck(temporary.dir);
  });

  test('that has its ref as well, after a crash, counts once and loses the ref with the next archive', async () => {
    const repository = await createTemporaryRepository().open();
    const threads = await endedThreads(repository, 2);
    await archiveThreads(repository, threads);
    const [first] = threads as [ThreadPointer];
    await repository.refs.update([{ name: first.ref, expected: null, value: first.head }]);
    expect(await listPointers(repository, { history: true, archived: true })).toHaveLength(2);
    const list = await repository.refs.read(LIST_REF);
    expect(await archiveThreads(repository, [first])).toEqual([first]);
    expect(await listPointers(repository)).toEqual([]);
    expect(await repository.refs.read(LIST_REF)).toBe(list);
  });

  test('whose ref moves meanwhile stays as it is', async () => {
    const repository = await createTemporaryRepository().open();
    const threads = await endedThreads(repository, 2);
    const [first, second] = threads as [ThreadPointer, ThreadPointer];
    expect(await archiveThreads(repository, [{ ...first, head: second.head }, second])).toEqual([second]);
    expect(await listPointers(repository)).toEqual([first]);
  });
});

describe('a list of archived threads', () => {
  test('finds one of many that began at the same time, by few reads', async () => {
    const repository = await createTemporaryRepository().open();
    const all = archivedLines(5_000);
    const [view, commit] = await listOf(repository, all);
    let reads = 0;
    const read: Repository['objects']['read'] = (id, options) => {
      reads += 1;
      return view.objects.read(id, options);
    };
    const list = new ArchiveList({ format: view.objects.format, read }, commit);
    expect(await list.find(all[4321]!.id)).toEqual(all[4321]);
    expect(reads).toBeLessThan(30);
    expect(await findListFault(view.objects, commit)).toBeUndefined();
    const found: ArchivedThread[] = [];
    for await (const line of list.startingWith('01M8')) found.push(line);
    expect(found).toEqual(all);
  });

  test.each<[string, (batch: ObjectBatch) => ObjectId]>([
    ['no tree of a list', (batch) => batch.addTree([{ mode: '100644', name: 'index', id: batch.addBlob('x') }])],
    ['a line in the wrong file', (batch) => file(batch, '1', archivedLines(1)[0]!)],
    ['an end that is no id', (batch) => file(batch, '0', { ...archivedLines(1)[0]!, end: 'x' as ObjectId })],
    ['a day that is none', (batch) => file(batch, '0', { ...archivedLines(1)[0]!, endedOn: '2026-13-01' })],
    ['an empty folder', (batch) => batch.addTree([{ mode: '040000', name: '0', id: batch.addTree([]) }])],
    ['a folder in itself, as far as that goes', bomb],
  ])('that has %s is refused', async (_, treeOf) => {
    const repository = await createTemporaryRepository().open();
    const batch = new ObjectBatch(repository.objects.format);
    const commit = addListCommit(batch, treeOf(batch));
    expect(await findListFault(repositoryWith(repository, batch).objects, commit)).toBeTypeOf('string');
  });

  test('a chain gives back the ends that were put in', async () => {
    const repository = await createTemporaryRepository().open();
    const threads = await endedThreads(repository, 4);
    const ends = threads.map(({ head }) => head);
    const batch = new ObjectBatch(repository.objects.format);
    const older = addEnds(batch, undefined, ends.slice(0, 3), 0);
    const tip = addEnds(batch, older, ends.slice(3), 0)!;
    const found: ObjectId[] = [];
    for await (const end of readEnds(repositoryWith(repository, batch).objects, tip)) found.push(end);
    expect(found.toSorted()).toEqual(ends.toSorted());
  });
});

function file(batch: ObjectBatch, name: string, { id, end, endedOn }: ArchivedThread): ObjectId {
  return batch.addTree([{ mode: '100644', name, id: batch.addBlob(`${id} ${end} ${endedOn}\n`) }]);
}

/** A tree with as many paths as no reader could follow. */
function bomb(batch: ObjectBatch): ObjectId {
  let tree = file(batch, '0', archivedLines(1)[0]!);
  for (let level = 0; level < 24; level += 1) {
    tree = batch.addTree('01234567'.split('').map((name) => ({ mode: '040000' as const, name, id: tree })));
  }
  return tree;
}
