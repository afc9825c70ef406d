import { archiveTo } from '../../sync/push-archive.ts';
import { archiveThreads, findArchivable, takeOut } from '../../thread/archive-threads.ts';
import { findArchivePlace } from '../../thread/archive-list.ts';
import { getThread } from '../../thread/find-thread.ts';
import type { Held, Refusal } from '../../sync/report.ts';
import { WrongThreadState } from '../../thread/thread-errors.ts';
import type { Repository } from '../../git/repository.ts';
import type { ThreadId, ThreadPointer } from '../../thread/thread-id.ts';
import { plural } from '../../text/wording.ts';
import { iso } from '../../time/clock.ts';
import { type Command, defineCommand, momentOption, parseMoment, publishOptions } from '../command-line/command.ts';
import { EXIT, exitCodeOfSharing } from '../errors/exit-code.ts';
import { scanningRedactor } from '../open/open-config.ts';
import { openRemoteHere, withExchangeOptions } from '../open/open-remote.ts';
import { openForWriting } from '../open/open-repository.ts';
import type { Output } from '../output/output.ts';
import { oneLine } from '../output/text.ts';
import { hintAtHeldBack, leftOf } from '../sharing/sync-report.ts';

const DEFAULT_BEFORE = '30d';

export const archiveCommand: Command = defineCommand({
  description: `Moves threads that ended before a time, by default 30 days ago, into the archive: one list of threads in
place of a ref for each. At every push a server sends the list of all its refs, so that ended threads make every push slower;
archived ones do not. Nothing of a thread changes: it is shown, read, forked, verified and removed by its id, and git keeps it.
'uwf thread list --archived' lists what is archived here; --restore gives threads their refs back, until the next fetch from a
remote that has archived them.

The archive is this repository's. The next 'uwf push' or 'uwf sync' puts the same threads into the archive of the remote, and
deletes their refs there. Other clones archive them with their next fetch, and do not push them back. A clone that does not have
an archived thread brings it with 'uwf fetch <remote> <thread>'.

With --to the threads are sent to the archive of another remote, with the checks of a push. Those that are then seen there
lose their refs here, and git collects them; the archive only remembers where they are, and so does that of the remote of your
threads after the next push.`,
  options: {
    before: momentOption(`only those that ended before then: 90d, 2026-11-21; by default ${DEFAULT_BEFORE}`),
    to: { value: '<remote>', summary: 'into the archive of this remote, and out of this repository' },
    restore: {
      value: '<thread>',
      summary: 'take this thread out of the archive; may be given several times',
      isRepeatable: true,
      candidates: 'thread',
      conflicts: ['before', 'to'],
    },
    ...publishOptions,
    'dry-run': { short: 'n', summary: 'say what would be archived, and change nothing' },
  },
  json: {
    before: 'the time before which the threads ended; null with --restore',
    to: 'with --to, where they are now',
    threads: 'the threads that were archived, or restored',
    held: 'with --to, threads that stay here, and why',
    rejected: 'with --to, what the remote did not take, and why',
  },
  examples: [
    { command: 'uwf archive && uwf push', comment: 'what ended 30 days ago, here and at the remote' },
    { command: 'uwf archive --before 2026-10-01 -n', comment: 'what would be archived' },
    { command: 'uwf archive --before 1d --to cold', comment: 'into another repository' },
    { command: 'uwf archive --restore 01KAM4', comment: 'one thread back' },
  ],
  exitCodes: {
    1: 'with --to, a thread is unsound, or has secrets or commits of your code; the rest was moved',
    5: 'with --to, a thread waits for a decision; the rest was moved',
    7: 'with --to, the remote does not take something',
  },
  async run({ options, cli, out }) {
    const isDry = options['dry-run'];
    const repository = await openForWriting(cli);
    if (options.restore.length > 0) {
      const restored = await findArchivedOnes(repository, options.restore);
      const ids = restored.map(({ id }) => id);
      if (!isDry) await takeOut(repository, ids, { isRestored: true });
      await out.result({ before: null, threads: ids }, () => sentence('restore', ids.length, isDry));
      if (!isDry) await hintAtRemotes(repository, ids, out);
      return EXIT.done;
    }
    const nowMs = cli.now();
    const beforeMs = (options.before ?? parseMoment(DEFAULT_BEFORE))(nowMs);
    const { to } = options;
    const remote =
      to === undefined ? undefined : await openRemoteHere(cli, repository, { name: to, direction: 'push' });
    let [held, rejected]: [Held[], Refusal[]] = [[], []];
    const archived = await withExchangeOptions(cli, async (exchange) => {
      const threads = await findArchivable(repository, beforeMs, exchange.onProgress);
      if (remote === undefined) return isDry ? threads : archiveThreads(repository, threads, exchange);
      const report = await archiveTo(repository, remote, threads, {
        ...exchange,
        withCommits: options['with-commits'],
        allowSecrets: options['allow-secrets'],
        redactor: await scanningRedactor(cli, repository),
        dryRun: isDry,
      });
      ({ held, rejected } = report);
      return report.archived;
    });
    const ids = archived.map(({ id }) => id);
    const where = remote === undefined ? '' : ` at ${oneLine(remote.url)}`;
    const result = { before: iso(beforeMs), ...(remote && { to: remote.url, held, rejected }), threads: ids };
    await out.result(result, () =>
      [
        `${sentence('archive', ids.length, isDry)} that ended before ${iso(beforeMs)}${where}`,
        ...held.map(({ thread, reason }) => ` ? [held]  ${out.paint.id(thread)}  (${oneLine(reason)})`),
        ...rejected.map(({ ref, reason }) => ` ! [rejected]  ${oneLine(ref)}  (${oneLine(reason)})`),
      ].join('\n'),
    );
    if (ids.length > 0 && !isDry) out.hint("'uwf push' archives them at the remote, too");
    if (remote === undefined) return EXIT.done;
    const report = { remote: remote.name, url: remote.url, threads: [], workflows: [], rejected, held };
    const whole = { ...report, alongside: [], commits: [], secrets: [] };
    hintAtHeldBack(whole, { repository, remote, withCommits: options['with-commits'] }, out);
    return exitCodeOfSharing(leftOf(whole));
  },
});

async function findArchivedOnes(repository: Repository, texts: readonly string[]): Promise<ThreadPointer[]> {
  const found: ThreadPointer[] = [];
  for (const text of texts) {
    const pointer = await getThread(repository, text);
    if (!pointer.isArchived)
      throw new WrongThreadState(
        pointer.id,
        'not archived',
        'it has a ref',
        "'uwf thread list --archived' lists those that are",
      );
    found.push(pointer);
  }
  return found;
}

/** A remote that has archived a thread archives it here with the next fetch. */
async function hintAtRemotes(repository: Repository, threads: readonly ThreadId[], out: Output): Promise<void> {
  const remotes = new Set<string>();
  for (const id of threads) remotes.add((await findArchivePlace(repository, id))?.remote ?? '');
  remotes.delete('');
  const [first] = remotes;
  if (first === undefined) return;
  const which = threads.length === 1 ? 'it' : 'them';
  out.hint(
    `${[...remotes].map(oneLine).join(', ')} has archived ${which}, too: the next fetch from there does so here again`,
  );
}

function sentence(verb: 'archive' | 'restore', count: number, isDry: boolean): string {
  return `${isDry ? `would ${verb}` : `${verb}d`} ${count === 0 ? 'no thread' : plural(count, 'thread')}`;
}
