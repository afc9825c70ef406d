import type { Repository } from '../git/repository.ts';
import { redactedRef } from '../thread/redaction-record.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import { leadsTo } from './join-registrations.ts';
import { FETCH_FIRST, type Offer } from './offer-thread.ts';
import type { Redactions } from './redactions.ts';
import { refOfTip } from './shared-ref.ts';
import type { Standing } from './standing.ts';

/**
 * Says what a remote has to be told of threads that secrets were taken out of, and which it has under ids that they no longer
 * have: those go there.
 */
export async function offerRecords(
  { objects }: Repository,
  here: Standing,
  there: Standing,
  redactions: Redactions,
  scope: ReadonlySet<ThreadId> | undefined,
): Promise<Offer[]> {
  const offers: Offer[] = [];
  for (const [thread, value] of here.redacted) {
    const known = there.redacted.get(thread);
    const now = redactions.records.get(thread)?.at(-1)?.thread ?? thread;
    const tips = there.threads.get(thread) ?? [];
    const isRenamed = now !== thread && !here.threads.has(thread);
    // Whoever does not have the thread needs no word of what became of it.
    if ((scope && !scope.has(now)) || (known === value && !(isRenamed && tips.length > 0))) continue;
    if (tips.length === 0 && !here.threads.has(now)) continue;
    const offer: Offer = { thread, edits: [], needs: [] };
    offers.push(offer);
    const isOlder = known === undefined || ((await objects.has(known)) && (await leadsTo(objects, value, known)));
    if (!isOlder || (isRenamed && tips.some(({ id }) => !redactions.isGone(id)))) offer.held = FETCH_FIRST;
    else if (known !== value) offer.edits.push({ name: redactedRef(thread), value, expected: known ?? null });
    if (offer.held !== undefined || !isRenamed) continue;
    for (const tip of tips) offer.edits.push({ name: refOfTip(thread, tip), value: null, expected: tip.id });
    const [first] = tips;
    if (first) offer.change = { thread, change: 'removed', head: null, before: first.id };
  }
  return offers;
}
