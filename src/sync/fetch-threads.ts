import { UwfError } from '../errors.ts';
import type { ObjectId } from '../git/format/object-id.ts';
import { BrokenRef, type RefDamage } from '../git/format/errors.ts';
import type { ObjectStore, RefEdit, Repository } from '../git/repository.ts';
import { againIfMoved, ObjectBatch, publish } from '../git/stores/publish.ts';
import { RemoteUnreachable } from '../git/transport/git-output.ts';
import type { IncomingObjects, Remote, RemoteRef } from '../git/transport/remote.ts';
import { inPlaceOf } from '../or-else.ts';
import {
  type ArchivedThread,
  ArchiveList,
  findListFault,
  openArchive,
  pointerOfArchived,
} from '../thread/archive-list.ts';
import { archiveThreads, ENDS_PREFIX, takeOut } from '../thread/archive-threads.ts';
import { threadOfDamage } from '../thread/find-thread.ts';
import {
  forgetRemoved,
  listRemoved,
  makeRemovalMark,
  rememberRemoved,
  type RemovedThreads,
} from '../thread/remove-thread.ts';
import { faultOf } from '../thread/thread-errors.ts';
import type { ThreadId, ThreadPointer } from '../thread/thread-id.ts';
import {
  boundedObjects,
  checkIncoming,
  INCOMING_LIMITS,
  type IncomingTip,
  incomingView,
} from '../verify/check-incoming.ts';
import { readClaim } from './claims.ts';
import { type FetchFacts, type FetchPart, planFetch, resolve, type Selection, selectRefs } from './plan-fetch.ts';
import { relateTips } from './reconcile-thread.ts';
import { type FetchReport, type Refusal, Refusals, type SyncOptions } from './report.ts';
import {
  listSharedRefs,
  MAX_TOGETHER,
  openArchiveThere,
  parseSharedRef,
  readSortedRefs,
  readTracked,
  refOfTip,
  refsOf,
  type SharedRef,
  type SortedRefs,
  sortRefs,
  ThreadNotThere,
  type Tip,
  updateTracking,
} from './shared-refs.ts';

/** How often a fetch is planned again because another process moved a ref. */
const MAX_TRIES = 20;

/** A fetch that creates more refs than this packs them: each is a file of its own until then. */
const MAX_LOOSE_REFS = 1_000;

/** The report of a fetch, and the remote's refs: those that were asked for, and all as they were known before. */
export type Fetched = { report: FetchReport; there: readonly RemoteRef[]; known: readonly RemoteRef[] };

/**
 * Fetches threads and workflows from a remote, checks them, and moves this repository's refs forward.
 *
 * No object of a thread that fails a check enters the repository; the other threads are fetched. If a thread has diverged,
 * a fork keeps one side: no step of this repository is lost.
 * @throws {RemoteUnreachable} if the remote cannot be reached, or the connection broke; nothing is changed then
 * @throws {ThreadNotThere} {UwfError} `ambiguous-thread` if a named thread is unknown or ambiguous
 * @throws {RefMoved} {RefLocked} {StorageFull} {StorageReadOnly} as the stores do; threads that were done by then stay
 */
export async function fetchThreads(
  { repository }: { repository: Repository },
  remote: Remote,
  options: SyncOptions = {},
): Promise<FetchReport> {
  return (await fetchFrom(repository, remote, options)).report;
}

/**
 * Fetches as {@link fetchThreads}, and returns the remote's refs for the push that follows.
 * @param mayBeMissing true if the remote may lack a named thread
 */
export async function fetchFrom(
  repository: Repository,
  remote: Remote,
  options: SyncOptions,
  mayBeMissing = false,
): Promise<Fetched> {
  const selection = await selectRefs(remote, options, mayBeMissing);
  const fetched = await fetchSelection(repository, remote, selection, options);
  await fetchArchived(repository, remote, { ...fetched, selection, mayBeMissing }, options);
  if (remote.isConfigured) {
    const isAsked = ([thread, tips]: [ThreadId, Tip[]]): boolean =>
      tips.every((tip) => selection.covers(refOfTip(thread, tip)));
    const seen = [...sortRefs(fetched.known).threads].filter(isAsked).map(([thread]) => thread);
    const gone = await findVanished(repository, remote, seen, fetched.there, options);
    if (gone.length > 0) fetched.report.gone = gone;
  }
  return fetched;
}

