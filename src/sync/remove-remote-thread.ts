import { UwfError } from '../errors.ts';
import type { ObjectId } from '../git/format/object-id.ts';
import type { Repository } from '../git/repository.ts';
import { hintAtRefusal } from '../git/transport/git-output.ts';
import type { PushResult, Remote, RemoteRef } from '../git/transport/remote.ts';
import { LIST_REF } from '../thread/archive-list.ts';
import { ENDS_PREFIX } from '../thread/archive-threads.ts';
import { headsOfRemoved, makeRemovalMark, removedRef } from '../thread/remove-thread.ts';
import { nothingForDataError } from '../thread/thread-errors.ts';
import { activeRef, HISTORY_PREFIX, type ThreadId } from '../thread/thread-id.ts';
import { claimRef } from './claims.ts';
import { OF_ANOTHER_CLONE, planArchiveRemoval, toBringChains } from './push-archive.ts';
import { relateTips } from './reconcile-thread.ts';
import type { PushReport, SyncOptions, ThreadChange } from './report.ts';
import {
  deletionOf,
  openArchiveThere,
  readSortedRefs,
  readTracked,
  refsOf,
  remember,
  SHARED_PATTERNS,
  sortRefs,
  ThreadNotThere,
  type Tip,
  tipOfArchived,
} from './shared-refs.ts';

/** A remote still has a thread that was to be removed there. */
function notRemovedThere(
  thread: ThreadId,
  remote: Remote,
  reason: string,
  kind: 'conflict' | 'refused',
  hint = kind === 'conflict'
    ? `run 'uwf fetch ${remote.name}', look at the thread, and repeat`
    : hintAtRefusal(remote, reason),
): UwfError {
  const { name } = remote;
  return new UwfError(`${name} still has thread ${thread}: ${reason}`, {
    code: 'not-removed-there',
    kind,
    hint,
    facts: { thread, remote: name },
  });
}

/**
 * Removes a thread from a remote, and leaves a removal mark there. A repository that fetches the mark removes the thread too,
 * unless it has steps that the remote never had. This repository is not changed.
 *
 * @throws {ThreadNotThere} if the remote has neither the thread nor its removal mark
 * @throws {UwfError} `not-removed-there` with `conflict` if the thread is here, and has steps there that are not here, or another client
 *   moves it; with `refused` if the remote does not allow it; nothing is changed then, but a remote that lets nothing be deleted keeps the mark
 * @throws {RemoteUnreachable} as `Remote`
 */
export async function removeRemoteThread(
  { repository }: { repository: Repository },
  remote: Remote,
  thread: ThreadId,
  options: Pick<SyncOptions, 'signal' | 'onProgress'> = {},
): Promise<ThreadChange> {
  return removeAt(repository, remote, thread, options, assertSeen);
}

async function removeAt(
  repository: Repository,
  remote: Remote,
  thread: ThreadId,
  { signal, onProgress }: Pick<SyncOptions, 'signal' | 'onProgress'>,
  assertMayGo: typeof assertSeen,
): Promise<ThreadChange> {
  const patterns = [
    activeRef(thread),
    `${HISTORY_PREFIX}*`,
    removedRef(thread),
    claimRef(thread),
    LIST_REF,
    `${ENDS_PREFIX}*`,
  ];
  const refs = await remote.list(patterns, signal);
  const there = sortRefs(refs);
  const tips = there.threads.get(thread) ?? [];
  const known = there.removed.get(thread) ?? null;
  const archive = await openArchiveThere(repository, remote, refs, { signal, onProgress });
  const archived = await archive.list.find(thread);
  if (tips.length === 0 && known === null && archived === undefined) throw new ThreadNotThere(thread, remote.name);
  await assertMayGo(repository, remote, thread, archived ? [...tips, tipOfArchived(archived)] : tips);

  const mark = makeRemovalMark(repository.objects.format);
  const fromArchive = archived && (await planArchiveRemoval(repository, refs, archive, archived));
  if (fromArchive?.isStuck) {
    const hint = `to bring all that is archived there, and repeat: ${toBringChains(remote)}`;
    throw notRemovedThere(thread, remote, OF_ANOTHER_CLONE, 'conflict', hint);
  }
  const claim = there.claims.get(thread);
  const edits = [
    { name: removedRef(thread), value: mark.id, expected: known },
    ...(fromArchive?.edits ?? []),
    ...tips.map((tip) => deletionOf(thread, tip)),
    // Its worker ends the turn, and publishes nothing more.
    ...(claim === undefined ? [] : [{ name: claimRef(thread), value: null, expected: claim }]),
  ];
  const guard = await repository.objects.write([...mark.batch.objects, ...(fromArchive?.batch.objects ?? [])]);
  try {
    const results = await remote.push({ edits, isForward: true, signal, onProgress });
    const isHalf = results[0]?.outcome === 'done' && results.some((result) => 'reason' in result);
    // Other clones would remove the thread, and with it what made the removal fail: steps that came meanwhile.
    if (isHalf) await remote.push({ edits: [{ name: removedRef(thread), value: null, expected: mark.id }], signal });
    assertDone(results, thread, remote);
    await remember(repository, remote, edits);
  } finally {
    await guard.release();
  }
  return { thread, change: 'removed', head: null, before: tips[0]?.id ?? archived?.end ?? null };
}

