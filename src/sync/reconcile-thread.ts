// The room sync: threads go to a remote and come from it. `fetch-threads.ts` plans, fetches into a quarantine, has it
// verified and moves refs; `push-threads.ts` sends, fast-forward only; this file decides for each thread what brings
// both sides together, as a function of the refs of both. A thread that has gone on at both keeps one side as a fork,
// so no step is lost. `claims.ts` are the refs by which workers share the threads of a remote. A remote may be away,
// refuse a ref or move meanwhile: the report says so for each ref, and doing it again is always safe.

import type { Commit } from '../git/format/objects.ts';
import type { ObjectId } from '../git/format/object-id.ts';
import type { ObjectStore, RefEdit } from '../git/repository.ts';
import { ObjectBatch } from '../git/stores/publish.ts';
import { type ObjectReader, readCommit } from '../git/stores/read.ts';
import { forkIdFor } from '../thread/new-thread-id.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import type { ThreadChange } from './report.ts';
import { deletionOf, refOfTip, type Tip } from './shared-refs.ts';

/** Answers questions about commits. A parameter, so that tests can answer from tables. */
export type Lineage = {
  relate: (one: ObjectId, other: ObjectId) => Promise<Relation>;
  /** The id of the fork that keeps a diverged tip; the same on every machine. */
  forkId: (thread: ThreadId, tip: ObjectId) => Promise<ThreadId>;
};

/** A diverged tip of a thread, and the fork that is to keep it. */
export type ForkClaim = {
  fork: ThreadId;
  tip: Tip;
  of: ThreadId;
  /** True if a ref of this repository reaches the tip now, and will not after the fetch. */
  isOurs: boolean;
};

/** Both sides of one thread; tips in the order of `SortedRefs`. */
export type ThreadSides = {
  thread: ThreadId;
  here: readonly Tip[];
  there: readonly Tip[];
  /** Diverged tips of other threads that this thread, as their fork, is to keep. */
  claims: readonly ForkClaim[];
  /** The remote's tips as the tracking refs have them. */
  seen: readonly Tip[];
  isRemovedHere: boolean;
  /** Whether the remote has a removal mark. */
  isRemovedThere: boolean;
  /** Whether the user named the thread. Then a removal does not count. */
  isNamed: boolean;
  /** Whether a process of this machine runs the thread. */
  isRunning: boolean;
  /** Whether the remote's tip keeps the id against an end here; see `SyncOptions.remoteWins`. */
  remoteWins?: boolean | undefined;
};

/** What a fetch does with one thread: one transaction, after the refs of the claimed forks were created. */
export type Reconciled = {
  edits: RefEdit[];
  change?: ThreadChange;
  /** Its diverged tips, for forks. */
  claims: ForkClaim[];
  /** Why nothing is done. */
  held?: string;
};

const unchanged: Reconciled = { edits: [], claims: [] };

/**
 * Decides where a thread's ref points after a fetch. No commit is dropped: a tip that is no ancestor of the new one becomes
 * a fork.
 *
 * An ended tip wins over an active one. The remote's tip wins over the one here, because no push can force the remote.
 */
export async function reconcileThread(sides: ThreadSides, lineage: Lineage): Promise<Reconciled> {
  const { here, claims, isNamed, isRunning } = sides;
  const isClaimed = claims.some(({ isOurs }) => isOurs);
  const isRemovedThere = sides.isRemovedThere && !isNamed;
  if (!isNamed && here.length === 0 && !isClaimed && (sides.isRemovedHere || isRemovedThere)) return unchanged;
  if (isRemovedThere && !isClaimed) return removeSeen(sides, lineage);
  const there = isRemovedThere ? [] : sides.there;
  const tips = [...there, ...here, ...claims.map(({ tip }) => tip)];
  const target = await choose(tips, lineage, sides.remoteWins === true && there.length > 0);
  if (target === undefined) return unchanged;
  const edits = moveTo(sides, target);
  if (isRunning && edits.some(({ expected }) => expected !== null)) {
    return hold('a process works on it here, and the remote has it at another commit');
  }
  const left: ForkClaim[] = [];
  for (const id of new Set(tips.map((tip) => tip.id))) {
    if (!(await isLeftOut(id, target.id, lineage))) continue;
    const endedOn = tips.find((tip) => tip.id === id && tip.endedOn !== undefined)?.endedOn;
    const isOurs = here.some((tip) => tip.id === id) || claims.some((claim) => claim.tip.id === id && claim.isOurs);
    left.push({ fork: await lineage.forkId(sides.thread, id), tip: { id, endedOn }, of: sides.thread, isOurs });
  }
  const change = await describeMove(sides.thread, here[0], target, lineage.relate);
  const of = change?.change === 'new' ? claims.find(({ tip }) => tip.id === target.id)?.of : undefined;
  const forked = of === undefined ? {} : { change: 'forked' as const, of };
  return { edits, claims: left, ...(change && { change: { ...change, ...forked } }) };
}

