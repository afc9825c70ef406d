import { defineCommand, type Command } from '../command.ts';
import { withExchangeOptions } from '../exchange-options.ts';
import { exitCodeOfSharing } from '../exit-code.ts';
import { hintAfterFetch } from '../hint-after-fetch.ts';
import { parseMoment } from '../input/parse-value.ts';
import { openToRead } from '../open-repository.ts';
import { openRemoteHere } from '../open-remote-here.ts';
import { formatFetch } from '../output/sync-report.ts';
import { onlyThreadsOption, remoteArguments, remoteWordsHere } from '../remote-words.ts';

export const command: Command = defineCommand({
  summary: 'bring threads and workflows from a remote',
  description: `Brings all threads and registered workflows of a remote, or the threads that are named, in one connection, and moves those
that are here forward. Nothing that was done here is lost: where a thread went on in both places, the remote's keeps the id
and this repository's becomes a fork. A thread that was removed here comes back only when it is named.

Nothing that is fetched is run or believed. It is checked apart from this repository first, as 'uwf thread verify' checks it;
what fails is refused with the reason and leaves nothing behind, and all else comes in. Who goes on with a thread does so
with the agents of this machine.`,
  arguments: remoteArguments,
  options: {
    thread: onlyThreadsOption,
    since: { value: '<when>', summary: 'only threads started since then: 30d, 2026-11-21', parse: parseMoment },
    'ended-since': {
      value: '<when>',
      summary: 'only threads that ended since then, by the UTC day: 7d',
      parse: parseMoment,
    },
    'ended-until': {
      value: '<when>',
      summary: 'only threads that ended before then, by the UTC day',
      parse: parseMoment,
    },
    spine: { summary: 'leave out what was said and done until it is first read' },
  },
  json: {
    shape: 'object',
    fields: {
      remote: 'the remote as it was named',
      url: 'where it is',
      threads: 'threads that are new here, went forward, ended, were removed or forked: thread, change, before, head',
      workflows: 'the same of workflows',
      refused: 'what failed a check, and why: ref, reason',
      held: 'threads that wait for a person to decide, and why',
      isWhole: 'with --spine: true where the remote cannot leave anything out, and sent everything',
    },
  },
  examples: [
    { command: 'uwf fetch', comment: 'everything, from the remote that git would fetch from' },
    { command: 'uwf fetch origin 01KAM4', comment: 'one thread, also if it was removed here' },
    { command: 'uwf fetch --since 30d', comment: 'what was started in the last month' },
    { command: 'uwf fetch --ended-since 2026-11-21 --ended-until 2026-11-22', comment: 'what ended on a day' },
    { command: 'uwf fetch --spine', comment: 'enough to list threads and read their log' },
    { command: 'uwf fetch threads.bundle', comment: 'from a file that was carried here' },
  ],
  exitCodes: {
    1: 'something was refused; all else was fetched',
    5: 'a thread waits for a decision; all else was fetched',
  },
  async run({ args, options, cli, out }) {
    const repository = await openToRead(cli);
    const { remote: name, threads } = await remoteWordsHere(cli, repository, args, options.thread);
    const [endedSince, endedUntil] = [options['ended-since'], options['ended-until']];
    // While git is asked about the remote, the rest of the command is loaded.
    const [remote, { fetchThreads }] = await Promise.all([
      openRemoteHere(cli, repository, { name, direction: 'fetch' }),
      import('../../sync/fetch-threads.ts'),
    ]);
    const report = await withExchangeOptions(cli, (exchange) =>
      fetchThreads({ repository }, remote, {
        ...exchange,
        ...(threads.length > 0 && { threads }),
        ...(options.since && { sinceMs: options.since(cli.now()) }),
        ...(endedSince && { endedSinceMs: endedSince(cli.now()) }),
        ...(endedUntil && { endedUntilMs: endedUntil(cli.now()) }),
        spine: options.spine,
      }),
    );
    await out.result(report, () => formatFetch(report, out.paint));
    if (report.isWhole) {
      out.note('the remote cannot leave anything out, so everything was fetched');
      out.hint("'git config uploadpack.allowFilter true' in that repository lets it");
    }
    if (!out.isJson) await hintAfterFetch(out, repository, report);
    return exitCodeOfSharing({ refused: report.refused, undecided: report.held });
  },
});
