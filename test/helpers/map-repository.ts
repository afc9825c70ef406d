import { CorruptObject } from '../../src/git/format/errors.ts';
import { hashObject, type GitObject, type ObjectId } from '../../src/git/format/object-id.ts';
import { RefMoved, type RefName, type Repository } from '../../src/git/repository.ts';

/** A repository in two maps, for tests that need thousands of commits and the bytes of objects. */
export type MapRepository = Repository & {
  readonly objectMap: Map<ObjectId, GitObject>;
  readonly refMap: Map<RefName, ObjectId>;
};

export function createMapRepository(
  objectMap: Map<ObjectId, GitObject> = new Map(),
  refMap: Map<RefName, ObjectId> = new Map(),
): MapRepository {
  let clockMs = 1_795_262_400_000;
  return {
    objectMap,
    refMap,
    objects: {
      format: 'sha1',
      read: async (id) => {
        const object = objectMap.get(id);
        if (object && hashObject(object) !== id) throw new CorruptObject(id, 'its bytes are others');
        return object;
      },
      has: async (id) => objectMap.has(id),
      write: async (objects) => {
        for (const object of objects) objectMap.set(hashObject(object), object);
        return { release: async () => {} };
      },
      close: async () => {},
    },
    refs: {
      read: async (name) => refMap.get(name),
      list: async (prefix) =>
        [...refMap]
          .filter(([name]) => name.startsWith(prefix))
          .map(([name, id]) => ({ name, id }))
          .toSorted((a, b) => (a.name < b.name ? -1 : 1)),
      update: async (edits) => {
        for (const { name, expected } of edits) {
          const actual = refMap.get(name) ?? null;
          if (actual !== expected) throw new RefMoved(name, expected, actual);
        }
        for (const { name, value } of edits) {
          if (value === null) refMap.delete(name);
          else refMap.set(name, value);
        }
      },
    },
    location: undefined,
    stateDir: undefined,
    committer: { name: 'C O Mitter', email: 'committer@example.com' },
    now: () => (clockMs += 1_234),
    close: async () => {},
  };
}
