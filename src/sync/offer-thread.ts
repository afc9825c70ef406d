import type { CommitLine } from '../git/native/list-commits.ts';
import type { PushEdit } from '../git/remote.ts';
import type { ObjectId } from '../git/object-id.ts';
import type { SecretPlace } from '../thread/secrets/secret-scan.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import type { Lineage } from './reconcile-thread.ts';
import type { Relation } from './relate-tips.ts';
import type { ThreadChange } from './report.ts';
import { refOfTip, removedRef, type Tip } from './shared-ref.ts';

/** What is known of a thread that a remote is offered. */
export type OfferSides = {
  thread: ThreadId;
  here: Tip;
  /** What the remote has, as far as is known; its commits may not be here. */
  there: readonly Tip[];
  /** The mark by which the remote says that it was removed. */
  mark: ObjectId | undefined;
  isNamed: boolean;
};

/** What offering asks about commits; a relation is `undefined` if the other commit is not here. */
export type OfferLineage = {
  relate: (theirs: ObjectId, ours: ObjectId) => Promise<Relation | undefined>;
  forkId: Lineage['forkId'];
};

/** What comes of it there. */
export type Offer = {
  thread: ThreadId;
  edits: PushEdit[];
  change?: ThreadChange;
  /** Forks that have to be there before, or to come with the same push: what these edits take away they keep. */
  needs: ThreadId[];
  /** Why it is not pushed. */
  held?: string;
  /** Commits of the user's code that it would publish. */
  commits?: CommitLine[];
  /** Places of secrets that it would publish. */
  secrets?: SecretPlace[];
  /** True if it is held because it is no sound thread. */
  isUnsound?: true;
};

export const FETCH_FIRST = 'the remote has steps of it that are not here; fetch first';

/**
 * Says what of a remote's refs has to change for it to have a thread as it is here. Nothing is forced: where the remote
 * has something that does not lie on the way to what is here, the thread is held until a fetch has seen to that.
 *
 * Every edit names what the remote was seen to have, so that a thread which has ended there since does not come back.
 */
export async function offerThread(sides: OfferSides, lineage: OfferLineage): Promise<Offer> {
  const { thread, here, there, mark, isNamed } = sides;
  const offer: Offer = { thread, edits: [], needs: [] };
  if (mark !== undefined && !isNamed) {
    return { ...offer, held: 'it was removed at the remote; name it to push it nevertheless' };
  }
  const name = refOfTip(thread, here);
  const same = there.find(({ endedOn }) => endedOn === here.endedOn);
  const others = there.filter((tip) => tip !== same);
  const deletions: PushEdit[] = [];
  for (const tip of others) {
    const relation = await lineage.relate(tip.id, here.id);
    const isBehind = relation?.kind === 'same' || relation?.kind === 'behind';
    if (here.endedOn === undefined) return relation?.kind === 'ahead' ? offer : { ...offer, held: FETCH_FIRST };
    // Of several ends the one whose ref is the first by name keeps the id, here as there.
    const isOurs = tip.endedOn === undefined || here.endedOn < tip.endedOn;
    if (relation === undefined || !isOurs) return { ...offer, held: FETCH_FIRST };
    if (!isBehind) offer.needs.push(await lineage.forkId(thread, tip.id));
    deletions.push({ name: refOfTip(thread, tip), value: null, expected: tip.id });
  }
  const relation = same && (await lineage.relate(same.id, here.id));
  if (same && relation?.kind === 'ahead') return offer;
  if (same && relation?.kind !== 'same' && relation?.kind !== 'behind') return { ...offer, held: FETCH_FIRST };
  if (relation?.kind !== 'same') offer.edits.push({ name, value: here.id, expected: same?.id ?? null });
  offer.edits.push(...deletions);
  if (offer.edits.length === 0) return offer;
  if (mark !== undefined) offer.edits.push({ name: removedRef(thread), value: null, expected: mark });
  const change = await describe(sides, same ?? others[0], lineage);
  return { ...offer, ...(change && { change }) };
}

async function describe(
  { thread, here }: OfferSides,
  before: Tip | undefined,
  lineage: OfferLineage,
): Promise<ThreadChange | undefined> {
  const at = { thread, head: here.id, before: before?.id ?? null };
  if (before === undefined) return { ...at, change: 'new' };
  const hasEnded = here.endedOn !== undefined && before.endedOn === undefined;
  // What an ending that was cut in two had left there goes, and the thread is where it was.
  if (before.id === here.id && !hasEnded) return undefined;
  const relation = await lineage.relate(before.id, here.id);
  const commits = relation?.kind === 'behind' ? { commits: relation.by } : {};
  return { ...at, change: hasEnded ? 'ended' : 'forward', ...commits };
}
