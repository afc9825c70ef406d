import type { ObjectId } from '../git/format/object-id.ts';
import type { Repository } from '../git/repository.ts';
import { readCommit } from '../git/stores/read.ts';
import type { ArchiveList } from '../thread/archive-list.ts';
import { forkIdFor } from '../thread/new-thread-id.ts';
import { findStart } from '../thread/thread-chain.ts';
import { nothingForDataError } from '../thread/thread-errors.ts';
import { isThreadId, type ThreadId, threadTimeMs } from '../thread/thread-id.ts';
import { callerCommit } from '../thread/thread-state.ts';
import type { SortedRefs } from './shared-refs.ts';

/** A thread that the remote has nothing of, with the threads below it, which go with it and are as new. */
export type NewThread = { thread: ThreadId; head: ObjectId; below: ThreadId[] };

/** Chooses which threads go to a remote that has nothing of them. */
export type ChooseNew = (threads: readonly NewThread[]) => Promise<ReadonlySet<ThreadId>>;

/** What the remote has: the ids of its threads, and a test that knows its archive, too. */
type Presence = { ids: readonly ThreadId[]; has: (thread: ThreadId) => boolean | Promise<boolean> };

/** What a remote has by its refs and its archive, and had before it was redacted here: another thread takes the place of that. */
export function presenceAt({ threads, removed }: SortedRefs, here: SortedRefs, archive: ArchiveList): Presence {
  const has = async (thread: ThreadId): Promise<boolean> =>
    threads.has(thread) || (await archive.find(thread)) !== undefined;
  return { ids: [...threads.keys(), ...[...here.removed.keys()].filter((thread) => removed.has(thread))], has };
}

/**
 * Has a caller choose which threads a push of all sends for the first time, each once in all rounds of the push.
 *
 * Not chosen are those that belong to a thread which the remote has: what it called, and the forks in which uwf keeps steps that
 * lost a race. What a new thread called goes with it.
 */
export class NewThreads {
  readonly #repository: Repository;
  readonly #choose: ChooseNew;
  readonly #chosen = new Map<ThreadId, boolean>();
  readonly #unsent = new Map<ThreadId, NewThread>();

  constructor(repository: Repository, choose: ChooseNew) {
    this.#repository = repository;
    this.#choose = choose;
  }

  /** The threads that were not chosen, as the last rounds found them. */
  get unsent(): NewThread[] {
    return [...this.#unsent.values()];
  }

  /**
   * Finds the threads that stay here, of some that the remote has no ref of.
   * @param heads the threads with their heads
   */
  async withhold(heads: ReadonlyMap<ThreadId, ObjectId>, there: Presence): Promise<Set<ThreadId>> {
    const found = new Map<ThreadId, NewThread>();
    for (const [thread, head] of heads) {
      const root = await this.#rootOf(thread, head, heads, there).catch(nothingForDataError);
      if (root === 'there') continue;
      const top = root ?? thread;
      const group = found.get(top) ?? { thread: top, head: heads.get(top) ?? head, below: [] };
      found.set(top, top === thread ? group : { ...group, below: [...group.below, thread] });
    }
    const open = [...found.values()].filter(({ thread }) => !this.#chosen.has(thread));
    if (open.length > 0) {
      const chosen = await this.#choose(open.toSorted((a, b) => (a.thread < b.thread ? -1 : 1)));
      for (const { thread } of open) this.#chosen.set(thread, chosen.has(thread));
    }
    const withheld = new Set<ThreadId>();
    for (const one of found.values()) {
      if (this.#chosen.get(one.thread) === true) continue;
      this.#unsent.set(one.thread, one);
      for (const thread of [one.thread, ...one.below]) withheld.add(thread);
    }
    return withheld;
  }

  /** The thread that one belongs to: the topmost caller that is as new; `there` if the remote has one of its callers. */
  async #rootOf(
    thread: ThreadId,
    head: ObjectId,
    heads: ReadonlyMap<ThreadId, ObjectId>,
    there: Presence,
  ): Promise<ThreadId | 'there'> {
    let start = await findStart(this.#repository, head);
    if (start === undefined) return thread;
    if (start.node.id !== thread) return (await this.#isKeptFork(thread, head, there)) ? 'there' : thread;
    let root = thread;
    for (let caller = callerCommit(start); caller !== undefined; caller = start && callerCommit(start)) {
      const { call }: { call?: { thread: string } } = start.node;
      start = await findStart(this.#repository, caller);
      for (const id of [call?.thread, start?.node.id]) {
        if (id === undefined || !isThreadId(id)) continue;
        if (await there.has(id)) return 'there';
        if (heads.has(id)) root = id;
      }
      if (start === undefined) break;
    }
    const top = heads.get(root);
    return root === thread || top === undefined ? root : this.#rootOf(root, top, heads, there);
  }

  /** Whether uwf itself made the fork, of a thread that the remote has: its id is made of that thread and of a commit of the fork. */
  async #isKeptFork(fork: ThreadId, head: ObjectId, { ids }: Presence): Promise<boolean> {
    const bornMs = threadTimeMs(fork);
    for (let at: ObjectId | undefined = head; at !== undefined;) {
      const { committer, parents } = await readCommit(this.#repository.objects, at);
      const { atMs } = committer;
      // The commits before it are older.
      if (atMs < bornMs) return false;
      const tip = at;
      if (atMs === bornMs && ids.some((thread) => forkIdFor(thread, tip, atMs) === fork)) return true;
      [at] = parents;
    }
    return false;
  }
}