/**
 * Chooses from tips in order of precedence: the first end; else the first active tip, or a descendant of it.
 * @param isFirstKept whether an end counts only if it is the first tip or follows it
 */
async function choose(tips: readonly Tip[], lineage: Lineage, isFirstKept: boolean): Promise<Tip | undefined> {
  const end = tips.find(({ endedOn }) => endedOn !== undefined);
  if (end !== undefined && !isFirstKept) return end;
  let [target] = tips;
  for (const tip of tips.slice(1)) {
    if (target && (await lineage.relate(target.id, tip.id)).kind === 'behind') target = tip;
  }
  return target;
}

async function isLeftOut(tip: ObjectId, target: ObjectId, { relate }: Lineage): Promise<boolean> {
  const { kind } = await relate(tip, target);
  return kind === 'ahead' || kind === 'diverged';
}

function moveTo({ thread, here }: ThreadSides, target: Tip): RefEdit[] {
  const name = refOfTip(thread, target);
  const edits = here
    .map((tip): RefEdit => deletionOf(thread, tip))
    .map((edit) => (edit.name === name ? { ...edit, value: target.id } : edit))
    .filter(({ expected, value }) => expected !== value);
  const isThere = here.some((tip) => tip.endedOn === target.endedOn);
  return isThere ? edits : [{ name, expected: null, value: target.id }, ...edits];
}

/**
 * Describes a move of a thread's ref; `undefined` if the thread itself does not change.
 * @param relate as {@link Lineage}; it may not know the relation
 */
export async function describeMove(
  thread: ThreadId,
  before: Tip | undefined,
  after: Tip,
  relate: (one: ObjectId, other: ObjectId) => Promise<Relation | undefined>,
): Promise<ThreadChange | undefined> {
  const at = { thread, head: after.id, before: before?.id ?? null };
  if (before === undefined) return { ...at, change: 'new' };
  const hasEnded = after.endedOn !== undefined && before.endedOn === undefined;
  // An interrupted ending leaves the active ref; to delete it changes nothing of the thread.
  if (before.id === after.id && !hasEnded) return undefined;
  const relation = await relate(before.id, after.id);
  const commits = relation?.kind === 'behind' ? { commits: relation.by } : {};
  return { ...at, change: hasEnded ? 'ended' : 'forward', ...commits };
}

/** Leaves a thread as it is, because a person has to decide. */
export function hold(reason: string): Reconciled {
  return { edits: [], claims: [], held: reason };
}

function removeRefs({ thread, here }: Pick<ThreadSides, 'thread' | 'here'>): Reconciled {
  const edits = here.map((tip) => deletionOf(thread, tip));
  return { edits, claims: [], change: { thread, change: 'removed', head: null, before: here[0]?.id ?? null } };
}

/** Removes a thread that was removed at the remote, if the remote had all of its commits. */
async function removeSeen(sides: ThreadSides, { relate }: Lineage): Promise<Reconciled> {
  const { thread, here, seen, isRunning } = sides;
  if (here.length === 0) return unchanged;
  for (const tip of here) {
    const relations = await Promise.all(seen.map(({ id }) => relate(tip.id, id)));
    if (!relations.some(({ kind }) => kind === 'same' || kind === 'behind')) {
      const remedy = `'uwf thread rm ${thread}' removes it here, too`;
      return hold(`it was removed at the remote, and has steps here that were never there; ${remedy}`);
    }
  }
  return isRunning ? hold('it was removed at the remote, and a process works on it here') : removeRefs(sides);
}

/** Answers from the commits of a repository, and remembers the answers. */
export function createLineage(objects: Pick<ObjectStore, 'read'>): Lineage {
  const known = new Map<string, Relation>();
  return {
    async relate(one: ObjectId, other: ObjectId): Promise<Relation> {
      const question = `${one} ${other}`;
      const relation = known.get(question) ?? (await relateTips(objects, one, other));
      known.set(question, relation);
      return relation;
    },
    async forkId(thread, tip) {
      const { committer } = await readCommit(objects, tip);
      return forkIdFor(thread, tip, committer.atMs);
    },
  };
}

/** The relation of one commit to another of the same thread; `by` counts the commits that only one of them has. */
export type Relation = { kind: 'same' | 'diverged' } | { kind: 'behind' | 'ahead'; by: number };

/**
 * Returns the relation of two commits of a thread: `behind` if the first is an ancestor of the second, `ahead` if it is a
 * descendant, else `diverged`.
 *
 * A step that was replaced by a poke counts as an ancestor. Walks back from both commits at once until the walks meet, so
 * the cost depends on their difference, not on their common history. Reads commits only.
 */
