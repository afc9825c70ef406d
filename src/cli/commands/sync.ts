import { defineCommand, type Command } from '../command-line/command.ts';
import { pushOptions } from '../command-line/shared-arguments.ts';
import { exitCodeOfSharing } from '../errors/exit-code.ts';
import { foldGathered } from '../open/fold-gathered.ts';
import { scanningRedactor } from '../open/open-redactor.ts';
import { withExchangeOptions } from '../open/open-remote.ts';
import {
  aboutReport,
  type AboutThread,
  formatSync,
  hintAfterFetch,
  hintAtHeldBack,
  leftOf,
  withAbout,
} from '../sharing/sync-report.ts';
import { NewThreadsChoice, onlyThreadsOption, openExchange, remoteArguments } from '../sharing/choose-threads.ts';

export const syncCommand: Command = defineCommand({
  description: `Runs 'uwf fetch' and 'uwf push', and repeats them if another push came in between. Afterwards both sides
have the same threads and workflows, but for those that are new at the remote and that you do not send: the push asks about
them. If a thread has new steps in both places, the remote's keeps its id and this
repository's becomes a fork, which is pushed too. A thread that was removed with 'uwf thread rm --remote' is removed here as
well, unless it has steps that only this repository has.`,
  arguments: remoteArguments,
  options: { thread: onlyThreadsOption, ...pushOptions },
  json: { fetched: "what 'uwf fetch' tells", pushed: "what 'uwf push' tells" },
  examples: [
    { command: 'uwf sync', comment: 'with the remote that git would choose' },
    { command: 'uwf sync --all', comment: 'with all threads that are here' },
    { command: 'uwf sync origin 01KAM4', comment: 'one thread' },
    { command: 'uwf sync ../other/repository', comment: 'with another repository on this machine' },
  ],
  exitCodes: {
    1: 'something was refused or held; everything else is the same on both sides',
    5: 'the remote has steps that are not here, or something waits for a decision; everything else is the same on both sides',
    7: 'the remote does not take something: a hook, a right or a namespace; everything else is the same on both sides',
  },
  async run({ args, options, cli, out }) {
    // While git is asked about the remote, the rest of the command is loaded.
    const [{ repository, remote, threads }, { syncThreads }] = await Promise.all([
      openExchange(cli, args, options.thread, 'push'),
      import('../../sync/push-threads.ts'),
    ]);
    const redactor = await scanningRedactor(cli, repository);
    const choice = await NewThreadsChoice.open({ cli, out, repository, remote, redactor }, { all: options.all });
    const report = await withExchangeOptions(cli, (exchange, pause) =>
      syncThreads({ repository }, remote, {
        ...exchange,
        threads,
        chooseNew: choice.chooseNew(pause),
        withCommits: options['with-commits'],
        allowSecrets: options['allow-secrets'],
        redactor,
      }),
    );
    const { fetched, pushed } = report;
    const [ofFetched, ofPushed] = await Promise.all([
      aboutReport(repository, fetched, redactor),
      aboutReport(repository, pushed, redactor),
    ]);
    const about: AboutThread = (thread) => ofPushed(thread) ?? ofFetched(thread);
    await out.result({ fetched: withAbout(fetched, about), pushed: withAbout(pushed, about) }, () =>
      formatSync(report, out.paint, { about, isDecided: choice.isAsked }),
    );
    if (!out.isJson) await hintAfterFetch(out, repository, fetched);
    hintAtHeldBack(pushed, { repository, remote, withCommits: options['with-commits'] }, out);
    await foldGathered(cli, repository);
    choice.hint(pushed.unsent);
    const undecided = [...fetched.held, ...choice.undecided(pushed.unsent)];
    return exitCodeOfSharing(leftOf(pushed), { refused: fetched.refused, undecided });
  },
});
