import type { NextTurn, Outlook } from '../engine/describe/next-turn.ts';
import type { Deciding } from '../engine/engine-context.ts';
import type { ObjectId } from '../git/format/object-id.ts';
import type { Repository } from '../git/repository.ts';
import type { Remote, RemoteRef } from '../git/transport/remote.ts';
import { monotonicMs } from '../time/clock.ts';
import { type Claim, CLAIM_DEADLINES, claimRef, CLAIMS_PREFIX, findClaim } from '../sync/claims.ts';
import { placesNow, selectPatterns } from '../sync/plan-fetch.ts';
import { eachOnce } from '../sync/reconcile-thread.ts';
import type { SyncOptions } from '../sync/report.ts';
import { readTracked, readTrackedRef, refOfTip, refsOf, SHARED_PATTERNS, sortRefs } from '../sync/shared-refs.ts';
import { findEnded, findThread, listPointers } from '../thread/find-thread.ts';
import { asFault } from '../thread/thread-errors.ts';
import { ACTIVE_PREFIX, activeRef, type ThreadId } from '../thread/thread-id.ts';
import type { TurnJob } from './turn-queue.ts';

export type WorkFilter = {
  roles: readonly string[];
  workflows: readonly string[];
  /** Email addresses of those who may start what it runs; empty: all. */
  authors: readonly string[];
  /** Tells whether a definition, by its hash, is registered here; absent: any will do. */
  isRegistered?: ((workflow: string, hash: string) => Promise<boolean>) | undefined;
};

type Known = { head: ObjectId; outlook: Outlook };

/** Finds the turns that can be taken. What stays as it was found for a head is remembered while the thread is active. */
export class JobFinder {
  readonly #engine: Deciding;
  readonly #view: RemoteView;
  readonly #filter: WorkFilter;
  readonly #remote: string;
  #known = new Map<ThreadId, Known>();

