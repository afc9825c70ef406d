import { defineCommand, type Command } from '../command.ts';
import { withExchangeOptions } from '../exchange-options.ts';
import { exitCodeOfPush, hintAtHeldBack, publishOptions } from '../held-back.ts';
import { hintAfterFetch } from '../hint-after-fetch.ts';
import { openToRead } from '../open-repository.ts';
import { openRemoteHere } from '../open-remote-here.ts';
import { formatSync } from '../output/sync-report.ts';
import { scanningRedactor } from '../scanning-redactor.ts';
import { onlyThreadsOption, remoteArguments, remoteWordsHere } from '../remote-words.ts';

export const command: Command = defineCommand({
  summary: 'fetch from a remote, then push to it',
  description: `Does what 'uwf fetch' and 'uwf push' do, and again where another person pushed in between, so that afterwards both sides have
the same threads and workflows. Where a thread went on in both places, the remote's keeps its id and this repository's
becomes a fork, which is pushed too. A thread that was removed with 'uwf thread rm --remote' is removed here as well,
unless it has steps that only this repository has.`,
  arguments: remoteArguments,
  options: { thread: onlyThreadsOption, ...publishOptions },
  json: {
    shape: 'object',
    fields: { fetched: "what 'uwf fetch' tells", pushed: "what 'uwf push' tells" },
  },
  examples: [
    { command: 'uwf sync', comment: 'everything, with the remote that git would choose' },
    { command: 'uwf sync origin 01KAM4', comment: 'one thread' },
    { command: 'uwf sync ../other/repository', comment: 'with another repository on this machine' },
  ],
  exitCodes: {
    1: 'something was refused, or must not leave; all else is in step',
    5: 'others were faster, or something waits for a decision; all else is in step',
    7: 'the remote does not take something: a hook, a right or a namespace; all else is in step',
  },
  async run({ args, options, cli, out }) {
    const repository = await openToRead(cli);
    const { remote: name, threads } = await remoteWordsHere(cli, repository, args, options.thread);
    // While git is asked about the remote, the rest of the command is loaded.
    const [remote, { syncThreads }] = await Promise.all([
      openRemoteHere(cli, repository, { name, direction: 'push' }),
      import('../../sync/sync-threads.ts'),
    ]);
    const report = await withExchangeOptions(cli, async (exchange) =>
      syncThreads({ repository }, remote, {
        ...exchange,
        ...(threads.length > 0 && { threads }),
        withCommits: options['with-commits'],
        allowSecrets: options['allow-secrets'],
        redactor: await scanningRedactor(cli, repository),
      }),
    );
    const { fetched, pushed } = report;
    await out.result(report, () => formatSync(report, out.paint));
    if (!out.isJson) await hintAfterFetch(out, repository, fetched);
    hintAtHeldBack(pushed, repository, out);
    return exitCodeOfPush(pushed, { refused: fetched.refused, undecided: fetched.held });
  },
});
