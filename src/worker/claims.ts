import { UwfError } from '../errors.ts';
import type { ObjectId } from '../git/format/object-id.ts';
import { isDone, refusalIn, type PushEdit, type PushResult, type Remote } from '../git/transport/remote.ts';
import type { Repository } from '../git/repository.ts';
import { type Claim, claimRef, claimsRefused, makeClaim, movedTo } from '../sync/claims.ts';
import type { PushFence } from '../sync/push-threads.ts';
import { remember } from '../sync/shared-refs.ts';
import { activeRef, type ThreadId } from '../thread/thread-id.ts';
import type { FencedPush } from './turn-queue.ts';

/** Another worker has taken over the thread. What this one has done is not published. */
export class ClaimLost extends UwfError {
  constructor(thread: ThreadId) {
    super(`another worker has taken over thread ${thread}`, {
      code: 'claim-lost',
      kind: 'conflict',
      facts: { thread },
    });
  }
}

/** Who claims, and for how long a claim counts that is not renewed. */
export type WorkerIdentity = Pick<Claim, 'worker' | 'host' | 'session' | 'deadlineMs'>;

export type WantedClaim = Pick<Claim, 'thread' | 'head' | 'role'> & {
  /** What became of the turns of this head that left nothing. */
  losses: string[];
  /** The claim that it takes the place of; null: none may be there. */
  replaces: ObjectId | null;
  /** Is called when another worker has taken it over. */
  lost: () => void;
};

type Held = {
  claim: Claim;
  lost: () => void;
  /** The commit that the ref leads to, as far as is known. */
  id: ObjectId | null;
  /** What a push tried to make of it whose outcome is unknown; null: it tried to remove it. */
  attempted?: ObjectId | null;
  /** It was given back. Until the remote has taken that, each push tries to remove it. */
  isReleased?: true;
};

/** One change of a claim; `next: null` removes it, and one that is given back is not held any more. */
type Change = { thread: ThreadId; held: Held; next: Claim | null; isNew?: true };

type Send = (edits: readonly PushEdit[]) => Promise<readonly PushResult[]>;

/** The claims of this worker at a remote. It makes one push at a time: of two, each would expect what the other replaces. */
export class Claims {
  readonly #repository: Repository;
  readonly #remote: Remote;
  readonly #identity: WorkerIdentity;
  readonly #held = new Map<ThreadId, Held>();
  #line: Promise<unknown> = Promise.resolve();

  constructor(repository: Repository, remote: Remote, identity: WorkerIdentity) {
    this.#repository = repository;
    this.#remote = remote;
    this.#identity = identity;
  }