  constructor(engine: Deciding, view: RemoteView, remote: string, filter: WorkFilter) {
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

/** A claim at the remote, and since when this process has seen it as it is. */
type SeenClaim = { id: ObjectId; sinceMs: number; claim: Claim | undefined };

/** A claim's content is fetched once it was seen unchanged for this time: those that are renewed meanwhile cost nothing. */
const READ_AFTER_MS = 3_000;

/** A thread that a fetch did not bring is asked for again after this time. */
const UNFETCHED_MS = 10_000;

/** A list that stays the same is compared with the tracking refs again after this time: another process may change those. */
const COMPARE_MS = 60_000;

type ViewOptions = Pick<SyncOptions, 'env' | 'remoteWins'> & {
  /** Is told, once, of each ref that was not taken in, and why. */
  onTrouble: (text: string) => void;
  /** Reads a new claim in the look that finds it: for a worker that looks rarely, where workers renew no claims. */
  readsClaimsAtOnce?: boolean;
};

/**
 * What a worker knows of the active threads and claims of a remote. A look at the remote lists those refs; objects are
 * fetched only of threads that moved and that no other worker has claimed, and of threads that are active no more.
 */
export class RemoteView {
  readonly #repository: Repository;
  readonly #remote: Remote;
  readonly #options: ViewOptions;
  readonly #told = new Set<string>();
  readonly #unfetched = new Map<ThreadId, { head: ObjectId; untilMs: number }>();
  readonly #claims = new Map<ThreadId, SeenClaim>();
  #threads = new Map<ThreadId, ObjectId>();
  readonly #lostEnds = new Set<ThreadId>();
  /** The threads that the last look did not fetch, because others have claimed them. */
  #leftToOthers: ThreadId[] = [];
  /** What a look listed that left nothing to fetch, then or later, and when. */
  #settled: { listed: readonly RemoteRef[]; atMs: number } | undefined;

  constructor(repository: Repository, remote: Remote, options: ViewOptions) {
    this.#repository = repository;
    this.#remote = remote;
    this.#options = options;
  }

  /** The heads of the threads that are active at the remote. */
  get threads(): ReadonlyMap<ThreadId, ObjectId> {
    return this.#threads;
  }

  get claims(): ReadonlyMap<ThreadId, SeenClaim> {
    return this.#claims;
  }

  /** Threads that have ended here, and of which the remote has no ref any more. A caller that publishes one deletes it. */
  get lostEnds(): Set<ThreadId> {
    return this.#lostEnds;
  }

  /** Tells whether a thread is at the remote: a look saw it there, or a push or a fetch since then. */
  async hasSeen(thread: ThreadId): Promise<boolean> {
    if (this.#threads.has(thread)) return true;
    return (await readTrackedRef(this.#repository, this.#remote, activeRef(thread))) !== undefined;
  }

  /** Tells whether a claim counts: it was not given back or seen unchanged for its deadline, or the thread was stopped. */
  isClaimed(thread: ThreadId): boolean {
    const seen = this.#claims.get(thread);
    if (seen === undefined || seen.claim?.givenBack === true) return false;
    if (this.isStopped(thread)) return true;
    return monotonicMs() - seen.sinceMs < (seen.claim?.deadlineMs ?? CLAIM_DEADLINES.ofMalformed);
  }

  /** Tells whether a person, or a worker, has stopped the work on a thread. */
  isStopped(thread: ThreadId): boolean {
    return this.#claims.get(thread)?.claim?.stoppedBy !== undefined;
  }

  /** Claims that count no more on threads that are not active: their workers died when all was published. */
  get leftClaims(): { thread: ThreadId; id: ObjectId; claim: Claim }[] {
    return [...this.#claims].flatMap(([thread, { id, claim }]) =>
      claim === undefined || this.#threads.has(thread) || this.isClaimed(thread) ? [] : [{ thread, id, claim }],
    );
  }

  /** Whether others (not the worker's `own` ids) have claims that count: what they do can bring more to do. */
  hasClaims(own: (id: ObjectId) => boolean): boolean {
    return [...this.#claims].some(
      ([thread, { id, claim }]) =>
        !own(id) && claim?.stoppedBy === undefined && this.#threads.has(thread) && this.isClaimed(thread),
    );
  }

  /** Tells whether a claim has run out since the last look began: the next look fetches its thread. */
  hasRunOut(): boolean {
    return this.#leftToOthers.some((thread) => !this.isClaimed(thread));
  }

  async look(own: (id: ObjectId) => boolean, signal: AbortSignal): Promise<void> {
    const listed = await this.#remote.list([`${ACTIVE_PREFIX}*`, `${CLAIMS_PREFIX}*`], signal);
    if (this.#isSettled(listed)) return;
    const there = sortRefs(listed);
    const tracked = sortRefs(refsOf(await readTracked(this.#repository, this.#remote)));
    await this.#see(there.claims);
    const wanted: string[] = [];
    const leftToOthers: ThreadId[] = [];
    /** Whether something is to be fetched that is not fetched now. */
    let isWaiting = false;
    for (const [thread, [tip]] of there.threads) {
      const claim = this.#claims.get(thread);
      const isOthers = claim !== undefined && !own(claim.id) && this.isClaimed(thread);
      const isKnown = tip === undefined || tip.id === tracked.threads.get(thread)?.at(-1)?.id;
      if (isKnown) continue;
      if (isOthers) leftToOthers.push(thread);
      if (isOthers || this.#isUnfetched(thread, tip.id)) isWaiting = true;
      else wanted.push(activeRef(thread));
    }
    for (const [thread, { id, sinceMs, claim }] of this.#claims) {
      if (claim !== undefined) continue;
      isWaiting = true;
      const isSettled = this.#options.readsClaimsAtOnce === true || monotonicMs() - sinceMs >= READ_AFTER_MS;
      const isDue = !own(id) && isSettled;
      if (isDue && tracked.claims.get(thread) !== id) wanted.push(claimRef(thread));
    }
    for (const thread of tracked.claims.keys()) if (!there.claims.has(thread)) wanted.push(claimRef(thread));
    const over = [...tracked.threads.keys()].filter(
      (thread) => tracked.threads.get(thread)?.at(-1)?.endedOn === undefined && !there.threads.has(thread),
    );
    for (const thread of over) wanted.push(...placesNow(thread, this.#repository.now()));
    if (wanted.length > 0) {
      await this.#fetch(wanted, signal);
      await this.#see(there.claims);
    }
    if (over.length > 0) await this.#seeOver(over, signal);
    this.#threads = new Map([...there.threads].flatMap(([thread, [tip]]) => (tip ? [[thread, tip.id]] : [])));
    this.#leftToOthers = leftToOthers;
    await this.#rememberUnfetched(new Set(wanted));
    this.#settled = isWaiting || wanted.length > 0 ? undefined : { listed, atMs: monotonicMs() };
  }

  /** Finds out what became of threads that are active no more, where a fetch of what they can have become has not brought it. */
  async #seeOver(threads: readonly ThreadId[], signal: AbortSignal): Promise<void> {
    const [repository, remote] = [this.#repository, this.#remote];
    const known = sortRefs(refsOf(await readTracked(repository, remote)));
    const left = threads.filter((thread) => !known.threads.has(thread) && !known.removed.has(thread));
    if (left.length === 0) return;
    const listed = await remote.list(SHARED_PATTERNS, signal);
    const there = sortRefs(listed);
    const refs = left.flatMap((thread) => (there.threads.get(thread) ?? []).map((tip) => refOfTip(thread, tip)));
    if (refs.length > 0) await this.#fetch(refs, signal);
    const { findVanished } = await import('../sync/fetch-threads.ts');
    for (const thread of await findVanished(repository, remote, left, listed, { signal })) {
      if ((await findThread(repository, thread))?.isHistory === true) this.#lostEnds.add(thread);
      const what = `thread ${thread} is gone from ${remote.name}, without an end or a mark of its removal`;
      this.#options.onTrouble(`${what}; it is kept here, and 'uwf push ${remote.name} ${thread}' sends it again`);
    }
  }

  /** Tells whether a list is the one that left nothing to fetch. */
  #isSettled(listed: readonly RemoteRef[]): boolean {
    const before = this.#settled;
    if (before === undefined || monotonicMs() - before.atMs >= COMPARE_MS) return false;
    const isSame = ({ name, id }: RemoteRef, at: number): boolean =>
      name === before.listed[at]?.name && id === before.listed[at].id;
    return listed.length === before.listed.length && listed.every(isSame);
  }

  async #rememberUnfetched(asked: ReadonlySet<string>): Promise<void> {
    const untilMs = monotonicMs() + UNFETCHED_MS;
    for (const [thread, head] of this.#threads) {
      if (!asked.has(activeRef(thread))) continue;
      if (await this.#repository.objects.has(head)) this.#unfetched.delete(thread);
      else this.#unfetched.set(thread, { head, untilMs });
    }
  }

  async #fetch(refs: readonly string[], signal: AbortSignal): Promise<void> {
    const { onTrouble, readsClaimsAtOnce: _, ...options } = this.#options;
    const { fetchSelection } = await import('../sync/fetch-threads.ts');
    const { report } = await fetchSelection(this.#repository, this.#remote, selectPatterns(refs), {
      ...options,
      signal,
    });
    for (const { ref, reason } of report.refused) {
      const text = `${ref} is not fetched: ${reason}`;
      if (!this.#told.has(text)) onTrouble(text);
      this.#told.add(text);
    }
  }

  /** Tells whether a fetch has just failed to bring this head: a thread that is refused costs a fetch now and then. */
  #isUnfetched(thread: ThreadId, head: ObjectId): boolean {
    const last = this.#unfetched.get(thread);
    return last?.head === head && monotonicMs() < last.untilMs;
  }

  /** Takes in the claims that a look has listed. One that has not changed keeps the time since when it was seen. */
  async #see(there: ReadonlyMap<ThreadId, ObjectId>): Promise<void> {
    for (const thread of this.#claims.keys()) if (!there.has(thread)) this.#claims.delete(thread);
    for (const [thread, id] of there) {
      const seen = this.#claims.get(thread);
      const sinceMs = seen?.id === id ? seen.sinceMs : monotonicMs();
      const claim =
        seen?.id === id && seen.claim !== undefined ? seen.claim : await findClaim(this.#repository.objects, id);
      this.#claims.set(thread, { id, sinceMs, claim });
    }
  }
}