export async function relateTips(objects: ObjectReader, one: ObjectId, other: ObjectId): Promise<Relation> {
  if (one === other) return { kind: 'same' };
  const here = new WayBack(objects, one);
  const there = new WayBack(objects, other);
  for (;;) {
    // The second commit first: in most cases it descends from the first.
    const fromThere = await there.next();
    if (there.passed.has(one)) return { kind: 'behind', by: there.countTo(one) };
    if (fromThere !== undefined && here.passed.has(fromThere)) return { kind: 'diverged' };
    const fromHere = await here.next();
    if (here.passed.has(other)) return { kind: 'ahead', by: here.countTo(other) };
    if (fromHere !== undefined && there.passed.has(fromHere)) return { kind: 'diverged' };
    if (fromHere === undefined && fromThere === undefined) return { kind: 'diverged' };
  }
}

/** A walk along first parents that also notes the commits which were replaced. */
class WayBack {
  /** Every commit that was passed or replaced, and the next one, with the number of commits after it. */
  readonly passed: Map<ObjectId, number> = new Map();
  readonly #objects: ObjectReader;
  #at: ObjectId | undefined;
  #length = 0;

  constructor(objects: ObjectReader, tip: ObjectId) {
    this.#objects = objects;
    this.#at = tip;
  }

  async next(): Promise<ObjectId | undefined> {
    const id = this.#at;
    if (id === undefined) return undefined;
    const commit = await readCommit(this.#objects, id);
    this.passed.set(id, this.#length);
    this.#length += 1;
    await this.#noteReplaced(commit);
    const [previous] = commit.parents;
    this.#at = previous;
    if (previous !== undefined && !this.passed.has(previous)) this.passed.set(previous, this.#length);
    return id;
  }

  countTo(id: ObjectId): number {
    return this.passed.get(id) ?? 0;
  }

  /** A replaced commit is a further parent with the same first parent; children and linked commits have another. */
  async #noteReplaced({ parents: [previous, ...further] }: Commit): Promise<void> {
    if (previous === undefined) return;
    for (const id of further) {
      if (this.passed.has(id)) continue;
      const commit = await readCommit(this.#objects, id);
      if (commit.parents[0] !== previous) continue;
      this.passed.set(id, this.#length);
      await this.#noteReplaced(commit);
    }
  }
}

/** The registry of a workflow after a fetch, and what became of it. The objects of `batch` are still to be written. */
type JoinedRegistry = { kind: 'new' | 'forward' | 'joined'; head: ObjectId; batch?: ObjectBatch };

/**
 * Merges two registries of one workflow; `undefined` if the one here has everything.
 *
 * Diverged registries are merged by a registration with both as parents, the remote's first. It takes its definition, author
 * and time from the newer one, so two machines that merge the same registries make the same commit.
 */
export async function joinRegistrations(
  objects: ObjectStore,
  here: ObjectId | undefined,
  there: ObjectId,
): Promise<JoinedRegistry | undefined> {
  if (here === undefined) return { kind: 'new', head: there };
  if (await leadsTo(objects, here, there)) return undefined;
  if (await leadsTo(objects, there, here)) return { kind: 'forward', head: there };
  const ours = await readCommit(objects, here);
  const theirs = await readCommit(objects, there);
  // The first registration here is the same definition: no version is lost.
  if (ours.tree === theirs.tree && ours.parents.length === 0) return { kind: 'forward', head: there };
  const { tree, message, committer } = isNewer(ours, here, theirs, there) ? ours : theirs;
  const batch = new ObjectBatch(objects.format);
  const parents = [there, here];
  return { kind: 'joined', head: batch.addCommit({ tree, parents, author: committer, committer, message }), batch };
}

/** Tells whether a registration is an ancestor of another. Reads all history: registries are short. */
export async function leadsTo(objects: ObjectReader, from: ObjectId, wanted: ObjectId): Promise<boolean> {
  const waiting = [from];
  for (const id of eachOnce(waiting)) {
    if (id === wanted) return true;
    waiting.push(...(await readCommit(objects, id)).parents);
  }
  return false;
}

function isNewer(one: Commit, oneId: ObjectId, other: Commit, otherId: ObjectId): boolean {
  if (one.committer.atMs !== other.committer.atMs) return one.committer.atMs > other.committer.atMs;
  return oneId > otherId;
}

/**
 * Goes through what waits, each once and the last first. Its caller adds what follows to `waiting`.
 * @param passed what it leaves out; it adds all that it goes through
 */
export function* eachOnce<T>(waiting: T[], passed: Set<T> = new Set()): Generator<T, void, void> {
  for (let one = waiting.pop(); one !== undefined; one = waiting.pop()) {
    if (passed.has(one)) continue;
    passed.add(one);
    yield one;
  }
}
