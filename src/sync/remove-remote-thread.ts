import type { EngineContext } from '../engine/context.ts';
import { UwfError } from '../errors.ts';
import type { ObjectId } from '../git/object-id.ts';
import type { PushEdit, PushResult, Remote } from '../git/remote.ts';
import type { Repository } from '../git/repository.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import { activeRef, HISTORY_PREFIX } from '../thread/thread-refs.ts';
import { makeRemovalMark } from './removal-mark.ts';
import type { ThreadChange } from './report.ts';
import { ThreadNotThere } from './select-refs.ts';
import { refOfTip, removedRef, type Tip } from './shared-ref.ts';
import { readStanding, standingOf } from './standing.ts';
import type { SyncOptions } from './sync-options.ts';
import { readTracked, refsOf, remember } from './tracking.ts';

/** A remote still has a thread that was to be removed there. */
export class NotRemovedThere extends UwfError {
  readonly thread: ThreadId;
  readonly remote: string;
  constructor(thread: ThreadId, remote: string, reason: string, kind: 'conflict' | 'refused') {
    super(`${remote} still has thread ${thread}: ${reason}`, {
      code: 'not-removed-there',
      kind,
      hint: kind === 'conflict' ? `run 'uwf fetch ${remote}', look at the thread, and repeat` : undefined,
    });
    this.thread = thread;
    this.remote = remote;
  }
}

/**
 * Removes a thread from a remote, and leaves a mark there: whoever syncs with it removes the thread as well, unless there
 * are steps of it that the remote never had. What is here stays as it is.
 *
 * @throws {ThreadNotThere} if the remote has neither the thread nor a mark of it
 * @throws {NotRemovedThere} if the thread has steps there that were never seen here, though it is here, or is being
 *   changed (`conflict`), or if the remote does not allow it (`refused`); nothing is changed then
 * @throws {RemoteUnreachable} as `Remote`
 */
export async function removeRemoteThread(
  { repository }: Pick<EngineContext, 'repository'>,
  remote: Remote,
  thread: ThreadId,
  { signal, onProgress }: Pick<SyncOptions, 'signal' | 'onProgress'> = {},
): Promise<ThreadChange> {
  const patterns = [activeRef(thread), `${HISTORY_PREFIX}*`, removedRef(thread)];
  const there = standingOf(await remote.list(patterns, signal));
  const tips = there.threads.get(thread) ?? [];
  const known = there.removed.get(thread) ?? null;
  if (tips.length === 0 && known === null) throw new ThreadNotThere(thread, remote.name);
  await assertSeen(repository, remote, thread, tips);

  const mark = makeRemovalMark(repository.objects.format);
  const edits = [
    { name: removedRef(thread), value: mark.id, expected: known },
    ...tips.map((tip): PushEdit => ({ name: refOfTip(thread, tip), value: null, expected: tip.id })),
  ];
  const guard = await repository.objects.write(mark.batch.objects);
  try {
    const results = await remote.push({ edits, ...(signal && { signal }), ...(onProgress && { onProgress }) });
    assertDone(results, thread, remote);
    await remember(repository, remote, edits);
  } finally {
    await guard.release();
  }
  return { thread, change: 'removed', head: null, before: tips[0]?.id ?? null };
}

/** Nobody removes what he has not seen; but whoever has nothing of the thread can mean only what is there. */
async function assertSeen(
  repository: Repository,
  remote: Remote,
  thread: ThreadId,
  tips: readonly Tip[],
): Promise<void> {
  const tracked = standingOf(refsOf(await readTracked(repository, remote)));
  const here = await readStanding(repository);
  if (!here.threads.has(thread) && !tracked.threads.has(thread)) return;
  const unseen: ObjectId[] = [];
  for (const { id } of tips) if (!(await repository.objects.has(id))) unseen.push(id);
  if (unseen.length > 0) throw new NotRemovedThere(thread, remote.name, 'it has steps that are not here', 'conflict');
}

function assertDone(results: readonly PushResult[], thread: ThreadId, remote: Remote): void {
  const failed = results.flatMap((result) => ('reason' in result ? [result] : []));
  const first = failed.find(({ outcome }) => outcome !== 'undone') ?? failed[0];
  if (first === undefined) return;
  const kind = first.outcome === 'refused' ? 'refused' : 'conflict';
  throw new NotRemovedThere(thread, remote.name, first.reason, kind);
}
