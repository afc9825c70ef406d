import type { ObjectId } from '../git/object-id.ts';
import type { RefEdit } from '../git/ref-store.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import type { Relation } from './relate-tips.ts';
import type { ThreadChange } from './report.ts';
import { refOfTip, type Tip } from './shared-ref.ts';

/** What reconciling asks about commits; handed in, so that it can be told what it likes. */
export type Lineage = {
  relate: (one: ObjectId, other: ObjectId) => Promise<Relation>;
  /** The id of the fork that keeps a tip which a thread cannot take in; the same on every machine. */
  forkId: (thread: ThreadId, tip: ObjectId) => Promise<ThreadId>;
};

/** A tip that a thread could not take in, for the fork that keeps it. */
export type Claim = {
  fork: ThreadId;
  tip: Tip;
  of: ThreadId;
  /** True if a ref of this repository leads to it, and would no longer. */
  isOurs: boolean;
};

/** What is known of one thread, the tips of each side in the order of a `Standing`. */
export type ThreadSides = {
  thread: ThreadId;
  here: readonly Tip[];
  there: readonly Tip[];
  /** Tips that other threads could not take in and that this one, as a fork, keeps. */
  claims: readonly Claim[];
  /** Where the remote was seen to have it before. */
  seen: readonly Tip[];
  /** This machine removed it. */
  isRemovedHere: boolean;
  /** The remote says that it was removed. */
  isRemovedThere: boolean;
  /** It was asked for by name, which counts more than that it was removed. */
  isNamed: boolean;
  /** Somebody works on it on this machine. */
  isRunning: boolean;
};

/** What comes of it here: edits that are made together, after the refs of the claims are there. */
export type Reconciled = {
  edits: RefEdit[];
  change?: ThreadChange;
  /** Tips that it could not take in. */
  claims: Claim[];
  /** Why it stays as it is. */
  held?: string;
};

const unchanged: Reconciled = { edits: [], claims: [] };

/**
 * Says what becomes of a thread here, given where it is at a remote. Nothing is forced and nothing is dropped: what does
 * not lie on the way to where the thread is afterwards becomes a fork.
 *
 * An end counts more than what is active, and what the remote has more than what is here, since that cannot be forced.
 */
export async function reconcileThread(sides: ThreadSides, lineage: Lineage): Promise<Reconciled> {
  const { here, claims, isNamed, isRunning } = sides;
  const isClaimed = claims.some(({ isOurs }) => isOurs);
  const isRemovedThere = sides.isRemovedThere && !isNamed;
  if (!isNamed && here.length === 0 && !isClaimed && (sides.isRemovedHere || isRemovedThere)) return unchanged;
  if (isRemovedThere && !isClaimed) return removeSeen(sides, lineage);
  const there = isRemovedThere ? [] : sides.there;
  const tips = [...there, ...here, ...claims.map(({ tip }) => tip)];
  const target = await choose(tips, lineage);
  if (target === undefined) return unchanged;
  const edits = moveTo(sides, target);
  if (isRunning && edits.some(({ expected }) => expected !== null)) {
    return { edits: [], claims: [], held: 'it is being worked on here, and the remote has it elsewhere' };
  }
  const left: Claim[] = [];
  for (const id of new Set(tips.map((tip) => tip.id))) {
    if (!(await isLeftOut(id, target.id, lineage))) continue;
    const endedOn = tips.find((tip) => tip.id === id && tip.endedOn !== undefined)?.endedOn;
    const isOurs = here.some((tip) => tip.id === id) || claims.some((claim) => claim.tip.id === id && claim.isOurs);
    left.push({ fork: await lineage.forkId(sides.thread, id), tip: { id, endedOn }, of: sides.thread, isOurs });
  }
  const change = await describe(sides, target, lineage);
  return { edits, claims: left, ...(change && { change }) };
}

/** Of tips in the order of what they count: the first end, or else the first active one or what follows it. */
async function choose(tips: readonly Tip[], lineage: Lineage): Promise<Tip | undefined> {
  const end = tips.find(({ endedOn }) => endedOn !== undefined);
  if (end !== undefined) return end;
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
    .map((tip): RefEdit => ({ name: refOfTip(thread, tip), expected: tip.id, value: null }))
    .map((edit) => (edit.name === name ? { ...edit, value: target.id } : edit))
    .filter(({ expected, value }) => expected !== value);
  const isThere = here.some((tip) => tip.endedOn === target.endedOn);
  return isThere ? edits : [{ name, expected: null, value: target.id }, ...edits];
}

async function describe(
  { thread, here, claims }: ThreadSides,
  target: Tip,
  lineage: Lineage,
): Promise<ThreadChange | undefined> {
  const [before] = here;
  const at = { thread, head: target.id, before: before?.id ?? null };
  if (before === undefined) {
    const of = claims.find(({ tip }) => tip.id === target.id)?.of;
    return of === undefined ? { ...at, change: 'new' } : { ...at, change: 'forked', of };
  }
  const hasEnded = target.endedOn !== undefined && before.endedOn === undefined;
  if (before.id === target.id && !hasEnded) return undefined;
  const relation = await lineage.relate(before.id, target.id);
  const commits = relation.kind === 'behind' ? { commits: relation.by } : {};
  return { ...at, change: hasEnded ? 'ended' : 'forward', ...commits };
}

/** A thread that the remote says was removed goes here too, if all of it had been there. */
async function removeSeen({ thread, here, seen, isRunning }: ThreadSides, { relate }: Lineage): Promise<Reconciled> {
  const held = (reason: string): Reconciled => ({ edits: [], claims: [], held: reason });
  const [head] = here;
  if (head === undefined) return unchanged;
  for (const tip of here) {
    const relations = await Promise.all(seen.map(({ id }) => relate(tip.id, id)));
    if (!relations.some(({ kind }) => kind === 'same' || kind === 'behind')) {
      return held('it was removed at the remote, and has steps here that were never there');
    }
  }
  if (isRunning) return held('it was removed at the remote, and is being worked on here');
  const edits = here.map((tip): RefEdit => ({ name: refOfTip(thread, tip), expected: tip.id, value: null }));
  return { edits, claims: [], change: { thread, change: 'removed', head: null, before: head.id } };
}
