import { defineCommand, type Command } from '../command-line/command.ts';
import { momentOption } from '../command-line/parse-value.ts';
import { exitCodeOfSharing } from '../errors/exit-code.ts';
import { foldGathered } from '../open/fold-gathered.ts';
import { withExchangeOptions } from '../open/open-remote.ts';
import { aboutReport, formatFetch, hintAfterFetch, withAbout } from '../sharing/sync-report.ts';
import { onlyThreadsOption, openExchange, remoteArguments } from '../sharing/choose-threads.ts';

export const fetchCommand: Command = defineCommand({
  description: `Brings all threads and registered workflows of a remote, or the threads that are named, in one connection,
and moves those that are here forward. Nothing that was done here is lost: if a thread has new steps in both places, the
remote's keeps the id and this repository's becomes a fork. A thread that was removed here comes back only when it is named.

Nothing that is fetched is run or trusted. It is checked outside of this repository first, as by 'uwf thread verify'. A
thread that fails is refused with the reason and leaves nothing behind; the others are stored. A fetched thread goes on with
the agents of this machine.`,
  arguments: remoteArguments,
  options: {
    thread: onlyThreadsOption,
    since: momentOption('only threads started since then: 30d, 2026-11-21'),
    'ended-since': momentOption('only threads that ended since then, by the UTC day: 7d'),
    'ended-until': momentOption('only threads that ended before then, by the UTC day'),
  },
  json: {
    remote: 'the remote as it was named',
    url: 'where it is',
    threads:
      'threads that are new here, went forward, ended, were removed or forked: thread, change, before, head, workflow, prompt',
    workflows: 'the same of workflows',
    refused: 'what failed a check, and why: ref, reason',
    held: 'threads that wait for a person to decide, and why',
    gone: 'threads that the remote had and does not say what became of them: they are kept here',
  },
  examples: [
    { command: 'uwf fetch', comment: 'everything, from the remote that git would fetch from' },
    { command: 'uwf fetch origin 01KAM4', comment: 'one thread, also if it was removed here' },
    { command: 'uwf fetch --since 30d', comment: 'what was started in the last month' },
    { command: 'uwf fetch --ended-since 2026-11-21 --ended-until 2026-11-22', comment: 'what ended on a day' },
    { command: 'uwf fetch threads.bundle', comment: 'from a file that was carried here' },
  ],
  exitCodes: {
    1: 'something was refused; all else was fetched',
    5: 'a thread waits for a decision; all else was fetched',
  },
  async run({ args, options, cli, out }) {
    // While git is asked about the remote, the rest of the command is loaded.
    const [{ repository, remote, threads }, { fetchThreads }] = await Promise.all([
      openExchange(cli, args, options.thread, 'fetch'),
      import('../../sync/fetch-threads.ts'),
    ]);
    const report = await withExchangeOptions(cli, (exchange) =>
      fetchThreads({ repository }, remote, {
        ...exchange,
        threads,
        sinceMs: options.since?.(cli.now()),
        endedSinceMs: options['ended-since']?.(cli.now()),
        endedUntilMs: options['ended-until']?.(cli.now()),
      }),
    );
    const about = await aboutReport(repository, report);
    await out.result(withAbout(report, about), () => formatFetch(report, out.paint, about));
    const [gone] = report.gone ?? [];
    if (gone !== undefined) out.hint(`'uwf push ${report.remote} ${gone}' sends it there again`);
    if (!out.isJson) await hintAfterFetch(out, repository, report);
    await foldGathered(cli, repository);
    return exitCodeOfSharing({ refused: report.refused, undecided: report.held });
  },
});
