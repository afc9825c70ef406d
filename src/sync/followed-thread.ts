import { findWaitingChildren } from '../engine/children/waiting-children.ts';
import { eventsSince } from '../engine/describe/events-since.ts';
import { describeOver } from '../engine/describe/gather-facts.ts';
import type { Reading } from '../engine/engine-context.ts';
import type { EngineEvent, ThreadOver } from '../engine/events.ts';
import { UwfError } from '../errors.ts';
import type { ObjectId } from '../git/format/object-id.ts';
import type { Remote } from '../git/transport/remote.ts';
import { findThread, getThread } from '../thread/find-thread.ts';
import { findStart } from '../thread/thread-chain.ts';
import { activeRef, type ThreadId } from '../thread/thread-id.ts';
import { readState } from '../thread/thread-state.ts';
import { type Claim, claimRef, findClaim } from './claims.ts';
import { fetchSelection } from './fetch-threads.ts';
import { placesNow, placesOfChildren, selectPatterns } from './plan-fetch.ts';
import type { SyncOptions } from './report.ts';
import { refOfTip, sortRefs } from './shared-refs.ts';

/** What a look at the remote has brought. */
export type Look = {
  /** What happened since the look before, of the thread and of those below it. */
  events: EngineEvent[];
  /** Claims that have another worker, or another role, than in the look before. */
  claims: Claim[];
  /** Whether there is a claim on the thread, or on one below it. */
  isClaimed: boolean;
  /** How the thread stands if it does not go on by itself. */
  over: ThreadOver | undefined;
};

/** A thread that is followed, as it was at the last look. */
type Seen = {
  head: ObjectId | undefined;
  /** Where the children are that were called since its last step. */
  below?: readonly string[];
  claim?: ObjectId | undefined;
  claimant?: string;
};

/**
 * A thread of a remote, with the threads below it, that goes on there. A look lists their refs alone, and fetches what has
 * changed.
 *
 * The ids of children begin with the time of the commit that called them, so the names of those that were called since the last
 * step have a prefix that is known.
 */
export class FollowedThread {
  readonly #engine: Reading;
  readonly #remote: Remote;
  readonly thread: ThreadId;
  readonly #options: Pick<SyncOptions, 'env' | 'signal'>;
  readonly #seen = new Map<ThreadId, Seen>();
  /** Threads below it that are over, and threads whose ids have such a prefix by chance. */
  readonly #others = new Set<ThreadId>();

  /** @param from the head that is known; absent: everything from the start on is news */
  constructor(
    engine: Reading,
    remote: Remote,
    thread: ThreadId,
    options: Pick<SyncOptions, 'env' | 'signal'>,
    from?: ObjectId,
  ) {
    this.#engine = engine;
    this.#remote = remote;
    this.thread = thread;
    this.#options = options;
    this.#seen.set(thread, { head: from });
  }

