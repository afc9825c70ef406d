import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';

/** A thread, identified by its start. */
type StartedThread = { readonly start: { readonly id: ObjectId } };

/** The threads that are remembered. A process works on few at a time. */
const MAX_THREADS = 8;

/** What a process has read of a thread, so that its next command does not read it again. Commits never change. */
export class ThreadMemory<T> {
  readonly #known = new WeakMap<Repository, Map<ObjectId, T>>();

  get(repository: Repository, { start }: StartedThread): T | undefined {
    return this.#known.get(repository)?.get(start.id);
  }

  set(repository: Repository, { start }: StartedThread, value: T): void {
    const known = this.#known.get(repository) ?? new Map<ObjectId, T>();
    this.#known.set(repository, known);
    known.delete(start.id);
    known.set(start.id, value);
    for (const oldest of known.keys()) if (known.size > MAX_THREADS) known.delete(oldest);
  }
}