export async function fetchSelection(
  repository: Repository,
  remote: Remote,
  selection: Selection,
  options: SyncOptions,
): Promise<Fetched> {
  const { name, url } = remote;
  const report: FetchReport = { remote: name, url, threads: [], workflows: [], refused: [], held: [] };
  if (selection.refs.length === 0) return { report, there: [], known: [] };
  const here = await readSortedRefs(repository);
  const removed = [...(await listRemoved(repository))].filter(([thread]) => !here.threads.has(thread));
  const except = removed.flatMap(([thread, refs]) => (selection.named.has(thread) ? [] : refs));
  // A remote without a name has no tracking refs. Refs of the same name here often have the same value there.
  const known = remote.isConfigured ? refsOf(await readTracked(repository, remote)) : await listSharedRefs(repository);
  const { signal, onProgress } = options;
  const incoming = await remote.fetch({ refs: selection.refs, known, except, signal, onProgress });
  try {
    await take(repository, remote, selection, incoming, report, options);
  } finally {
    await incoming.discard();
  }
  for (const thread of selection.named) forgetRemoved(repository, thread);
  const created = [...report.threads, ...report.workflows].filter(({ before }) => before === null);
  if (created.length > MAX_LOOSE_REFS) await tryToPackRefs(repository, options);
  return { report, there: incoming.refs, known };
}

/**
 * Does what follows from the archive of a remote: archives ended threads here too, fetches the ends of active and of named
 * threads, and drops from the archive here what the remote has removed.
 */
async function fetchArchived(
  repository: Repository,
  remote: Remote,
  { selection, report, there: refs, known, mayBeMissing }: Fetched & { selection: Selection; mayBeMissing: boolean },
  options: SyncOptions,
): Promise<void> {
  const { objects } = repository;
  const there = sortRefs(refs);
  const before = sortRefs(known);
  const listBefore = new ArchiveList(objects, before.archive);
  const hadSeen = async ({ id, end }: ArchivedThread): Promise<boolean> =>
    (before.threads.get(id) ?? []).some((tip) => tip.id === end) || (await listBefore.find(id))?.end === end;
  for (const { id: thread, end } of await dropFromArchive(repository, there, hadSeen))
    report.threads.push({ thread, change: 'removed', head: null, before: end });
  // A list that was refused is not here, or is something else.
  if (there.archive === undefined || !(await objects.has(there.archive))) return;
  const { list, fault } = await openArchiveThere(repository, remote, refs, options);
  if (fault !== undefined) return;
  const what = { remote: remote.name, mayBeMissing };
  const { ended, wanted, named } = await compareWithArchive(repository, list, there, selection, what);
  const archived = await archiveThreads(repository, ended, options);
  if (archived.length > 0) report.archived = archived.map(({ id }) => id);
  const elsewhere = wanted.filter(({ place }) => place !== undefined);
  for (const { id: thread, place } of elsewhere) report.held.push({ thread, reason: `it is archived at ${place}` });
  const tips = wanted.filter(({ place }) => place === undefined).map(pointerOfArchived);
  if (tips.length > 0) await fetchEnds(repository, remote, { tips, named }, report, options);
  for (const thread of named) forgetRemoved(repository, thread);
}