  /** The thread and the threads below it that are not over, with their heads here. */
  get open(): { thread: ThreadId; head: ObjectId }[] {
    return [...this.#seen].flatMap(([thread, { head }]) => (head === undefined ? [] : [{ thread, head }]));
  }

  /**
   * Looks at the remote, and fetches what has changed.
   * @throws {ThreadNotFound} if the thread was removed
   * @throws {UwfError} `thread-refused` if what the remote has is not sound
   */
  async look(): Promise<Look> {
    const look: Look = { events: [], claims: [], isClaimed: false, over: undefined };
    // Each round can bring threads whose children are not known yet.
    while (await this.#round(look)) this.#options.signal?.throwIfAborted();
    look.isClaimed = [...this.#seen.values()].some(({ claim }) => claim !== undefined);
    const { repository } = this.#engine;
    // It was removed, here or at the remote, if it is here no more.
    const pointer = await getThread(repository, this.thread);
    const state = await readState(repository, pointer.id, pointer.head);
    const isOnItsWay =
      state.head.kind === 'suspend' &&
      state.head.node.cause === 'child' &&
      (await findWaitingChildren(this.#engine, state)).length === 0;
    if (!isOnItsWay) look.over = await describeOver(this.#engine, state);
    return look;
  }

  /** @returns whether threads were found that were not known */
  async #round(look: Look): Promise<boolean> {
    const { repository } = this.#engine;
    const there = sortRefs(await this.#remote.list(await this.#patterns(), this.#options.signal));
    const wanted: string[] = [];
    for (const [thread, seen] of this.#seen) {
      const tip = there.threads.get(thread)?.at(-1);
      // A thread that ends has its history ref before its active one is gone.
      if (tip === undefined || tip.id !== seen.head)
        wanted.push(...(tip?.endedOn === undefined ? placesNow(thread, repository.now()) : [refOfTip(thread, tip)]));
      if (there.claims.get(thread) !== seen.claim) wanted.push(claimRef(thread));
    }
    const unknown = [...there.threads].filter(([id]) => !this.#seen.has(id) && !this.#others.has(id));
    for (const [thread, tips] of unknown) wanted.push(...tips.map((tip) => refOfTip(thread, tip)));
    if (wanted.length > 0) {
      const { report } = await fetchSelection(repository, this.#remote, selectPatterns(wanted), this.#options);
      const [refused] = report.refused;
      if (refused) throw threadRefused(this.#remote, refused.ref, refused.reason);
    }
    // Those below first: what they did comes before the step that takes it in.
    for (const [thread, seen] of [...this.#seen].toReversed()) {
      await this.#tell(thread, seen, look.events);
      await this.#tellClaim(seen, there.claims.get(thread), look.claims);
    }
    let isNew = false;
    for (const [thread] of unknown) {
      if (!(await this.#isBelow(thread))) {
        this.#others.add(thread);
        continue;
      }
      isNew = true;
      const seen: Seen = { head: undefined };
      this.#seen.set(thread, seen);
      await this.#tell(thread, seen, look.events);
    }
    return isNew;
  }

  async #patterns(): Promise<string[]> {
    const patterns: string[] = [];
    for (const [thread, seen] of this.#seen) {
      patterns.push(activeRef(thread), claimRef(thread));
      if (seen.head !== undefined) {
        seen.below ??= await placesOfChildren(this.#engine.repository, thread, seen.head);
        patterns.push(...seen.below);
      }
    }
    return patterns;
  }

  async #tell(thread: ThreadId, seen: Seen, events: EngineEvent[]): Promise<void> {
    const pointer = await findThread(this.#engine.repository, thread);
    if (pointer === undefined || pointer.head === seen.head) return;
    events.push(...(await eventsSince(this.#engine, pointer, seen.head)));
    seen.head = pointer.head;
    delete seen.below;
    if (!pointer.isHistory || thread === this.thread) return;
    this.#seen.delete(thread);
    this.#others.add(thread);
  }

  async #tellClaim(seen: Seen, id: ObjectId | undefined, claims: Claim[]): Promise<void> {
    if (id === seen.claim) return;
    seen.claim = id;
    const claim = await findClaim(this.#engine.repository.objects, id);
    if (claim === undefined) return;
    const claimant = `${claim.session} ${claim.role ?? ''} ${claim.head}`;
    if (claimant === seen.claimant) return;
    seen.claimant = claimant;
    claims.push(claim);
  }

  async #isBelow(thread: ThreadId): Promise<boolean> {
    const { repository } = this.#engine;
    const pointer = await findThread(repository, thread);
    const start = pointer && (await findStart(repository, pointer.head));
    const caller = start?.node.call?.thread;
    return [...this.#seen.keys()].some((id) => id === caller);
  }
}

function threadRefused(remote: Remote, ref: string, reason: string): UwfError {
  return new UwfError(`what ${remote.name} has at ${ref} is refused: ${reason}`, {
    code: 'thread-refused',
    kind: 'data',
    hint: 'nothing of it was taken over; fetch says the same',
  });
}
