import type { ObjectId } from '../format/object-id.ts';
import type { ObjectStore, WrittenObjects } from '../object-store.ts';
import type { IncomingObjects, RemoteRef } from './remote.ts';
import { durablePacks } from '../process/spawn-git.ts';
import { asFullDisk } from './git-output.ts';
import type { GuestFolder } from './guest-folder.ts';
import { Quarantine, removeKeeps } from '../stores/quarantine.ts';
import { runGit } from '../process/run-git.ts';

/** The repository that incoming objects can become part of. */
type Destination = {
  /** The repository's object folder. */
  objectFolder: string;
  /** A folder for temporary files, on the same file system. */
  parent: string;
  /** The targets of the repository's refs: their objects are not needed again. */
  has: readonly ObjectId[];
  /** The source of blobs that were left out; `undefined` if none were. */
  promisor: Promisor | undefined;
};

/** A remote that has promised the objects of a partial clone. */
export type Promisor = {
  /** Records the promise in the repository, so that git neither reports missing objects nor collects the pack. */
  remember(): Promise<void>;
  bring(ids: readonly ObjectId[]): Promise<void>;
};

/** Reads fetched objects and those of the repository. */
type IncomingReader = Pick<ObjectStore, 'read' | 'has' | 'close'>;

/** git packs objects without a search for deltas, and holds no large blob in memory. */
const settings = [...durablePacks, 'core.bigFileThreshold=4m', 'pack.writeReverseIndex=false'];
const packObjects = ['pack-objects', '--quiet', '--revs', '--delta-base-offset', '--window=0', '--threads=1'];

/** Objects that git fetched into a guest folder. */
export function incomingObjects(
  { refs, objects }: { refs: readonly RemoteRef[]; objects: IncomingReader },
  folder: GuestFolder,
  { objectFolder, parent, has, promisor }: Destination,
): IncomingObjects {
  const accept = async (tips: readonly ObjectId[]): Promise<WrittenObjects> => {
    if (tips.length === 0) return { release: async () => {} };
    // git packs exactly the objects that the tips lead to; other objects of the remote stay outside.
    const accepted = new Quarantine(parent, objectFolder);
    try {
      // Objects that were promised earlier can be missing in any case.
      const missing = promisor ? 'allow-any' : 'allow-promisor';
      const args = [...packObjects, `--missing=${missing}`, accepted.packPrefix];
      const input = [...tips, ...has.map((id) => `^${id}`)].map((line) => `${line}\n`).join('');
      const name = (await runGit({ ...folder.run(args), settings, input })).toString('latin1').trim();
      if (promisor && name !== '') {
        accepted.markPromised(`pack-${name}`);
        await promisor.remember();
      }
      const keeps = accepted.takeOver();
      return { release: async () => removeKeeps(keeps) };
    } catch (error) {
      throw asFullDisk(error, parent);
    } finally {
      accepted.remove();
    }
  };
  return {
    refs,
    objects,
    ...(promisor && { bring: (ids: readonly ObjectId[]) => promisor.bring(ids) }),
    accept,
    async discard() {
      await objects.close();
      folder.remove();
    },
  };
}
