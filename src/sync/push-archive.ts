import { UwfError } from '../errors.ts';
import type { ObjectId } from '../git/format/object-id.ts';
import { parseRefName } from '../git/format/refs.ts';
import type { Ref, Repository } from '../git/repository.ts';
import { absoluteUrl } from '../git/repository/own-programs.ts';
import { ObjectBatch } from '../git/stores/publish.ts';
import type { PushEdit, Remote, RemoteRef } from '../git/transport/remote.ts';
import {
  addListCommit,
  type ArchivedThread,
  type ArchiveList,
  editList,
  LIST_REF,
  MAX_PLACE,
  openArchive,
  pointerOfArchived,
} from '../thread/archive-list.ts';
import { addEnds, archiveThreads, ENDS_PREFIX, endsRef, withoutEnds } from '../thread/archive-threads.ts';
import { nothingForDataError } from '../thread/thread-errors.ts';
import { dayOfEnd, type ThreadId, type ThreadPointer } from '../thread/thread-id.ts';
import { type NewThreads, presenceAt } from './new-threads.ts';
import { HoldBack, type Offer } from './offer-threads.ts';
import { relateTips } from './reconcile-thread.ts';
import { type Held, type PushReport, Refusals, type SyncOptions, type ThreadChange } from './report.ts';
import {
  type ArchiveThere,
  deletionOf,
  openArchiveThere,
  readSortedRefs,
  readTrackedRef,
  remember,
  SHARED_PATTERNS,
  type SortedRefs,
  sortRefs,
  trackingName,
} from './shared-refs.ts';

const MAX_ROUNDS = 5;

const MOVED = 'others push to the archive at the same time; push again';

/** Only as a tracking ref: the list here, all of which the remote has. */
const SENT_REF = parseRefName('refs/uwf/archive/sent');

type ArchivePush = Required<Pick<PushReport, 'archived' | 'held' | 'rejected'>> & {
  /** The archived threads that the remote had nothing of. */
  threads: ThreadChange[];
};

/**
 * Moves ended threads into the archive of a remote: one push lists them, keeps their ends, and deletes their refs there, each
 * under its expected value. Threads that the remote does not have yet are checked as by any push.
 *
 * Two clones that do so at once both succeed: the push of the later one fails, and is planned again on what is there then.
 * @param which.threads the threads; default: all that are archived here, and it does nothing if the remote had them all before
 * @param which.news has those chosen that are new to the remote; default: all are sent
 * @throws {RemoteUnreachable} if the outcome of the push is unknown; pushing again shows it
 */
export async function pushArchive(
  repository: Repository,
  remote: Remote,
  options: SyncOptions,
  { threads, news }: { threads?: readonly ArchivedThread[]; news?: NewThreads | undefined } = {},
): Promise<ArchivePush> {
  const done: ArchivePush = { archived: [], threads: [], held: [], rejected: [] };
  const here = await repository.refs.read(LIST_REF);
  if (threads === undefined && !(await isDue(repository, remote, here))) return done;
  const { dryRun, signal, onProgress } = options;
  for (let round = 1; ; round += 1) {
    const there = await remote.list([...SHARED_PATTERNS, `${ENDS_PREFIX}*`], signal);
    const archive = await openArchiveThere(repository, remote, there, options);
    if (archive.fault !== undefined) return { ...done, rejected: [{ ref: LIST_REF, reason: archive.fault }] };
    const { edits, batch, archived, fresh, held, isWhole } = await planArchivePush(
      repository,
      remote,
      { there, archive, threads, news },
      options,
    );
    if (dryRun) return { ...done, archived, threads: fresh, held };
    const guard = await repository.objects.write(batch.objects);
    try {
      const results =
        edits.length === 0 ? [] : await remote.push({ edits, there, isForward: true, signal, onProgress });
      const failed = results.filter((result) => 'reason' in result);
      const left = new Set(failed.map(({ name }) => name));
      const made = edits.filter(({ name }) => !left.has(name));
      await remember(repository, remote, made);
      if (failed.length === 0) {
        const isAll = threads === undefined && isWhole && held.length === 0 && here !== undefined;
        if (isAll) await remember(repository, remote, [{ name: SENT_REF, value: here }]);
        return { ...done, archived, threads: fresh, held };
      }
      const refusals = new Refusals();
      for (const { name, outcome, reason } of failed) if (outcome === 'refused') refusals.add(name, reason);
      const rejected = refusals.list().map((refusal) => ({ ...refusal, isRefusedThere: true as const }));
      if (rejected.length > 0) return { ...done, rejected, held };
      if (round === MAX_ROUNDS) return { ...done, held: archived.map((thread) => ({ thread, reason: MOVED })) };
    } finally {
      await guard.release();
    }
  }
}

/** Tells whether something may be here that the remote's archive does not have. */
async function isDue(repository: Repository, remote: Remote, here: ObjectId | undefined): Promise<boolean> {
  const there = await readTrackedRef(repository, remote, LIST_REF);
  const sent = there === undefined ? undefined : await readTrackedRef(repository, remote, SENT_REF);
  return here !== undefined && here !== sent;
}

