import type { ObjectId } from '../../git/format/object-id.ts';
import { parseRefName } from '../../git/format/ref-name.ts';
import type { Remote } from '../../git/transport/remote.ts';
import type { Repository } from '../../git/repository.ts';
import { LIST_REF, type ArchivedThread } from '../../thread/archive/archive-list.ts';
import { ENDS_PREFIX } from '../../thread/archive/kept-ends.ts';
import { Refusals } from '../refusals.ts';
import type { PushReport, ThreadChange } from '../report.ts';
import type { NewThreads } from '../push/new-threads.ts';
import { SHARED_PATTERNS } from '../refs/shared-ref.ts';
import { readTrackedRef, remember } from '../refs/tracking.ts';
import type { SyncOptions } from '../sync-options.ts';
import { openArchiveThere } from './archive-there.ts';

const MAX_ROUNDS = 5;

const MOVED = 'others push to the archive at the same time; push again';

/** Only as a tracking ref: the list here, all of which the remote has. */
const SENT_REF = parseRefName('refs/uwf/archive/sent');

/** What a push of the archive did. */
export type ArchivePush = Required<Pick<PushReport, 'archived' | 'held' | 'rejected'>> & {
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
  const { planArchivePush } = await import('./plan-archive-push.ts');
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
