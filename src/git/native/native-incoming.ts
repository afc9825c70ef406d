import { join } from 'node:path';
import type { GitEnvironment } from '../git-directory.ts';
import type { ObjectId } from '../object-id.ts';
import type { ObjectStore, WrittenObjects } from '../object-store.ts';
import type { IncomingObjects, RemoteRef } from '../remote.ts';
import { durablePacks } from './durable-packs.ts';
import type { GuestFolder } from './guest-folder.ts';
import { Quarantine } from './quarantine.ts';
import { runGit } from './run-git.ts';

/** What the incoming objects are told of the repository they may become part of. */
export type Destination = {
  /** The repository's object folder. */
  objectFolder: string;
  /** A folder on its file system for what is being made. */
  parent: string;
  env: GitEnvironment;
  /** Commits that the repository's refs lead to: what they have need not come again. */
  has: readonly ObjectId[];
  /** Where contents come from that were left out; absent where none were. */
  promisor?: Promisor;
};

/** A remote that has promised what it has not sent. */
export type Promisor = {
  /** Remembers in the repository that it has, so that git neither misses it nor collects what leads there. */
  remember(): Promise<void>;
  bring(ids: readonly ObjectId[]): Promise<void>;
};

/** Reads what was brought and what the repository has. */
type IncomingReader = Pick<ObjectStore, 'read' | 'has' | 'close'>;

/** git packs what it is given as it is: nothing is searched for that would be smaller, and nothing larger is held. */
const asItIs = [
  ...durablePacks,
  '-c',
  'core.bigFileThreshold=4m',
  '-c',
  'pack.writeReverseIndex=false',
  'pack-objects',
  '--quiet',
];

/** What native git brought into a guest folder. */
export class NativeIncoming implements IncomingObjects {
  readonly refs: readonly RemoteRef[];
  readonly objects: IncomingReader;
  readonly #folder: GuestFolder;
  readonly #destination: Destination;
  readonly bring?: (ids: readonly ObjectId[]) => Promise<void>;

  constructor(
    { refs, objects }: { refs: readonly RemoteRef[]; objects: IncomingReader },
    folder: GuestFolder,
    destination: Destination,
  ) {
    this.refs = refs;
    this.objects = objects;
    this.#folder = folder;
    this.#destination = destination;
    const { promisor } = destination;
    if (promisor) this.bring = (ids) => promisor.bring(ids);
  }

  async accept(tips: readonly ObjectId[]): Promise<WrittenObjects> {
    if (tips.length === 0) return { release: async () => {} };
    // git makes a pack of exactly what these lead to: what else the remote has sent stays outside.
    const { objectFolder, parent, has, promisor } = this.#destination;
    const accepted = new Quarantine(parent, objectFolder);
    try {
      const to = join(accepted.path, 'objects/pack/pack');
      // What a remote has promised this repository before may be missing in any case.
      const missing = promisor ? 'allow-any' : 'allow-promisor';
      const args = [
        ...asItIs,
        '--revs',
        '--delta-base-offset',
        '--window=0',
        '--threads=1',
        `--missing=${missing}`,
        to,
      ];
      const input = [...tips, ...has.map((id) => `^${id}`)].map((line) => `${line}\n`).join('');
      const name = (await runGit({ ...this.#folder.run(args), input })).toString('latin1').trim();
      if (promisor && name !== '') {
        accepted.markPromised(`pack-${name}`);
        await promisor.remember();
      }
      const keeps = accepted.takeOver();
      return {
        release: async () => {
          for (const keep of keeps) keep.remove();
        },
      };
    } finally {
      accepted.remove();
    }
  }

  async discard(): Promise<void> {
    await this.objects.close();
    this.#folder.remove();
  }
}
