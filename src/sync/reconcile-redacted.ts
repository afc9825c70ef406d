import { ObjectBatch } from '../git/object-batch.ts';
import type { ObjectId } from '../git/object-id.ts';
import type { RefEdit } from '../git/ref-store.ts';
import type { Repository } from '../git/repository.ts';
import { addRecord, joinRecords, readRecord, redactedRef } from '../thread/redaction-record.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import { leadsTo } from './join-registrations.ts';
import type { Reconciled, ThreadSides } from './reconcile-thread.ts';
import type { Redactions } from './redactions.ts';
import { refOfTip } from './shared-ref.ts';

const BEYOND =
  "it goes on from what secrets were taken out of at the remote; take them out here, too ('uwf thread redact'), or remove it";

/**
 * Says what becomes of a thread that secrets may have been taken out of, here or there: what stands where that was said is
 * replaced, what has gone on from there waits for a person, and what goes by another id since then goes.
 */
export async function reconcileRedacted(
  { objects }: Repository,
  { thread, here, isRunning }: ThreadSides,
  redactions: Redactions,
  reconcile: () => Promise<Reconciled>,
): Promise<Reconciled> {
  const held = (reason: string): Reconciled => ({ edits: [], claims: [], held: reason });
  for (const { id } of here) if (await redactions.isBeyond(objects, thread, id)) return held(BEYOND);
  const [head] = here;
  const isGone = head !== undefined && here.every(({ id }) => redactions.isGone(id));
  const now = redactions.records.get(thread)?.at(-1)?.thread ?? thread;
  if (isGone && now !== thread) {
    if (isRunning) return held('secrets were taken out of it at the remote, and it is being worked on here');
    const edits = here.map((tip): RefEdit => ({ name: refOfTip(thread, tip), expected: tip.id, value: null }));
    return { edits, claims: [], change: { thread, change: 'removed', head: null, before: head.id } };
  }
  const reconciled = await reconcile();
  const { change } = reconciled;
  if (!isGone || change === undefined || change.head === null || redactions.isGone(change.head)) return reconciled;
  const { commits: _, ...rest } = change;
  return { ...reconciled, change: { ...rest, change: 'redacted' } };
}

/** Takes a record in. Two that know nothing of each other are joined by one that comes after both. */
export async function reconcileRecord(
  { objects }: Repository,
  thread: ThreadId,
  here: ObjectId | undefined,
  there: ObjectId,
): Promise<{ edits: RefEdit[]; batch?: ObjectBatch } | undefined> {
  const name = redactedRef(thread);
  if (here === undefined) return { edits: [{ name, expected: null, value: there }] };
  if (await leadsTo(objects, here, there)) return undefined;
  if (await leadsTo(objects, there, here)) return { edits: [{ name, expected: here, value: there }] };
  const batch = new ObjectBatch(objects.format);
  // Whoever joins the same two makes the same of them.
  const [first, second] = here < there ? [here, there] : [there, here];
  const joined = joinRecords(await readRecord(objects, first), await readRecord(objects, second));
  return { edits: [{ name, expected: here, value: addRecord(batch, joined, [here, there]) }], batch };
}
