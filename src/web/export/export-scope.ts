import { describeThread } from '../../engine/describe/describe.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Ref, RefName, RefStore, WantedRefs } from '../../git/ref-store.ts';
import type { Repository } from '../../git/repository.ts';
import { findThread, listPointers } from '../../thread/find-thread.ts';
import {
  ACTIVE_PREFIX,
  HISTORY_PREFIX,
  isThreadId,
  parseThreadId,
  type ThreadId,
  type ThreadPointer,
} from '../../thread/thread-id.ts';
import { findStart } from '../../thread/thread-chain.ts';
import { assertDataError } from '../../thread/thread-errors.ts';

/**
 * Threads with their children, and the children of those, as far as they are here.
 * @returns also the ids of the threads that are not among them
 */
export async function withChildren(
  engine: EngineContext,
  threads: readonly ThreadPointer[],
): Promise<{ threads: Map<ThreadId, ThreadPointer>; others: ReadonlySet<string> }> {
  const found = new Map<ThreadId, ThreadPointer>();
  const others = new Set<string>((await listPointers(engine.repository)).map(({ id }) => id));
  const open = [...threads];
  for (let pointer = open.shift(); pointer !== undefined; pointer = open.shift()) {
    if (found.has(pointer.id)) continue;
    found.set(pointer.id, pointer);
    const { parent, children } = await relativesOf(engine, pointer.id);
    // They may not be here; prompts name them.
    if (parent !== null) others.add(parent);
    for (const caller of await callersOf(engine.repository, pointer)) others.add(caller);
    for (const child of children) {
      const here = await findThread(engine.repository, child);
      if (here !== undefined) open.push(here);
    }
  }
  for (const id of found.keys()) others.delete(id);
  return { threads: found, others };
}

type Relatives = { parent: ThreadId | null; children: ThreadId[] };

/** A damaged thread has none that can be read; its page says what is wrong. */
async function relativesOf(engine: EngineContext, thread: ThreadId): Promise<Relatives> {
  try {
    const { parent, calls } = await describeThread(engine, thread);
    return { parent, children: calls.map((call) => call.thread) };
  } catch (error) {
    assertDataError(error);
    return { parent: null, children: [] };
  }
}

/** The threads that called a thread, and those that called them, as the commits behind its start tell. */
async function callersOf(repository: Repository, { head }: ThreadPointer): Promise<ThreadId[]> {
  const callers: ThreadId[] = [];
  let start = await findStart(repository, head);
  // A start that has a parent continues a chain of its caller.
  for (let [from] = start?.commit.parents ?? []; from !== undefined; [from] = start?.commit.parents ?? []) {
    start = await findStart(repository, from);
    if (start !== undefined) callers.push(parseThreadId(start.node.id));
  }
  return callers;
}

/** Leaves the ids of threads out of what is written, such as that of the caller, which a child's prompt names. */
export function withoutIds(text: string, others: ReadonlySet<string>): string {
  return text.replaceAll(/\b[0-9A-HJKMNP-TV-Z]{26}\b/gi, (id) =>
    others.has(id.toUpperCase()) ? 'another thread' : id,
  );
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

  #isIn(name: string): boolean {
    if (!name.startsWith(ACTIVE_PREFIX) && !name.startsWith(HISTORY_PREFIX)) return true;
    const id = name.slice(name.lastIndexOf('/') + 1);
    return isThreadId(id) && this.#threads.has(id);
  }
}