/** Fetches archived threads by the ids of their ends, and takes them in as if the remote had their history refs. */
async function fetchEnds(
  repository: Repository,
  remote: Remote,
  { tips, named }: { tips: readonly ThreadPointer[]; named: ReadonlySet<ThreadId> },
  report: FetchReport,
  { signal, onProgress }: SyncOptions,
): Promise<void> {
  const refs = tips.map(({ ref, head }): RemoteRef => ({ name: ref, id: head }));
  const request = { signal, onProgress };
  // A host that gives no commit by its id gives the whole archive.
  const incoming = await remote
    .fetch({ ...request, refs: refs.map(({ name }) => name), ids: refs.map(({ id }) => id) })
    .catch(inPlaceOf(RemoteUnreachable, undefined))
    .then((some) => some ?? remote.fetch({ ...request, refs: [`${ENDS_PREFIX}*`] }));
  const part: FetchReport = { ...report, threads: [], workflows: [], refused: [], held: [] };
  try {
    const selection = { refs: [], named, unknown: [], covers: () => false };
    await take(repository, remote, selection, { ...incoming, refs }, part, { signal, onProgress });
  } finally {
    await incoming.discard();
  }
  report.threads.push(...part.threads);
  report.refused.push(...part.refused);
  report.held.push(...part.held);
}

async function take(
  repository: Repository,
  remote: Remote,
  selection: Selection,
  incoming: IncomingObjects,
  report: FetchReport,
  options: SyncOptions,
): Promise<void> {
  const removed = await listRemoved(repository);
  const damagedThreads = new Set<ThreadId>();
  const damaged = (damage: RefDamage): void => {
    if (!(damage instanceof BrokenRef)) throw damage;
    const id = threadOfDamage(damage);
    if (id !== undefined) damagedThreads.add(id);
  };
  const here = await readSortedRefs(repository, { damaged });
  const expectations = { here, removed, named: selection.named, damaged: damagedThreads };
  const { refs: accepted, refused } = await receiveRefs(repository, incoming, expectations, options);
  report.refused = refused;
  options.signal?.throwIfAborted();
  const known = new Set((await repository.refs.list('refs/')).map(({ id }) => id));
  const news = new Set(accepted.map(({ id }) => id).filter((id) => !known.has(id)));
  const guard = await incoming.accept([...news]);
  try {
    const namesThere = new Set(incoming.refs.map(({ name }) => name));
    const facts = { remote, accepted, namesThere, selection, removed, remoteWins: options.remoteWins };
    await apply(repository, facts, report);
  } finally {
    await guard.release();
  }
}

/** Carries out the plan. If another process has moved a ref, plans the rest again. */
async function apply(repository: Repository, facts: FetchFacts, report: FetchReport): Promise<void> {
  const { refused } = report;
  await againIfMoved(MAX_TRIES, async () => {
    const plan = await planFetch(repository, facts);
    report.held = plan.held;
    report.refused = [...refused, ...plan.refused];
    await applyParts(repository, plan.forks, report);
    await applyParts(repository, plan.parts, report);
    await updateTracking(repository, plan.tracking);
  });
}

async function applyParts(repository: Repository, parts: readonly FetchPart[], report: FetchReport): Promise<void> {
  for (let at = 0; at < parts.length;) {
    const group: FetchPart[] = [];
    const batch = new ObjectBatch(repository.objects.format);
    const edits: RefEdit[] = [];
    for (; at < parts.length && edits.length < MAX_TOGETHER; at += 1) {
      const part = parts[at];
      if (part === undefined) break;
      group.push(part);
      edits.push(...part.edits);
      for (const object of part.batch?.objects ?? []) batch.add(object);
    }
    await publish(repository, batch, edits);
    for (const { thread, workflow } of group) {
      if (thread) report.threads.push(thread);
      if (workflow) report.workflows.push(workflow);
    }
  }
}

/**
 * Packs the refs of the repository into one file, as `git gc` does, because a thousand loose refs make every listing slow.
 * Other processes can read and change refs meanwhile.
 * Source: git-pack-refs(1).
 */
async function tryToPackRefs({ location }: Repository, { env }: SyncOptions): Promise<void> {
  if (location === undefined || env === undefined) return;
  const { runGit } = await import('../git/process/run-git.ts');
  // There is no git, or another process holds the lock. Packing is optional.
  await runGit({ location, env, args: ['pack-refs', '--all'] }).catch(inPlaceOf(UwfError, undefined));
}

