import type { CommitLine } from '../../git/process/list-commits.ts';
import type { PushEdit } from '../../git/transport/remote.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { SecretPlace } from '../../thread/secret-scan.ts';
import type { RefName } from '../../git/ref-store.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { describeMove, type Lineage } from '../reconcile/reconcile-thread.ts';
import type { Relation } from '../reconcile/relate-tips.ts';
import type { ThreadChange } from '../report.ts';
import { deletionOf, refOfTip, type Tip } from '../refs/sorted-refs.ts';

/** What a push knows of one thread. */
export type OfferSides = {
  thread: ThreadId;
  here: Tip;
  /** The remote's refs of the thread, as far as they are known. Their commits may be missing here. */
  there: readonly Tip[];
  /** What became of a thread that has a removal mark, at the remote or here: it is not pushed. */
  removed?: 'removed at the remote' | 'redacted here' | undefined;
};

/** Answers questions about commits. A relation is `undefined` if the remote's commit is missing here. */
export type OfferLineage = {
  relate: (theirs: ObjectId, ours: ObjectId) => Promise<Relation | undefined>;
  forkId: Lineage['forkId'];
};

/** What a push does with one thread. */
export type Offer = {
  thread: ThreadId;
  edits: PushEdit[];
  /** The active ref of a thread that has ended there, or does with this push: readers take what has both refs as ended. */
  spare?: RefName;
  change?: ThreadChange;
  /** Forks that keep the commits which these edits drop: the remote has to have them, or this push has to create them. */
  needs: ThreadId[];
  /** Why the thread is not pushed. */
  held?: string;
  /** Commits of the user's code that the push would publish. */
  commits?: CommitLine[];
  /** Places of secrets that the push would publish. */
  secrets?: SecretPlace[];
  /** The threads whose starts the push would send: its own, those of its callers and of its children. */
  alongside?: ThreadId[];
  /** True if the thread is held because it is not sound. */
  isUnsound?: true;
};

const FETCH_FIRST = 'the remote has steps of it that are not here; fetch first';

/**
 * Plans which refs of a remote change so that it has a thread as it is here. No ref is forced: if the remote has a commit
 * that the thread here does not descend from, the thread is held until a fetch reconciles both.
 *
 * Every edit names the value that the ref was seen to have, so that a push does not revive a thread which has ended there.
 */
export async function offerThread(sides: OfferSides, lineage: OfferLineage): Promise<Offer> {
  const { thread, here, there, removed } = sides;
  const offer: Offer = { thread, edits: [], needs: [] };
  if (removed !== undefined) {
    return { ...offer, held: `it was ${removed}; 'uwf thread rm ${thread}' removes it here, too` };
  }
  const archived = there.find(({ isArchived }) => isArchived);
  if (archived !== undefined) {
    const kind = (await lineage.relate(archived.id, here.id))?.kind;
    return kind === 'same' || kind === 'ahead' ? offer : { ...offer, held: FETCH_FIRST };
  }
  const name = refOfTip(thread, here);
  const same = there.find(({ endedOn }) => endedOn === here.endedOn);
  const others = there.filter((tip) => tip !== same);
  const deletions: PushEdit[] = [];
  for (const tip of others) {
    const relation = await lineage.relate(tip.id, here.id);
    const isBehind = relation?.kind === 'same' || relation?.kind === 'behind';
    if (here.endedOn === undefined) return relation?.kind === 'ahead' ? offer : { ...offer, held: FETCH_FIRST };
    // Of several ends, the one whose ref sorts first keeps the id, on both sides.
    const isOurs = tip.endedOn === undefined || here.endedOn < tip.endedOn;
    if (relation === undefined || !isOurs) return { ...offer, held: FETCH_FIRST };
    if (!isBehind) offer.needs.push(await lineage.forkId(thread, tip.id));
    const isOnTheWay = relation.kind === 'behind' && tip.endedOn === undefined;
    deletions.push({ ...deletionOf(thread, tip), ...(isOnTheWay && { via: here.id }) });
  }
  const relation = same && (await lineage.relate(same.id, here.id));
  if (same && relation?.kind === 'ahead') return offer;
  if (same && relation?.kind !== 'same' && relation?.kind !== 'behind') return { ...offer, held: FETCH_FIRST };
  // Also where the remote has the end already: it may have lost it since it was seen.
  if (relation?.kind !== 'same' || deletions.length > 0)
    offer.edits.push({ name, value: here.id, expected: same?.id ?? null });
  offer.edits.push(...deletions);
  if (offer.edits.length === 0) return offer;
  const active = others.find(({ endedOn }) => endedOn === undefined);
  if (active !== undefined) offer.spare = refOfTip(thread, active);
  const change = await describeMove(thread, same ?? others[0], here, lineage.relate);
  return { ...offer, ...(change && { change }) };
}
