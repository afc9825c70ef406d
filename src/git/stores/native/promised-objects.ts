import type { GitObject, ObjectId } from '../../format/object-id.ts';
import type { ObjectStore, ReadOptions } from '../../object-store.ts';
import { inTurn } from '../../system/in-turn.ts';
import { ObjectUnavailable } from './native-object-store.ts';
import { GitFailed } from '../../process/run-git.ts';
import { inPlaceOf } from '../../../or-else.ts';

/**
 * The objects of a partial clone: local ones, and those that a remote has promised, which are fetched when they are first
 * read.
 *
 * `has` tells what is local and fetches nothing.
 * @param near the local objects
 * @param native reads through git, which tells promised objects from lost ones, by an {@link ObjectUnavailable}
 * @param bring fetches objects from the remote
 */
export function promisedObjects(
  near: ObjectStore,
  native: Pick<ObjectStore, 'read'>,
  bring: (ids: readonly ObjectId[]) => Promise<void>,
): ObjectStore {
  const readHere = (id: ObjectId, options?: ReadOptions): Promise<GitObject | undefined> =>
    near.read(id, options).catch(inPlaceOf(ObjectUnavailable, undefined));
  // One connection after the other: the next reader may find its object here already.
  const fetchAndRead = (id: ObjectId, options?: ReadOptions): Promise<GitObject | undefined> =>
    inTurn(near, '', async () => {
      const brought = await readHere(id, options);
      if (brought !== undefined) return brought;
      try {
        await bring([id]);
      } catch (error) {
        if (!(error instanceof GitFailed)) throw error;
        await native.read(id, options).catch((cause: unknown) => {
          throw cause instanceof ObjectUnavailable ? new ObjectUnavailable(id, error.said, error) : cause;
        });
      }
      return readHere(id, options);
    });
  return {
    format: near.format,
    read: async (id, options) => (await readHere(id, options)) ?? fetchAndRead(id, options),
    has: (id) => near.has(id),
    write: (objects) => near.write(objects),
    async prefetch(ids) {
      const missing: ObjectId[] = [];
      for (const id of new Set(ids)) if (!(await near.has(id))) missing.push(id);
      // One object that the remote lacks fails them all. The error is reported when it is read; the others are fetched one by
      // one.
      if (missing.length > 0) await bring(missing).catch(inPlaceOf(GitFailed, undefined));
    },
    close: () => near.close(),
  };
}
