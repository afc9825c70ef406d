import type { GitObject, ObjectFormat, ObjectId } from '../object-id.ts';
import type { ObjectStore, ReadOptions, WrittenObjects } from '../object-store.ts';
import { inTurn } from '../in-turn.ts';
import { ObjectUnavailable } from './object-unavailable.ts';
import { GitFailed } from './run-git.ts';

/**
 * The objects of a partial clone: those that are here, and those that a remote has promised, fetched when they are first
 * read.
 *
 * `has` tells what is here and fetches nothing.
 */
export class PromisedObjectStore implements ObjectStore {
  readonly format: ObjectFormat;
  readonly #near: ObjectStore;
  readonly #judge: Pick<ObjectStore, 'read' | 'close'>;
  readonly #bring: (ids: readonly ObjectId[]) => Promise<void>;

  /**
   * @param near what is here
   * @param judge tells what was promised from what is lost, by an {@link ObjectUnavailable}
   * @param bring makes objects of the remote those that are here
   */
  constructor(
    near: ObjectStore,
    judge: Pick<ObjectStore, 'read' | 'close'>,
    bring: (ids: readonly ObjectId[]) => Promise<void>,
  ) {
    this.format = near.format;
    this.#near = near;
    this.#judge = judge;
    this.#bring = bring;
  }

  async read(id: ObjectId, options?: ReadOptions): Promise<GitObject | undefined> {
    return (await this.#here(id, options)) ?? this.#fetched(id, options);
  }

  async #here(id: ObjectId, options?: ReadOptions): Promise<GitObject | undefined> {
    try {
      return await this.#near.read(id, options);
    } catch (error) {
      if (error instanceof ObjectUnavailable) return undefined;
      throw error;
    }
  }

  /** One connection after the other: what one reader waits for, the next one may find here. */
  #fetched(id: ObjectId, options?: ReadOptions): Promise<GitObject | undefined> {
    return inTurn(this, '', async () => {
      const brought = await this.#here(id, options);
      if (brought !== undefined) return brought;
      try {
        await this.#bring([id]);
      } catch (error) {
        if (!(error instanceof GitFailed)) throw error;
        await this.#judge.read(id, options).catch((cause: unknown) => {
          throw cause instanceof ObjectUnavailable ? new ObjectUnavailable(id, error.said, error) : cause;
        });
      }
      return this.#here(id, options);
    });
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
    await Promise.all([this.#near.close(), this.#judge.close()]);
  }
}
