import type { EngineContext } from '../engine/context.ts';
import type { ObjectId } from '../git/object-id.ts';
import type { ObjectStore } from '../git/object-store.ts';
import type { IncomingObjects, RemoteRef } from '../git/remote.ts';
import type { Repository } from '../git/repository.ts';
import { readRecord } from '../thread/redaction-record.ts';
import { rememberRemoved, type RemovedThreads } from '../thread/removed-threads.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import { faultOf } from '../thread/verify/finding.ts';
import { boundedObjects } from './bounded-objects.ts';
import { isTrueRedaction } from './check-redaction.ts';
import { checkIncoming, type IncomingTip } from './check-incoming.ts';
import { INCOMING_LIMITS } from './incoming-limits.ts';
import { checkSpines } from './check-spines.ts';
import { Redactions } from './redactions.ts';
import { Refusals } from './refusals.ts';
import type { Refusal } from './report.ts';
import { relateTips } from './relate-tips.ts';
import { makeRemovalMark } from './removal-mark.ts';
import { parseSharedRef, type SharedRef, type Tip } from './shared-ref.ts';
import type { Standing } from './standing.ts';
import type { SyncOptions } from './sync-options.ts';

/** What of the remote's refs may become this repository's. */
export type Received = { refs: RemoteRef[]; refused: Refusal[]; redactions: Redactions };

/** What is known before anything is looked at. */
export type Expectations = {
  here: Standing;
  removed: RemovedThreads;
  /** Threads that were asked for by name. */
  named: ReadonlySet<ThreadId>;
  /** Threads whose refs here cannot be read: nothing is written over them. */
  damaged?: ReadonlySet<ThreadId>;
};

/** What a fetch could not bring is told of all the same; why it could not, only the other side knows. */
const NOT_BROUGHT = 'what it leads to did not come: it is damaged, incomplete or too large there';

type Told = RemoteRef & { ref: SharedRef };

/**
 * Sorts what a remote has into what is taken, what is refused, and what is passed over: threads that were removed here or
 * there, and that nobody asked for.
 *
 * What stands here already, or lies on the way to it, is not checked again; all else is.
 */
export async function receiveRefs(
  context: Pick<EngineContext, 'repository'>,
  incoming: IncomingObjects,
  { here, removed, named, damaged }: Expectations,
  { signal }: SyncOptions,
): Promise<Received> {
  const refusals = new Refusals();
  const mark = makeRemovalMark(context.repository.objects.format).id;
  const told: Told[] = [];
  for (const { name, id } of incoming.refs) {
    const ref = parseSharedRef(name);
    if (typeof ref === 'string') refusals.add(name, ref);
    else if (ref.kind === 'removed' && id !== mark) refusals.add(name, 'what it leads to is not the mark of a removal');
    else told.push({ name, id, ref });
  }
  const marked = new Set(told.flatMap(({ ref }) => (ref.kind === 'removed' ? [ref.thread] : [])));
  const redacted = told.flatMap(({ ref, id }) => (ref.kind === 'redacted' ? [[ref.thread, id] as const] : []));
  const view = viewOf(context.repository, incoming);
  const objects = boundedObjects(view.objects, INCOMING_LIMITS);
  const redactions = await Redactions.read(objects, [...here.redacted, ...redacted]);
  const ours = await Redactions.read(context.repository.objects, here.redacted);
  const wanted = told.filter(({ name, ref, id }) => {
    // What secrets were taken out of here does not come back.
    if (ref.kind === 'thread' && ours.isGone(id)) return false;
    if (ref.kind === 'thread' && damaged?.has(ref.thread)) {
      refusals.add(name, "its ref here is damaged; 'uwf doctor' says how");
      return false;
    }
    if (ref.kind !== 'thread' || here.threads.has(ref.thread) || named.has(ref.thread)) return true;
    const known = removed.get(ref.thread);
    // Next time it need not be sent.
    if (known && !known.includes(name)) rememberRemoved(context.repository, ref.thread, [name]);
    return known === undefined && !marked.has(ref.thread);
  });
  const unchecked: IncomingTip[] = [];
  const absent = new Set<string>();
  const wrongRecords = new Map<string, string>();
  for (const one of wanted) {
    if (await isKnown(objects, one, here)) continue;
    if (one.ref.kind === 'redacted') {
      const wrong = await faultOfRecord(objects, one.id, here.threads.get(one.ref.thread) ?? []);
      if (wrong !== undefined) wrongRecords.set(one.name, wrong);
    } else if (await view.objects.has(one.id)) unchecked.push(tipOf(one));
    else absent.add(one.name);
  }
  const bring = incoming.bring?.bind(incoming);
  const checkOptions = signal ? { signal } : {};
  const verdicts = bring
    ? await checkSpines(context, view, bring, unchecked, checkOptions)
    : await checkIncoming(context, view, unchecked, checkOptions);
  const refs: RemoteRef[] = [];
  for (const { name, id } of wanted) {
    const verdict = verdicts.get(name);
    const wrong = wrongRecords.get(name);
    if (absent.has(name)) refusals.add(name, NOT_BROUGHT);
    else if (wrong !== undefined) refusals.add(name, wrong);
    else if (verdict?.sound === false) refusals.add(name, verdict.reason);
    else refs.push({ name, id });
  }
  const taken = refs.flatMap(({ name, id }) => {
    const ref = parseSharedRef(name);
    return typeof ref !== 'string' && ref.kind === 'redacted' ? [[ref.thread, id] as const] : [];
  });
  const known =
    taken.length === redacted.length ? redactions : await Redactions.read(objects, [...here.redacted, ...taken]);
  return { refs, refused: refusals.list(), redactions: known };
}