/** Why a thread stays in the archive of a remote: a commit that keeps its end is written anew only by a clone that has it. */
export const OF_ANOTHER_CLONE =
  'another clone put it into the archive there, and the commits that keep it are not here';

/** The git command that brings these commits, with all that they keep. Nothing of it is checked, so uwf does not run it by itself. */
export function toBringChains({ name, isConfigured, refPrefix = 'refs/' }: Remote): string {
  const there = `${refPrefix}${ENDS_PREFIX.slice('refs/'.length)}*`;
  return `git fetch ${name} '${isConfigured ? `+${there}:${trackingName(name, ENDS_PREFIX)}*` : there}'`;
}

type ArchivePlan = {
  edits: PushEdit[];
  batch: ObjectBatch;
  archived: ThreadId[];
  /** Those of them that the remote had nothing of. */
  fresh: ThreadChange[];
  held: Held[];
  /** Whether none stays here because nobody chose it. */
  isWhole: boolean;
};

type ArchiveFacts = {
  /** All refs of threads and of the archive there. */
  there: readonly RemoteRef[];
  archive: ArchiveThere;
  /** The threads to archive; `undefined`: all that are archived here. */
  threads: readonly ArchivedThread[] | undefined;
  news?: NewThreads | undefined;
};

type Intake = {
  line: ArchivedThread;
  /** Whether its line changes there. */
  isNew: boolean;
  /** Whether the remote knows nothing of the thread. */
  isUnknown: boolean;
  /** Its refs there, which are deleted. */
  deletions: PushEdit[];
  /** Absent if the remote has the commits of the thread. */
  offer?: Offer;
};

/** Compares the archives of both sides, and holds what must not leave this repository. */
async function planArchivePush(
  repository: Repository,
  remote: Remote,
  { there: refs, archive, threads, news }: ArchiveFacts,
  options: SyncOptions,
): Promise<ArchivePlan> {
  const here = await readSortedRefs(repository);
  const there = sortRefs(refs);
  const found: Intake[] = [];
  for await (const line of threads ?? (await openArchive(repository)).startingWith('')) {
    if (here.removed.has(line.id) || there.removed.has(line.id)) continue;
    const intake = await intakeOf(repository, line, there, archive.list);
    if (intake) found.push(intake);
  }
  const withheld = new Set<ThreadId>();
  if (news !== undefined) {
    const heads = new Map(found.flatMap(({ line, isUnknown }) => (isUnknown ? [[line.id, line.end]] : [])));
    for (const id of await news.withhold(heads, presenceAt(there, here, archive.list))) withheld.add(id);
  }
  const intakes = found.filter(({ line }) => !withheld.has(line.id));
  const offers = intakes.flatMap(({ offer }) => (offer ? [offer] : []));
  const listAll = (): Promise<RemoteRef[]> => remote.list(['refs/*'], options.signal);
  await new HoldBack(repository, listAll, options).threads(offers);
  const held = offers.flatMap(({ thread, held: reason, commits, secrets, isUnsound }): Held[] =>
    reason === undefined
      ? []
      : [
          {
            thread,
            reason,
            ...(commits && { commits }),
            ...(secrets?.length && { secrets }),
            ...(isUnsound && { isUnsound }),
          },
        ],
  );
  const taken = intakes.filter(({ offer }) => offer?.held === undefined);
  const changes = await archiveEdits(repository, refs, archive, taken, []);
  const edits = [...changes.edits, ...taken.flatMap(({ deletions }) => deletions)];
  const fresh = taken.flatMap(({ offer }) => offer?.change ?? []);
  const archived = taken.map(({ line }) => line.id);
  return { edits, batch: changes.batch, archived, fresh, held, isWhole: withheld.size === 0 };
}

/** @returns `undefined` if the remote has it archived already, or has steps of it that do not lead to this end */
async function intakeOf(
  repository: Repository,
  line: ArchivedThread,
  there: SortedRefs,
  list: ArchiveList,
): Promise<Intake | undefined> {
  const { id: thread, ref: name, head } = pointerOfArchived(line);
  const tips = there.threads.get(thread) ?? [];
  const known = await list.find(thread);
  if (known !== undefined && known.end !== head) return undefined;
  const isNew = known === undefined || (known.place !== undefined && line.place === undefined);
  if (!isNew && tips.length === 0) return undefined;
  for (const { id } of tips) if (!(await isBehind(repository, id, head))) return undefined;
  const isUnknown = known === undefined && tips.length === 0;
  const deletions = tips.map((tip) => deletionOf(thread, tip));
  const isThere = !isNew || line.place !== undefined || tips.some(({ id }) => id === head);
  if (isThere) return { line, isNew, isUnknown, deletions };
  const change = { thread, change: 'new' as const, head, before: tips[0]?.id ?? null };
  return {
    line,
    isNew,
    isUnknown,
    deletions,
    offer: { thread, edits: [{ name, value: head, expected: null }], change, needs: [] },
  };
}

