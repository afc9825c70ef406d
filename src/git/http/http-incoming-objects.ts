import { ObjectMissing } from '../object-errors.ts';
import type { GitObject, ObjectId, ObjectType } from '../object-id.ts';
import type { ObjectStore, ReadOptions, WrittenObjects } from '../object-store.ts';
import type { IncomingObjects, RemoteRef } from '../remote.ts';
import type { Repository } from '../repository.ts';
import type { IncomingPack } from './incoming-pack.ts';
import { readLocalRefs } from './local-refs.ts';
import { findNewCommits } from '../outgoing/new-commits.ts';
import { findNewObjects } from '../outgoing/new-objects.ts';

/** What a fetch brought: packs in files without a name, or in memory. */
export class HttpIncomingObjects implements IncomingObjects {
  readonly refs: readonly RemoteRef[];
  readonly objects: Pick<ObjectStore, 'read' | 'has'>;
  readonly #repository: Repository;
  /** Mostly one; none if nothing had to be brought. */
  #packs: readonly IncomingPack[];

  constructor(repository: Repository, refs: readonly RemoteRef[], packs: readonly IncomingPack[]) {
    this.refs = refs;
    this.#repository = repository;
    this.#packs = packs;
    this.objects = {
      read: async (id, options) => this.#read(id, options),
      has: async (id) => this.#packs.some((pack) => pack.has(id)) || this.#repository.objects.has(id),
    };
  }

  /**
   * Writes what the tips lead to, where no ref of the repository leads to it already. What lies there without a ref may
   * be collected at any moment, and is written again.
   */
  async accept(tips: readonly ObjectId[]): Promise<WrittenObjects> {
    const local = await readLocalRefs(this.#repository);
    const heads = new Set(local.values());
    const commits = await findNewCommits(this.objects, tips, {
      has: (id) => heads.has(id),
      all: async () => [...heads],
    });
    const found = await findNewObjects(this.objects, commits);
    const objects: GitObject[] = [];
    for (const { id } of found) objects.push(await this.#entry(id));
    return this.#repository.objects.write(objects);
  }

  async discard(): Promise<void> {
    for (const pack of this.#packs) pack.close();
    this.#packs = [];
  }

  async #read(id: ObjectId, options?: ReadOptions): Promise<GitObject | undefined> {
    const pack = this.#packs.find((one) => one.has(id));
    return pack?.read(id, options?.maxBytes) ?? this.#repository.objects.read(id, options);
  }

  async #entry(id: ObjectId): Promise<GitObject> {
    const pack = this.#packs.find((one) => one.has(id));
    const type = pack?.typeOf(id);
    if (pack !== undefined && type !== undefined) return new PackedObject(pack, id, type);
    const object = await this.#repository.objects.read(id);
    if (object === undefined) throw new ObjectMissing(id);
    return object;
  }
}

/** An object whose bytes are read whenever they are asked for, so that thousands of them take no memory. */
class PackedObject implements GitObject {
  readonly type: ObjectType;
  readonly #pack: IncomingPack;
  readonly #id: ObjectId;

  constructor(pack: IncomingPack, id: ObjectId, type: ObjectType) {
    this.type = type;
    this.#pack = pack;
    this.#id = id;
  }

  /** @throws {ObjectMissing} if the pack was let go of */
  get data(): Uint8Array {
    const object = this.#pack.read(this.#id);
    if (object === undefined) throw new ObjectMissing(this.#id);
    return object.data;
  }
}