/** Tells whether this repository's own refs vouch for a tip: they are the verified set. */
async function isKnown(objects: ObjectStore, { id, ref }: Told, here: Standing): Promise<boolean> {
  if (ref.kind === 'removed') return true;
  if (ref.kind === 'redacted') return here.redacted.get(ref.thread) === id;
  if (ref.kind === 'workflow') return here.workflows.get(ref.workflow) === id;
  for (const tip of here.threads.get(ref.thread) ?? []) {
    if (tip.id === id) {
      if (tip.endedOn === ref.date) return true;
      continue;
    }
    if (ref.date === undefined && (await isBehind(objects, id, tip.id))) return true;
  }
  return false;
}

/** What is wrong with a record; `undefined` if nothing is. */
async function faultOfRecord(objects: ObjectStore, id: ObjectId, here: readonly Tip[]): Promise<string | undefined> {
  try {
    const record = await readRecord(objects, id);
    for (const tip of here) {
      if (!(await isTrueRedaction(objects, record, tip.id)))
        return 'what it says took the place of a thread is another one';
    }
    return undefined;
  } catch (error) {
    const fault = faultOf(error);
    if (fault === undefined) throw error;
    return fault;
  }
}

async function isBehind(objects: ObjectStore, theirs: ObjectId, ours: ObjectId): Promise<boolean> {
  try {
    return (await relateTips(objects, theirs, ours)).kind === 'behind';
  } catch {
    // Something on the way is damaged: checking it says what.
    return false;
  }
}

function tipOf({ name, id, ref }: Told): IncomingTip {
  return {
    ref: name,
    id,
    ...(ref.kind === 'thread' && { thread: { id: ref.thread, isHistory: ref.date !== undefined } }),
    ...(ref.kind === 'workflow' && { workflow: ref.workflow }),
  };
}

/** The repository as it would be with what was brought; nothing can be written to it. */
function viewOf(repository: Repository, incoming: IncomingObjects): Repository {
  const { refs, location, stateDir, committer, now } = repository;
  const objects: ObjectStore = {
    format: repository.objects.format,
    async read(id, options) {
      const object = await incoming.objects.read(id, options);
      // What a light fetch left out before comes when it is needed, unless this one leaves it out as well.
      const isPromised =
        object === undefined && incoming.bring === undefined && repository.objects.prefetch !== undefined;
      return isPromised ? repository.objects.read(id, options) : object;
    },
    has: (id) => incoming.objects.has(id),
    write: () => Promise.reject(new Error('what was brought is looked at, not written to')),
    close: async () => {},
  };
  return { objects, refs, location, stateDir, committer, now, close: async () => {} };
}
