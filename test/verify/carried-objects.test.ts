import { expect, test } from 'vitest';
import { encodeCommit } from '../../src/git/format/objects.ts';
import type { ObjectId } from '../../src/git/format/object-id.ts';
import type { ObjectStore } from '../../src/git/repository.ts';
import { CarriedObjects, INCOMING_LIMITS } from '../../src/verify/check-incoming.ts';
import { createMapRepository } from '../helpers/map-repository.ts';
import { store, storeTree } from './forge-commit.ts';

test('files of folders that the repository has are not read again, and count as those of others do', async () => {
  const [here, both] = [createMapRepository(), createMapRepository()];
  const old = store(here, 'blob', 'old');
  const folder = storeTree(here, [
    ['100644', 'a', old],
    ['100644', 'b', old],
  ]);
  for (const [id, object] of here.objectMap) both.objectMap.set(id, object);
  const tree = storeTree(both, [
    ['40000', 'folder', folder],
    ['100644', 'new', store(both, 'blob', 'new')],
  ]);
  const who = { name: 'a', email: 'a@b', atMs: 0 };
  const data = encodeCommit({ tree, parents: [], author: who, committer: who, message: 'x\n' });
  const commit = store(both, 'commit', data);
  const read = new Set<ObjectId>();
  const objects: ObjectStore = {
    ...both.objects,
    has: (id) => both.objects.has(id),
    read(id, options) {
      read.add(id);
      return both.objects.read(id, options);
    },
  };
  const faultsWith = async (maxFiles: number): Promise<string[]> => {
    const faults: string[] = [];
    const carried = new CarriedObjects(objects, here.objects, { ...INCOMING_LIMITS, maxFiles });
    await carried.checkCode(commit, (_, what) => void faults.push(what));
    return faults;
  };
  expect(await faultsWith(4)).toEqual([]);
  expect(read.has(folder)).toBe(true);
  expect(read.has(old)).toBe(false);
  expect(await faultsWith(3)).toEqual(['it has more than 3 files']);
});
