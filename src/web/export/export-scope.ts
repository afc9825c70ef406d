import { describeThread } from '../../engine/describe/describe.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Ref, RefName, RefStore, WantedRefs } from '../../git/ref-store.ts';
import type { Repository } from '../../git/repository.ts';
import { findThread, type ThreadPointer } from '../../thread/find/find-thread.ts';
import { isThreadId, type ThreadId } from '../../thread/thread-id.ts';
import { ACTIVE_PREFIX, HISTORY_PREFIX } from '../../thread/thread-refs.ts';
import { assertDataError } from '../../thread/fault-of.ts';

/** Threads with their children, and the children of those, as far as they are here. */
export async function withChildren(
  engine: EngineContext,
  threads: readonly ThreadPointer[],
): Promise<Map<ThreadId, ThreadPointer>> {
  const found = new Map<ThreadId, ThreadPointer>();
  const open = [...threads];
  for (let pointer = open.shift(); pointer !== undefined; pointer = open.shift()) {
    if (found.has(pointer.id)) continue;
    found.set(pointer.id, pointer);
    for (const child of await childrenOf(engine, pointer.id)) {
      const here = await findThread(engine.repository, child);
      if (here !== undefined) open.push(here);
    }
  }
  return found;
}

/** A damaged thread has none that can be read; its page says what is wrong. */
async function childrenOf(engine: EngineContext, thread: ThreadId): Promise<ThreadId[]> {
  try {
    return (await describeThread(engine, thread)).calls.map((call) => call.thread);
  } catch (error) {
    assertDataError(error);
    return [];
  }
}

/** A repository in which no other threads are: what is not there is on no page. */
export function onlyThreads(repository: Repository, threads: { has(id: ThreadId): boolean }): Repository {
  return {
    objects: repository.objects,
    refs: new RefsOfThreads(repository.refs, threads),
    location: repository.location,
    stateDir: repository.stateDir,
    committer: repository.committer,
    now: repository.now,
    close: () => Promise.resolve(),
  };
}

class RefsOfThreads implements RefStore {
  readonly #refs: RefStore;
  readonly #threads: { has(id: ThreadId): boolean };

  constructor(refs: RefStore, threads: { has(id: ThreadId): boolean }) {
    this.#refs = refs;
    this.#threads = threads;
  }

  async read(name: RefName): Promise<ObjectId | undefined> {
    return this.#isIn(name) ? this.#refs.read(name) : undefined;
  }

  async list(prefix: string, wanted: WantedRefs = {}): Promise<Ref[]> {
    const { where = () => true } = wanted;
    const listed = await this.#refs.list(prefix, { ...wanted, where: (name) => this.#isIn(name) && where(name) });
    // A store may give back more than is wanted.
    return listed.filter(({ name }) => this.#isIn(name));
  }

  update(): Promise<void> {
    return Promise.reject(new Error('an export changes no ref'));
  }

  removeStaleLocks(): Promise<void> {
    return Promise.resolve();
  }

  #isIn(name: string): boolean {
    if (!name.startsWith(ACTIVE_PREFIX) && !name.startsWith(HISTORY_PREFIX)) return true;
    const id = name.slice(name.lastIndexOf('/') + 1);
    return isThreadId(id) && this.#threads.has(id);
  }
}