async function isBehind({ objects }: Repository, tip: ObjectId, end: ObjectId): Promise<boolean> {
  if (tip === end) return true;
  if (!(await objects.has(tip))) return false;
  return (await relateTips(objects, tip, end).catch(nothingForDataError))?.kind === 'behind';
}

/** The edits of the list and of the chains, and the threads that this repository cannot take out of the chains. */
async function archiveEdits(
  repository: Repository,
  refs: readonly RemoteRef[],
  archive: ArchiveThere,
  taken: readonly Intake[],
  outgoing: readonly ArchivedThread[],
): Promise<{ edits: PushEdit[]; batch: ObjectBatch; stuck: ThreadId[] }> {
  const { objects } = repository;
  const nowMs = repository.now();
  const batch = new ObjectBatch(objects.format);
  const chains = await chainsHere(repository, refs);
  const gone = new Set(outgoing.flatMap(({ end, place }) => (place === undefined ? [end] : [])));
  const { edits, found } = await withoutEnds(objects, batch, chains, gone, nowMs);
  const added = taken.flatMap(({ line, isNew }) => (isNew ? [line] : []));
  const ends = added.flatMap(({ end, place }) => (place === undefined ? [end] : []));
  // One that is rewritten now is not continued.
  const chain = chains.find(({ name }) => !edits.some((edit) => edit.name === name));
  const tip = ends.length === 0 ? undefined : addEnds(batch, chain?.id, ends, nowMs);
  if (tip !== undefined) edits.push({ name: chain?.name ?? endsRef(tip), value: tip, expected: chain?.id ?? null });
  const changes = new Map<ThreadId, ArchivedThread | null>(added.map((line) => [line.id, line]));
  const stuck: ThreadId[] = [];
  for (const { id, end, place } of outgoing) {
    if (place === undefined && !found.has(end)) stuck.push(id);
    else changes.set(id, null);
  }
  if (changes.size > 0) {
    const value = addListCommit(batch, await editList(objects, batch, await archive.list.tree(), changes));
    edits.push({ name: LIST_REF, value, expected: archive.commit ?? null });
  }
  return { edits, batch, stuck };
}

/** Plans how one thread is taken out of the archive there; `isStuck`: this repository cannot, because it lacks the chain. */
export async function planArchiveRemoval(
  repository: Repository,
  refs: readonly RemoteRef[],
  archive: ArchiveThere,
  line: ArchivedThread,
): Promise<{ edits: PushEdit[]; batch: ObjectBatch; isStuck: boolean }> {
  const { edits, batch, stuck } = await archiveEdits(repository, refs, archive, [], [line]);
  return { edits, batch, isStuck: stuck.length > 0 };
}

/** The chains of a remote whose commits are here. Only those can be continued, or written anew. */
async function chainsHere({ objects }: Repository, refs: readonly RemoteRef[]): Promise<Ref[]> {
  const chains: Ref[] = [];
  for (const { name, id } of refs) {
    if (name.startsWith(ENDS_PREFIX) && (await objects.has(id))) chains.push({ name: parseRefName(name), id });
  }
  return chains;
}

/**
 * Moves ended threads into the archive of a remote. They are sent with the checks of a push. What the remote then lists, by a
 * connection of its own, loses its refs here; the archive here remembers where it is.
 * @returns what the push held or the remote refused, and the threads that were moved
 * @throws {RemoteUnreachable} as `Remote`; threads that were not moved by then stay here
 */
export async function archiveTo(
  repository: Repository,
  remote: Remote,
  threads: readonly ThreadPointer[],
  options: SyncOptions,
): Promise<Required<Pick<PushReport, 'held' | 'rejected'>> & { archived: ThreadPointer[] }> {
  const place = placeOf(repository, remote);
  const lines = threads.map(({ id, ref, head }) => ({ id, end: head, endedOn: dayOfEnd(ref) }));
  const { archived: sent, held, rejected } = await pushArchive(repository, remote, options, { threads: lines });
  if (options.dryRun) {
    const ids = new Set(sent);
    return { archived: threads.filter(({ id }) => ids.has(id)), held, rejected };
  }
  const { list } = await openArchiveThere(repository, remote, await remote.list([LIST_REF], options.signal), options);
  const moved: ThreadPointer[] = [];
  for (const thread of threads) {
    const line = await list.find(thread.id);
    if (line?.end === thread.head && line.place === undefined) moved.push(thread);
  }
  const archived = await archiveThreads(repository, moved, { place, onProgress: options.onProgress });
  return { archived, held, rejected };
}

/** What the list says of where the threads are. */
function placeOf({ location }: Repository, remote: Remote): string {
  // Other clones and machines read the list: for them a relative path would lead elsewhere.
  const url = location === undefined ? remote.url : absoluteUrl(remote.url, location);
  // A line of the list ends at a space.
  const place = url.replaceAll(/[^!-~]/gu, encodeURIComponent);
  if (place.length <= MAX_PLACE) return place;
  throw new UwfError(`the URL of ${remote.name} has ${place.length} characters, and the archive takes ${MAX_PLACE}`, {
    code: 'place-too-long',
    kind: 'usage',
    hint: 'name the remote by a shorter URL; nothing was changed',
  });
}
