import { ObjectBatch } from '../../git/stores/object-batch.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { RefEdit } from '../../git/ref-store.ts';
import type { Repository } from '../../git/repository.ts';
import { addRecord, joinRecords, readRecord, redactedRef } from '../../thread/secrets/redaction-record.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { leadsTo } from './join-registrations.ts';
import { hold, removeRefs, type Reconciled, type ThreadSides } from './reconcile-thread.ts';
import type { Redactions } from './redactions.ts';

const BEYOND =
  "it goes on from what secrets were taken out of at the remote; take them out here, too ('uwf thread redact'), or remove it";

/**
 * Reconciles a thread that may have been redacted on one side. A redacted commit is replaced by its successor. A thread with
 * steps after a redacted commit is held, for a person to decide. A thread that has another id since its redaction is removed.
 */
export async function reconcileRedacted(
  { objects }: Repository,
  sides: ThreadSides,
  redactions: Redactions,
  reconcile: () => Promise<Reconciled>,
): Promise<Reconciled> {
  const { thread, here, isRunning } = sides;
  for (const { id } of here) if (await redactions.isBeyond(objects, thread, id)) return hold(BEYOND);
  const isGone = here.length > 0 && here.every(({ id }) => redactions.isGone(id));
  const now = redactions.records.get(thread)?.at(-1)?.thread ?? thread;
  if (isGone && now !== thread) {
    if (!isRunning) return removeRefs(sides);
    return hold('secrets were taken out of it at the remote, and a process works on it here');
  }
  const reconciled = await reconcile();
  const { change } = reconciled;
  if (!isGone || change === undefined || change.head === null || redactions.isGone(change.head)) return reconciled;
  const { commits: _, ...rest } = change;
  return { ...reconciled, change: { ...rest, change: 'redacted' } };
}

/** Takes in a redaction record. Two diverged records are merged by one that has both as parents. */
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
  // In a fixed order, so that every machine makes the same commit.
  const [first, second] = here < there ? [here, there] : [there, here];
  const joined = joinRecords(await readRecord(objects, first), await readRecord(objects, second));
  return { edits: [{ name, expected: here, value: addRecord(batch, joined, [here, there]) }], batch };
}
