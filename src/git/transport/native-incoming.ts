import type { ObjectId } from '../format/object-id.ts';
import type { ObjectStore, WrittenObjects } from '../object-store.ts';
import type { IncomingObjects, RemoteRef } from './remote.ts';
import { durablePacks, runGit } from '../process/run-git.ts';
import { asFullDisk } from './git-output.ts';
import type { GuestFolder } from './guest-folder.ts';
import { Quarantine, removeKeeps } from '../stores/quarantine.ts';

/** The repository that incoming objects can become part of. */
type Destination = {
  /** The repository's object folder. */
  objectFolder: string;
  /** A folder for temporary files, on the same file system. */
  parent: string;
  /** The targets of the repository's refs: their objects are not needed again. */
  has: readonly ObjectId[];
  /** Whether it is a partial clone. */
  isPartial: boolean;
};

/** Reads fetched objects and those of the repository. */
type IncomingReader = Pick<ObjectStore, 'read' | 'has' | 'close'>;

/** git packs objects without a search for deltas, and holds no large blob in memory. */
const settings = [...durablePacks, 'core.bigFileThreshold=4m', 'pack.writeReverseIndex=false'];
const packObjects = [
  'pack-objects',
  '--quiet',
  '--revs',
  '--delta-base-offset',
  '--window=0',
  '--threads=1',
  '--missing=allow-promisor',
];

/** Objects that git fetched into a guest folder. */
export function incomingObjects(
  { refs, objects }: { refs: readonly RemoteRef[]; objects: IncomingReader },
  folder: GuestFolder,
  { objectFolder, parent, has, isPartial }: Destination,
): IncomingObjects {
  const accept = async (tips: readonly ObjectId[]): Promise<WrittenObjects> => {
    if (tips.length === 0) return { release: async () => {} };
    // git packs exactly the objects that the tips lead to; other objects of the remote stay outside.
    const accepted = new Quarantine(parent, objectFolder);
    try {
      const input = [...tips, ...has.map((id) => `^${id}`)].map((line) => `${line}\n`).join('');
      await runGit({ ...folder.run([...packObjects, accepted.packPrefix]), settings, input });
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
    mayLackFiles: isPartial,
    accept,
    async discard() {
      await objects.close();
      folder.remove();
    },
  };
}