  isOwn(id: ObjectId): boolean {
    return [...this.#held.values()].some((held) => held.id === id || held.attempted === id);
  }

  has(thread: ThreadId): boolean {
    return this.#held.has(thread);
  }

  get threads(): ThreadId[] {
    return [...this.#held.keys()];
  }

  /**
   * Claims threads in one push, where they are still at their heads: another worker may have published a step and given the
   * thread back since they were seen.
   * @returns the threads that are this worker's now
   * @throws {RemoteUnreachable}; claims that were made nevertheless run out
   * @throws {UwfError} `claims-refused` if the remote takes none of them
   */
  take(wanted: readonly WantedClaim[]): Promise<ThreadId[]> {
    if (wanted.length === 0) return Promise.resolve([]);
    return this.#inLine(async () => {
      const changes = wanted.map(({ replaces, lost, role, losses, ...place }): Change => {
        const more = { ...(role !== undefined && { role }), ...(losses.length > 0 && { losses }) };
        const claim = { ...place, ...this.#identity, count: 0, ...more };
        // Of a claim that was never held, nothing is lost.
        return { thread: place.thread, held: { claim, lost, id: replaces }, next: claim, isNew: true };
      });
      const refused = await this.#sendAll(changes);
      const taken = changes.map(({ thread }) => thread).filter((thread) => this.#held.has(thread));
      if (taken.length === 0 && refused !== undefined) throw claimsRefused(this.#remote, refused);
      return taken;
    });
  }

  /** Makes a push of another kind with the change of a thread's claim; see `Fence`. Throws `ClaimLost`. */
  push<T>(thread: ThreadId, { head, isLast }: FencedPush, send: (fence: PushFence) => Promise<T>): Promise<T> {
    return this.#inLine(async () => {
      this.#unhold(thread);
      const changes = await this.#changes([thread], isLast, (claim) => movedTo(claim, head));
      if (changes.length === 0) throw new ClaimLost(thread);
      let sent: T | undefined;
      await this.#send(changes, async (edits) => {
        let results: readonly PushResult[] = [];
        sent = await send({ edits, settle: (all) => (results = all) });
        return results;
      });
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `send` has returned, or has thrown.
      return sent as T;
    });
  }

  /** Keeps a claim for a thread whose step cannot be published, and says why with the next renewal. */
  hold(thread: ThreadId, reason: string): void {
    const held = this.#held.get(thread);
    if (held !== undefined) held.claim = { ...held.claim, held: reason };
  }

  /** Replaces what is called when a claim is lost. */
  onLost(thread: ThreadId, lost: () => void): void {
    const held = this.#held.get(thread);
    if (held !== undefined) held.lost = lost;
  }

  /** What became of the turns of the thread's head that left nothing. */
  lossesOf(thread: ThreadId): string[] {
    return this.#held.get(thread)?.claim.losses ?? [];
  }

  /** Notes that a turn of the thread's head has left nothing; the claim that gives it back says so. */
  lose(thread: ThreadId, what: string): void {
    const held = this.#held.get(thread);
    if (held !== undefined) held.claim = { ...held.claim, losses: [...this.lossesOf(thread), what] };
  }

  isOnHold(thread: ThreadId): boolean {
    return this.#held.get(thread)?.claim.held !== undefined;
  }

  /** Renews all claims in one push, and removes those that a release could not. Those that were taken over are lost. */
  renew(): Promise<void> {
    return this.#inLine(async () => void (await this.#sendAll(await this.#changes([...this.#held.keys()], false))));
  }

  /** Renews all claims if one of them is not what was seen at the remote: a person or another worker may have replaced it. */
  async confirm(seen: ReadonlyMap<ThreadId, { id: ObjectId }>): Promise<void> {
    const isDoubtful = [...this.#held].some(
      ([thread, { id, attempted }]) => attempted === undefined && seen.get(thread)?.id !== id,
    );
    if (isDoubtful) await this.renew();
  }

  /** Removes claims in one push; later renewals remove what it could not. Those that were taken over stay. */
  release(threads: readonly ThreadId[]): Promise<void> {
    for (const thread of threads) {
      const held = this.#held.get(thread);
      if (held !== undefined) held.isReleased = true;
    }
    return this.#inLine(async () => void (await this.#sendAll(await this.#changes(threads, true))));
  }

  /** Removes claims of other workers, unless they were replaced meanwhile. */
  sweep(left: readonly { thread: ThreadId; id: ObjectId; claim: Claim }[]): Promise<void> {
    const changes = left.map(({ thread, id, claim }): Change => {
      return { thread, held: { claim, id, lost: () => {} }, next: null };
    });
    return this.#inLine(async () => void (await this.#sendAll(changes)));
  }

  /** What becomes of claims that are held: they are renewed, or removed. */
  async #changes(
    threads: readonly ThreadId[],
    isRemoval: boolean,
    moved: (claim: Claim) => Claim = (claim) => claim,
  ): Promise<Change[]> {
    const changes: Change[] = [];
    for (const thread of threads) {
      const held = await this.#findHeld(thread);
      if (held === undefined) continue;
      const isGone = isRemoval || held.isReleased === true;
      const next = { ...moved(held.claim), count: held.claim.count + 1 };
      const left = next.losses === undefined ? null : ({ ...next, givenBack: true } as const);
      changes.push({ thread, held, next: isGone ? left : next });
    }
    return changes;
  }

  /** Makes all changes that can be made: an atomic push makes none if one is refused. Returns why the remote refused one. */
  async #sendAll(changes: readonly Change[]): Promise<string | undefined> {
    let left = changes;
    let reason: string | undefined;
    while (left.length > 0) {
      const results = await this.#send(left, (edits) => this.#remote.push({ edits, isForward: true }));
      reason = refusalIn(results) ?? reason;
      const undone = left.filter((_, at) => results[at]?.outcome === 'undone');
      if (undone.length === left.length) break;
      left = undone;
    }
    return reason;
  }

  async #send(changes: readonly Change[], send: Send): Promise<readonly PushResult[]> {
    const { objects, now } = this.#repository;
    const made = changes.map(({ next }) => (next === null ? undefined : makeClaim(objects.format, next, now())));
    const guard = await objects.write(made.flatMap((claim) => claim?.batch.objects ?? []));
    try {
      const edits = changes.map(({ thread, held }, at): PushEdit => {
        const value = made[at]?.id ?? null;
        if (this.#held.has(thread)) held.attempted = value;
        return { name: claimRef(thread), value, expected: held.id };
      });
      const unmoved = changes.flatMap(({ thread, held: { claim }, isNew }): PushEdit[] =>
        isNew ? [{ name: activeRef(thread), value: claim.head, expected: claim.head }] : [],
      );
      const all = await send([...edits, ...unmoved]);
      const moved = new Set<string>(all.flatMap(({ name, outcome }) => (outcome === 'moved' ? [name] : [])));
      const results = all.slice(0, edits.length).map((result, at): PushResult => {
        const ref = changes[at] && activeRef(changes[at].thread);
        return ref !== undefined && moved.has(ref)
          ? { ...result, outcome: 'moved', reason: 'the thread has moved' }
          : result;
      });
      const done = edits.filter((_, at) => isDone(results[at]?.outcome));
      await remember(
        this.#repository,
        this.#remote,
        done.map(({ name, value }) => ({ name, value })),
      );
      changes.forEach((change, at) => this.#settle(change, edits[at]?.value ?? null, results[at]));
      return results;
    } finally {
      await guard.release();
    }
  }

  #settle({ thread, held, next }: Change, value: ObjectId | null, result: PushResult | undefined): void {
    if (result === undefined) return;
    delete held.attempted;
    if (isDone(result.outcome) && (next === null || next.givenBack === true)) this.#held.delete(thread);
    else if (isDone(result.outcome) && next !== null) {
      held.id = value;
      // A reason to hold it can have come meanwhile, or a turn can have been lost.
      const { held: reason, losses, head } = held.claim;
      const isSame = losses !== undefined && head === next.head;
      held.claim = { ...next, ...(reason !== undefined && { held: reason }), ...(isSame && { losses }) };
      this.#held.set(thread, held);
    } else if (result.outcome === 'moved') this.#lose(thread);
  }

  /** Finds the claim of a thread. If the last push broke off, finds out what it did. */
  async #findHeld(thread: ThreadId): Promise<Held | undefined> {
    const held = this.#held.get(thread);
    if (held?.attempted === undefined) return held;
    const name = claimRef(thread);
    const now = (await this.#remote.list([name])).find((ref) => ref.name === name)?.id ?? null;
    const isRemoved = now === null && held.attempted === null;
    if (isRemoved) this.#held.delete(thread);
    else if (now === null || (now !== held.id && now !== held.attempted)) this.#lose(thread);
    if (!this.#held.has(thread)) return undefined;
    delete held.attempted;
    held.id = now;
    return held;
  }

  /** What was held is tried again. */
  #unhold(thread: ThreadId): void {
    const held = this.#held.get(thread);
    if (held !== undefined) delete held.claim.held;
  }

  #lose(thread: ThreadId): void {
    const held = this.#held.get(thread);
    this.#held.delete(thread);
    held?.lost();
  }

  #inLine<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#line.then(work, work);
    this.#line = done.catch(() => {});
    return done;
  }
}
