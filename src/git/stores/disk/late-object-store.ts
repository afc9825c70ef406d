import type { GitObject, ObjectFormat, ObjectId } from '../../format/object-id.ts';
import type { ObjectStore, ReadOptions, WrittenObjects } from '../../object-store.ts';
import type { GitEnvironment } from '../../repository.ts';

/**
 * A {@link DiskObjectStore} that is loaded with the first access, because a command that shows cached results reads no
 * object.
 */
export class LateObjectStore implements ObjectStore {
  readonly format: ObjectFormat = 'sha1';
  readonly #commonDir: string;
  readonly #env: GitEnvironment;
  #loading: Promise<ObjectStore> | undefined;
  /** Once loaded it is called directly, because a walk over a thread reads an object every few microseconds. */
  #loaded: ObjectStore | undefined;

  constructor(commonDir: string, env: GitEnvironment) {
    this.#commonDir = commonDir;
    this.#env = env;
  }

  read(id: ObjectId, options?: ReadOptions): Promise<GitObject | undefined> {
    return this.#loaded?.read(id, options) ?? this.#load().then((store) => store.read(id, options));
  }

  has(id: ObjectId): Promise<boolean> {
    return this.#loaded?.has(id) ?? this.#load().then((store) => store.has(id));
  }

  write(objects: readonly GitObject[]): Promise<WrittenObjects> {
    return this.#loaded?.write(objects) ?? this.#load().then((store) => store.write(objects));
  }

  async close(): Promise<void> {
    // Does not load the store only to close it.
    await (await this.#loading)?.close();
  }

  #load(): Promise<ObjectStore> {
    this.#loading ??= import('./disk-object-store.ts').then(
      ({ DiskObjectStore }) => (this.#loaded = new DiskObjectStore(this.#commonDir, this.#env)),
    );
    return this.#loading;
  }
}
