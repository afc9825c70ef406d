import { describe, expect, test } from 'vitest';
import { ObjectBatch, publish } from '../../../src/git/stores/publish.ts';
import { CorruptObject, ObjectMissing, ObjectTooLarge } from '../../../src/git/format/errors.ts';
import { hashObject, parseObjectId } from '../../../src/git/format/object-id.ts';
import type { GitObject } from '../../../src/git/format/object-id.ts';
import { RefMoved, type WrittenObjects } from '../../../src/git/repository.ts';
import { readBlob, readCommit, readTree } from '../../../src/git/stores/read.ts';
import { parseRefName } from '../../../src/git/format/refs.ts';
import { createMemoryRepository, expectCleanMemory } from '../../helpers/memory-repository.ts';

const who = { name: 'A U Thor', email: 'author@example.com', atMs: 1_795_262_400_000 };
const thread = parseRefName('refs/threads/one');

function smallBatch(): { batch: ObjectBatch; commit: ReturnType<ObjectBatch['addCommit']> } {
  const batch = new ObjectBatch();
  const file = batch.addBlob('content\n');
  const tree = batch.addTree([{ mode: '100644', name: 'file', id: file }]);
  const commit = batch.addCommit({ tree, parents: [], author: who, committer: who, message: 'one' });
  return { batch, commit };
}

describe('a batch of objects', () => {
  test('knows the ids of what is not written yet, and keeps equal objects once', () => {
    const batch = new ObjectBatch();
    const first = batch.addBlob('ä');
    expect(batch.addBlob(Buffer.from('ä'))).toBe(first);
    expect(batch.objects).toHaveLength(1);
    expect(hashObject(batch.find(first)!)).toBe(first);
    expect(batch.find(parseObjectId('e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'))).toBeUndefined();
  });

  test('is published: its objects are there and the ref names its commit', async () => {
    const memory = await createMemoryRepository();
    const { batch, commit } = smallBatch();
    await publish(memory.repository, batch, [{ name: thread, expected: null, value: commit }]);
    expect(await memory.repository.refs.read(thread)).toBe(commit);
    const { objects } = memory.repository;
    const [entry] = await readTree(objects, (await readCommit(objects, commit)).tree);
    expect(Buffer.from(await readBlob(objects, entry!.id)).toString()).toBe('content\n');
    expectCleanMemory(memory);
  });

  test('is released after the ref has moved, and also when it has not', async () => {
    const events: string[] = [];
    const { batch, commit } = smallBatch();
    const objects = {
      format: 'sha1',
      write: async (written: readonly GitObject[]): Promise<WrittenObjects> => {
        events.push(`wrote ${written.length}`);
        return { release: async () => void events.push('released') };
      },
    };
    const refs = (fails: boolean): { update: () => Promise<void> } => ({
      update: async () => {
        events.push('moved');
        if (fails) throw new RefMoved(thread, null, commit);
      },
    });
    type Repository = Parameters<typeof publish>[0];
    // Only what publish calls is there.
    await publish({ objects, refs: refs(false) } as unknown as Repository, batch, []);
    expect(events).toEqual(['wrote 3', 'moved', 'released']);
    const losing = publish({ objects, refs: refs(true) } as unknown as Repository, batch, []);
    await expect(losing).rejects.toThrow(RefMoved);
    expect(events).toEqual(['wrote 3', 'moved', 'released', 'wrote 3', 'moved', 'released']);
  });
});

describe('reading an object that has to be there', () => {
  test('says which one is missing, of the wrong type, or too large', async () => {
    const { repository } = await createMemoryRepository();
    const { batch, commit } = smallBatch();
    await publish(repository, batch, []);
    const { objects } = repository;
    const absent = parseObjectId('0123456789abcdef0123456789abcdef01234567');
    await expect(readCommit(objects, absent)).rejects.toThrow(ObjectMissing);
    await expect(readCommit(objects, absent)).rejects.toThrow(absent);
    await expect(readTree(objects, commit)).rejects.toThrow(CorruptObject);
    await expect(readTree(objects, commit)).rejects.toThrow('it is a commit, not a tree');
    const [blob] = batch.objects;
    await expect(readBlob(objects, hashObject(blob!), { maxBytes: 3 })).rejects.toThrow(ObjectTooLarge);
  });
});
