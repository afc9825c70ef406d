import type { GitObject, ObjectFormat, ObjectId } from '../object-id.ts';
import type { ObjectStore, ReadOptions, WrittenObjects } from '../object-store.ts';
import { GitFailed } from './run-git.ts';

/**
 * The objects of a partial clone: those that are here, and those that a remote has promised, fetched by git when they are
 * first read.
 *
 * `has` tells what is here and fetches nothing.
 */
export class PromisedObjectStore implements ObjectStore {
  readonly format: ObjectFormat;
  readonly #near: ObjectStore;
  readonly #far: Pick<ObjectStore, 'read' | 'close'>;
  readonly #bring: (ids: readonly ObjectId[]) => Promise<void>;

  /**
   * @param near what is here
   * @param far what asks the remote for each object that is not here
   * @param bring brings many at once
   */
  constructor(
    near: ObjectStore,
    far: Pick<ObjectStore, 'read' | 'close'>,
    bring: (ids: readonly ObjectId[]) => Promise<void>,
  ) {
    this.format = near.format;
    this.#near = near;
    this.#far = far;
    this.#bring = bring;
  }

  async read(id: ObjectId, options?: ReadOptions): Promise<GitObject | undefined> {
    return (await this.#near.read(id, options)) ?? this.#far.read(id, options);
  }

  has(id: ObjectId): Promise<boolean> {
    return this.#near.has(id);
  }

  write(objects: readonly GitObject[]): Promise<WrittenObjects> {
    return this.#near.write(objects);
  }

  async prefetch(ids: readonly ObjectId[]): Promise<void> {
    const missing: ObjectId[] = [];
    for (const id of new Set(ids)) if (!(await this.#near.has(id))) missing.push(id);
    try {
      if (missing.length > 0) await this.#bring(missing);
    } catch (error) {
      // One that the remote lacks fails them all; whoever reads it is told, and the others come one by one.
      if (!(error instanceof GitFailed)) throw error;
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#near.close(), this.#far.close()]);
  }
}