/** Refuses to remove steps that the user has not seen. A user without the thread can only mean the remote's. */
async function assertSeen(
  repository: Repository,
  remote: Remote,
  thread: ThreadId,
  tips: readonly Tip[],
): Promise<void> {
  const tracked = sortRefs(refsOf(await readTracked(repository, remote)));
  const here = await readSortedRefs(repository);
  if (!here.threads.has(thread) && !tracked.threads.has(thread)) return;
  const unseen: ObjectId[] = [];
  for (const { id } of tips) if (!(await repository.objects.has(id))) unseen.push(id);
  if (unseen.length > 0) throw notRemovedThere(thread, remote, 'it has steps that are not here', 'conflict');
}

/** What a push knows of the shared refs of a remote; `isAsked`: all of them were just listed. */
type KnownThere = { there: readonly RemoteRef[]; isAsked: boolean };

/**
 * Removes from a remote the threads that were redacted here, and leaves their marks there. What takes their place can then be pushed as
 * belonging to what the remote had.
 * @returns what was done, and what is known of the remote since
 */
export async function removeRedacted(
  repository: Repository,
  remote: Remote,
  known: KnownThere,
  options: SyncOptions,
): Promise<KnownThere & { removals: Pick<PushReport, 'threads' | 'held' | 'rejected'> }> {
  const removals: Pick<PushReport, 'threads' | 'held' | 'rejected'> = { threads: [], held: [], rejected: [] };
  const marks = (await readSortedRefs(repository)).removed;
  if (marks.size === 0) return { ...known, removals };
  // The remote is asked each time: one that lets nothing be deleted has the mark, and the thread all the same.
  let there = known.isAsked ? known.there : await remote.list(SHARED_PATTERNS, options.signal);
  const { threads } = sortRefs(there);
  const { list } = await openArchiveThere(repository, remote, there, options);
  for (const [thread, mark] of marks) {
    const before = threads.get(thread)?.[0]?.id ?? (await list.find(thread))?.end;
    if (before === undefined) continue;
    try {
      if (!options.dryRun) await removeAt(repository, remote, thread, options, assertRedacted);
      removals.threads.push({ thread, change: 'removed', head: null, before });
      there = [...there, { name: removedRef(thread), id: mark }];
    } catch (error) {
      if (!(error instanceof UwfError) || error.code !== 'not-removed-there') throw error;
      const { kind, message, hint } = error;
      if (kind === 'refused')
        removals.rejected.push({ ref: removedRef(thread), reason: message, isRefusedThere: true });
      else removals.held.push({ thread, reason: message, ...(hint !== undefined && { remedy: hint }) });
    }
  }
  return { removals, there, isAsked: true };
}

/** Refuses to remove steps that were not redacted here: the clone that made them would lose them, too. */
async function assertRedacted(
  { stateDir, objects }: Repository,
  remote: Remote,
  thread: ThreadId,
  tips: readonly Tip[],
): Promise<void> {
  const heads = headsOfRemoved({ stateDir }, thread);
  for (const { id } of tips) {
    let isKnown = heads.includes(id);
    for (const head of heads) {
      // git may have collected them.
      const relation = await relateTips(objects, id, head).catch(nothingForDataError);
      isKnown ||= relation?.kind === 'behind';
    }
    if (isKnown) continue;
    const hint = `'uwf fetch ${remote.name} ${thread}' brings it: redact it again; 'uwf thread rm ${thread} --remote=${remote.name}' removes it there as it is`;
    throw notRemovedThere(thread, remote, 'it has steps that were not redacted here', 'conflict', hint);
  }
}

function assertDone(results: readonly PushResult[], thread: ThreadId, remote: Remote): void {
  const failed = results.flatMap((result) => ('reason' in result ? [result] : []));
  const first = failed.find(({ outcome }) => outcome !== 'undone') ?? failed[0];
  if (first === undefined) return;
  const kind = first.outcome === 'refused' ? 'refused' : 'conflict';
  throw notRemovedThere(thread, remote, first.reason, kind);
}
