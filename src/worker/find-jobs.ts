import type { NextTurn, Outlook } from '../engine/describe/next-turn.ts';
import type { EngineContext } from '../engine/engine-context.ts';
import type { ObjectId } from '../git/format/object-id.ts';
import { asFault } from '../thread/thread-errors.ts';
import { eachOnce } from '../sync/reconcile-thread.ts';
import { findEnded, findThread, listPointers } from '../thread/find-thread.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import type { RemoteView } from './remote-view.ts';
import type { TurnJob } from './turn-queue.ts';

/** Which turns a worker takes. */
export type WorkFilter = {
  roles: readonly string[];
  workflows: readonly string[];
  /** Email addresses of those who may start what it runs; empty: all. */
  authors: readonly string[];
  /** Tells whether a definition, by its hash, is registered here; absent: any will do. */
  isRegistered?: ((workflow: string, hash: string) => Promise<boolean>) | undefined;
};

/** What is known of a thread at one head. */
type Known = { head: ObjectId; outlook: Outlook };

/** Finds the turns that can be taken. What stays as it was found for a head is remembered while the thread is active. */
export class JobFinder {
  readonly #engine: EngineContext;
  readonly #view: RemoteView;
  readonly #filter: WorkFilter;
  readonly #remote: string;
  #known = new Map<ThreadId, Known>();

  constructor(engine: EngineContext, view: RemoteView, remote: string, filter: WorkFilter) {
    this.#engine = engine;
    this.#view = view;
    this.#remote = remote;
    this.#filter = filter;
  }

  /**
   * Lists the turns that can be taken now, of threads whose newest commit at the remote is here, and the threads whose ends are to
   * be published: an earlier process was ended, or the remote refused it, before their active refs were gone there.
   */
  async find(): Promise<TurnJob[]> {
    const known = new Map<ThreadId, Known>();
    const jobs: TurnJob[] = [];
    const ended = await this.#endedHere();
    for (const [thread, head] of this.#view.threads) {
      if (this.#view.isStopped(thread)) continue;
      const turn = ended.has(thread) ? 'over' : await this.#outlookOf(thread, head, known);
      if (turn === 'over') jobs.push({ remote: this.#remote, thread, head, needs: [] });
      else if (typeof turn === 'object' && (await this.#isWanted(turn))) jobs.push(this.#job(thread, head, turn));
    }
    this.#known = known;
    return jobs;
  }

  /** The threads that are active at the remote and have ended here. */
  async #endedHere(): Promise<Set<ThreadId>> {
    const { repository } = this.#engine;
    const active = new Set((await listPointers(repository, { active: true })).map(({ id }) => id));
    const others = new Set([...this.#view.threads.keys()].filter((thread) => !active.has(thread)));
    return new Set((await findEnded(repository, others)).map(({ id }) => id));
  }

  /** Lists the turns that can be taken, by any worker, of threads that were just published, and of their callers. */
  async findAfter(published: readonly ThreadId[]): Promise<TurnJob[]> {
    const { repository } = this.#engine;
    const jobs = new Map<ThreadId, TurnJob>();
    const waiting = [...published];
    for (const thread of eachOnce(waiting)) {
      const pointer = await findThread(repository, thread);
      if (pointer === undefined) continue;
      const { findCallerOf } = await import('../engine/describe/next-turn.ts');
      const caller = await findCallerOf(this.#engine, pointer);
      if (caller !== null) waiting.push(caller);
      const turn = pointer.isHistory || this.#view.isStopped(thread) ? 'none' : await this.#look(thread, pointer.head);
      if (typeof turn === 'object') jobs.set(thread, this.#job(thread, pointer.head, turn));
    }
    return [...jobs.values()];
  }

  #job(thread: ThreadId, head: ObjectId, { needs, role }: NextTurn): TurnJob {
    return { remote: this.#remote, thread, head, needs, ...(role !== null && { role }) };
  }

  /** Tells whether any worker could take the next turn of a thread at this head, or has to publish its end. */
  async canGoOn(thread: ThreadId, head: ObjectId): Promise<boolean> {
    if (this.#view.isStopped(thread)) return false;
    const turn = await this.#look(thread, head);
    return turn === 'over' || typeof turn === 'object';
  }

  /** Tells whether this worker would take the next turn of a thread at this head. */
  async isWantedAt(thread: ThreadId, head: ObjectId): Promise<boolean> {
    if (this.#view.isStopped(thread)) return false;
    const turn = await this.#look(thread, head);
    return typeof turn === 'object' && this.#isWanted(turn);
  }

  async #outlookOf(thread: ThreadId, head: ObjectId, known: Map<ThreadId, Known>): Promise<Outlook> {
    const before = this.#known.get(thread);
    const outlook =
      before?.head === head && isSettled(before.outlook) ? before.outlook : await this.#look(thread, head);
    known.set(thread, { head, outlook });
    return outlook;
  }

  async #look(thread: ThreadId, head: ObjectId): Promise<Outlook> {
    // It is fetched when no other worker has claimed it.
    if (!(await this.#engine.repository.objects.has(head))) return 'later';
    const { findNextTurn } = await import('../engine/describe/next-turn.ts');
    const isShared = (branch: ThreadId): Promise<boolean> => this.#view.hasSeen(branch);
    try {
      return await findNextTurn(this.#engine, { id: thread, head }, isShared);
    } catch (error) {
      // A damaged thread, one of a newer version, or one whose check does not end is left to others, and keeps nobody from the
      // rest. Or a fetch has brought its newest commit, and not yet what is behind it.
      asFault(error);
      return 'later';
    }
  }

  async #isWanted({ role, workflow, workflowHash, startedBy }: NextTurn): Promise<boolean> {
    const { roles, workflows, authors, isRegistered } = this.#filter;
    const isIn = (list: readonly string[], one: string): boolean => list.length === 0 || list.includes(one);
    if (!isIn(workflows, workflow) || !isIn(authors, startedBy)) return false;
    if (roles.length > 0 && (role === null || !roles.includes(role))) return false;
    return isRegistered === undefined || isRegistered(workflow, workflowHash);
  }
}

/** Tells whether an outlook stays as it is while the head does. */
function isSettled(outlook: Outlook): boolean {
  return outlook === 'over' || outlook === 'none' || (outlook !== 'later' && outlook.isSettled);
}