/**
 * Finds threads of this repository of which a remote does not say what became of them: it has no ref of the thread, no line in
 * its archive, and no mark of a removal.
 * @param threads threads that the remote had when it was last seen
 * @param refs all its refs of threads now, with the marks and the archive
 */
export async function findVanished(
  repository: Repository,
  remote: Remote,
  threads: readonly ThreadId[],
  refs: readonly RemoteRef[],
  options: Pick<SyncOptions, 'signal' | 'onProgress'>,
): Promise<ThreadId[]> {
  const there = sortRefs(refs);
  const missing = threads.filter((thread) => !there.threads.has(thread) && !there.removed.has(thread));
  if (missing.length === 0) return [];
  const here = await readSortedRefs(repository);
  const { list } = await openArchiveThere(repository, remote, refs, options);
  const gone: ThreadId[] = [];
  for (const thread of missing)
    if (here.threads.has(thread) && (await list.find(thread)) === undefined) gone.push(thread);
  return gone;
}

/** The remote's refs that this repository may take over, and those that it refuses. */
type Received = { refs: RemoteRef[]; refused: Refusal[] };

/** What is known before the fetched objects are checked. */
type Expectations = {
  here: SortedRefs;
  removed: RemovedThreads;
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
async function receiveRefs(
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

/** What a fetch does with the threads that a remote has archived. */
type ArchivedNews = {
  /** Ended threads of this repository that have the same end there. */
  ended: ThreadPointer[];
  /** Threads whose ends are to be fetched: those that the user named, and those that are active here. */
  wanted: ArchivedThread[];
  /** Ids that the user named and that the remote has archived. */
  named: Set<ThreadId>;
};

/**
 * Compares the threads of this repository that no ref of the remote has with the remote's archive.
 * @param mayBeMissing true if the remote may lack a named thread
 */
async function compareWithArchive(
  repository: Repository,
  list: ArchiveList,
  there: SortedRefs,
  { named, unknown }: Selection,
  { remote, mayBeMissing }: { remote: string; mayBeMissing: boolean },
): Promise<ArchivedNews> {
  const news: ArchivedNews = { ended: [], wanted: [], named: new Set() };
  const own = await openArchive(repository);
  const here = await readSortedRefs(repository);
  for (const text of unknown) {
    const found = new Map<ThreadId, ArchivedThread>();
    for await (const line of list.startingWith(text.toUpperCase())) {
      if (found.set(line.id, line).size === 2) break;
    }
    const id = resolve(text, found.keys());
    const line = id && found.get(id);
    if (line === undefined && !mayBeMissing) throw new ThreadNotThere(text, remote);
    if (line === undefined) continue;
    news.named.add(line.id);
    const known = await own.find(line.id);
    const isHere = known?.end === line.end && known.place === undefined;
    if (!isHere && !here.threads.get(line.id)?.some(({ id }) => id === line.end)) news.wanted.push(line);
  }
  if (named.size > 0 || unknown.length > 0) return news;
  for (const [id, [tip]] of here.threads) {
    if (tip === undefined || there.threads.has(id)) continue;
    const line = await list.find(id);
    if (line === undefined) continue;
    if (tip.id !== line.end) news.wanted.push(line);
    else if (tip.endedOn === line.endedOn)
      news.ended.push({ id, ref: refOfTip(id, tip), head: tip.id, isHistory: true });
  }
  return news;
}

/**
 * Takes threads out of the archive here that the remote has removed.
 * @param there the remote's refs
 * @param hadSeen tells whether the remote had the end of a thread when it was last seen
 * @returns the threads that were removed
 */
async function dropFromArchive(
  repository: Repository,
  there: SortedRefs,
  hadSeen: (line: ArchivedThread) => Promise<boolean>,
): Promise<ArchivedThread[]> {
  const own = await openArchive(repository);
  const removed: ArchivedThread[] = [];
  for (const id of there.removed.keys()) {
    const line = await own.find(id);
    if (line && (await hadSeen(line))) removed.push(line);
  }
  const gone = removed.map(({ id }) => id);
  if (gone.length > 0) await takeOut(repository, gone, { isRestored: false });
  return removed;
}
