import type { Repository } from '../../git/repository.ts';
import { redactedRef } from '../../thread/secrets/redaction-record.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { leadsTo } from '../reconcile/join-registrations.ts';
import { FETCH_FIRST, type Offer } from './offer-thread.ts';
import type { SortedRefs } from '../refs/sorted-refs.ts';
import type { Redactions } from '../reconcile/redactions.ts';
import { deletionOf } from '../refs/shared-ref.ts';

/** The refs of both sides, and the threads to push: `undefined` for all. */
export type PushSides = {
  here: SortedRefs;
  there: SortedRefs;
  redactions: Redactions;
  scope: ReadonlySet<ThreadId> | undefined;
};

/**
 * Plans which redaction records the remote has to get, and which of its threads are deleted there because the redaction gave
 * them another id.
 */
export async function offerRecords(
  { objects }: Repository,
  { here, there, redactions, scope }: PushSides,
): Promise<Offer[]> {
  const offers: Offer[] = [];
  for (const [thread, value] of here.redacted) {
    const known = there.redacted.get(thread);
    const now = redactions.records.get(thread)?.at(-1)?.thread ?? thread;
    const tips = there.threads.get(thread) ?? [];
    const isRenamed = now !== thread && !here.threads.has(thread);
    if ((scope && !scope.has(now)) || (known === value && !(isRenamed && tips.length > 0))) continue;
    // A remote that does not have the thread needs no record of it.
    if (tips.length === 0 && !here.threads.has(now)) continue;
    const offer: Offer = { thread, edits: [], needs: [] };
    offers.push(offer);
    const isOlder = known === undefined || ((await objects.has(known)) && (await leadsTo(objects, value, known)));
    if (!isOlder || (isRenamed && tips.some(({ id }) => !redactions.isGone(id)))) {
      offer.held = FETCH_FIRST;
      continue;
    }
    if (known !== value) offer.edits.push({ name: redactedRef(thread), value, expected: known ?? null });
    if (!isRenamed) continue;
    for (const tip of tips) offer.edits.push(deletionOf(thread, tip));
    const [first] = tips;
    if (first) offer.change = { thread, change: 'removed', head: null, before: first.id };
  }
  return offers;
}
