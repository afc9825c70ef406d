import type { ObjectId } from '../../git/format/object-id.ts';
import type { ObjectStore } from '../../git/object-store.ts';
import type { Repository } from '../../git/repository.ts';
import type { IncomingObjects, RemoteRef } from '../../git/transport/remote.ts';
import { readClaim } from '../claims/claim.ts';
import { Refusals } from '../refusals.ts';
import type { Refusal } from '../report.ts';
import { relateTips } from '../reconcile/relate-tips.ts';
import { parseSharedRef, type SharedRef, type SortedRefs } from '../refs/sorted-refs.ts';
import type { SyncOptions } from '../sync-options.ts';
import { findListFault } from '../../thread/archive/archive-list.ts';
import { faultOf } from '../../thread/thread-errors.ts';
import { makeRemovalMark, rememberRemoved, type RemovedThreads } from '../../thread/remove-thread.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { checkIncoming, type IncomingTip } from '../../verify/incoming/check-incoming.ts';
import { INCOMING_LIMITS, boundedObjects, incomingView } from '../../verify/incoming/incoming-limits.ts';

/** The remote's refs that this repository may take over, and those that it refuses. */
type Received = { refs: RemoteRef[]; refused: Refusal[] };

/** What is known before the fetched objects are checked. */
type Expectations = {
  here: SortedRefs;
  removed: RemovedThreads;
  /** Threads that the user named. */
  named: ReadonlySet<ThreadId>;
  /** Threads whose refs here cannot be read: they are not overwritten. */
  damaged: ReadonlySet<ThreadId>;
};

/** The reason for a ref whose commit did not come. The cause is known at the remote only. */
export const NOT_BROUGHT = 'what it leads to did not come: it is damaged, incomplete or too large there';

type ParsedRef = RemoteRef & { ref: SharedRef };

/**
 * Sorts the remote's refs into those to take over and those to refuse. Threads that were removed here or there are left out,
 * unless the user named them.
 *
 * A tip that a ref here reaches was checked before. Every other tip is checked now.
 */
export async function receiveRefs(
  repository: Repository,
  incoming: IncomingObjects,
  expectations: Expectations,
  { signal, onProgress }: SyncOptions,
): Promise<Received> {
  const { here } = expectations;
  const refusals = new Refusals();
  const parsed = parseRefs(repository, incoming, refusals);
  const view = incomingView(repository, incoming);
  const objects = boundedObjects(view.objects, INCOMING_LIMITS);
  const wanted = selectWanted(repository, parsed, expectations, refusals);
  const unchecked: IncomingTip[] = [];
  const faults = new Map<string, string>();
  for (const one of wanted) {
    if (await isKnown(objects, one, here)) continue;
    if (one.ref.kind === 'archive') {
      const fault = await findListFault(objects, one.id);
      if (fault !== undefined) faults.set(one.name, fault);
    } else if (one.ref.kind === 'claim') {
      if (!(await isClaimOf(objects, one.id, one.ref.thread))) faults.set(one.name, 'it is no claim of a worker');
    } else if (await view.objects.has(one.id)) unchecked.push(tipOf(one));
    else faults.set(one.name, NOT_BROUGHT);
  }
  const { mayLackFiles } = incoming;
  for (const [name, fault] of await checkIncoming(repository, view, unchecked, { mayLackFiles, signal, onProgress }))
    faults.set(name, fault);
  for (const { name } of wanted) {
    const fault = faults.get(name);
    if (fault !== undefined) refusals.add(name, fault);
  }
  const taken = wanted.filter(({ name }) => !faults.has(name));
  return { refs: taken.map(({ name, id }) => ({ name, id })), refused: refusals.list() };
}

function parseRefs(repository: Repository, incoming: IncomingObjects, refusals: Refusals): ParsedRef[] {
  const mark = makeRemovalMark(repository.objects.format).id;
  const parsed: ParsedRef[] = [];
  for (const { name, id } of incoming.refs) {
    const ref = parseSharedRef(name);
    if (typeof ref === 'string') refusals.add(name, ref);
    else if (ref.kind === 'removed' && id !== mark) refusals.add(name, 'what it leads to is not the mark of a removal');
    else parsed.push({ name, id, ref });
  }
  return parsed;
}

/** Leaves out threads that were removed, and threads whose refs here are damaged. */
function selectWanted(
  repository: Repository,
  parsed: readonly ParsedRef[],
  { here, removed, named, damaged }: Expectations,
  refusals: Refusals,
): ParsedRef[] {
  const marked = new Set(parsed.flatMap(({ ref }) => (ref.kind === 'removed' ? [ref.thread] : [])));
  return parsed.filter(({ name, ref }) => {
    if (ref.kind !== 'thread') return true;
    if (damaged.has(ref.thread)) {
      refusals.add(name, "its ref here is damaged; 'uwf doctor' says how");
      return false;
    }
    if (here.threads.has(ref.thread) || named.has(ref.thread)) return true;
    const known = removed.get(ref.thread);
    // The next fetch does not ask for this ref.
    if (known && !known.includes(name)) rememberRemoved(repository, ref.thread, [name]);
    return known === undefined && !marked.has(ref.thread);
  });
}

/** Tells whether a ref of this repository reaches a tip: then it was verified before. */
async function isKnown(objects: ObjectStore, { id, ref }: ParsedRef, here: SortedRefs): Promise<boolean> {
  if (ref.kind === 'removed') return true;
  if (ref.kind === 'claim' || ref.kind === 'archive') return false;
  if (ref.kind === 'workflow') return here.workflows.get(ref.workflow) === id;
  for (const tip of here.threads.get(ref.thread) ?? []) {
    const isReached =
      tip.id === id ? tip.endedOn === ref.date : ref.date === undefined && (await isBehind(objects, id, tip.id));
    if (isReached) return true;
  }
  return false;
}

/** A remote can lead a claim's ref to anything. What is no claim is not brought here. */
async function isClaimOf(objects: ObjectStore, id: ObjectId, thread: ThreadId): Promise<boolean> {
  try {
    return (await readClaim(objects, id))?.thread === thread;
  } catch (error) {
    if (faultOf(error) === undefined) throw error;
    return false;
  }
}

async function isBehind(objects: ObjectStore, theirs: ObjectId, ours: ObjectId): Promise<boolean> {
  // An error means that the history is damaged. The check of the tip says how.
  return (await relateTips(objects, theirs, ours).catch(() => undefined))?.kind === 'behind';
}

function tipOf({ name, id, ref }: ParsedRef): IncomingTip {
  return {
    ref: name,
    id,
    ...(ref.kind === 'thread' && { thread: { id: ref.thread, isHistory: ref.date !== undefined } }),
    ...(ref.kind === 'workflow' && { workflow: ref.workflow }),
  };
}
