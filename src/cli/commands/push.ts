import type { Repository } from '../../git/repository.ts';
import type { PushReport } from '../../sync/report.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { defineCommand, type Command } from '../command.ts';
import { withExchangeOptions } from '../exchange-options.ts';
import { exitCodeOfPush, hintAtHeldBack, leftOf, publishOptions } from '../held-back.ts';
import { openToRead } from '../open-repository.ts';
import { openRemoteHere } from '../open-remote-here.ts';
import { findOpenBelow } from '../find-open-below.ts';
import type { Output } from '../output/output.ts';
import { formatDryPush, formatPush } from '../output/sync-report.ts';
import { scanningRedactor } from '../scanning-redactor.ts';
import { onlyThreadsOption, remoteArguments, remoteWordsHere } from '../remote-words.ts';

export const command: Command = defineCommand({
  summary: 'send threads and workflows to a remote',
  description: `Sends what the remote does not have of all threads and registered workflows, or of the threads that are named, in one
connection. Nothing there is ever overwritten: a thread only goes forward, and one that another person has taken further is
rejected until it is fetched; 'uwf sync' does both. The ref of a thread that is over moves to refs/history/ there too.

What was put under a thread and not taken in by a step, journals and sessions stay on this machine. Everything else of a
thread goes: prompts, replies, traces, snapshots of files. A step that recorded files follows the commit that was checked
out: a thread that would publish commits of your code which the remote does not have is held, unless --with-commits is said.

What is sent is looked through first. A ref that is no sound thread or registry is not sent, and a thread that has secrets
is held, with their places, unless --allow-secrets is said. 'uwf scan' looks for them at any time.`,
  arguments: remoteArguments,
  options: {
    thread: onlyThreadsOption,
    ...publishOptions,
    'dry-run': { short: 'n', summary: 'say what would be sent, and send nothing' },
  },
  json: {
    shape: 'object',
    fields: {
      remote: 'the remote as it was named',
      url: 'where it is',
      threads: 'threads that are new there, went forward, ended or were removed: thread, change, before, head',
      workflows: 'the same of workflows',
      rejected: 'what the remote did not take, and why',
      held: 'threads that stay here, why, and which commits of your code or places of secrets they would publish',
      alongside: 'threads that were not named, and whose commits went along',
      commits: 'commits of your code that went along',
      secrets: 'with --allow-secrets, the places of secrets that were sent: commit, step, node, file, at, rule',
    },
  },
  examples: [
    { command: 'uwf push', comment: 'everything, to the remote that git would push to' },
    { command: 'uwf push origin 01KAM4 01KAN8', comment: 'two threads and nothing else' },
    { command: 'uwf push --dry-run', comment: 'what others would see' },
    { command: 'uwf push threads.bundle', comment: 'into a file, to be carried' },
  ],
  exitCodes: {
    1: 'something is no sound thread, or would publish commits of your code or secrets; the rest was sent',
    5: 'others were faster, or something waits for a decision; the rest was sent',
    7: 'the remote does not take something: a hook, a right or a namespace; the rest was sent',
  },
  async run({ args, options, cli, out }) {
    const repository = await openToRead(cli);
    const { remote: name, threads } = await remoteWordsHere(cli, repository, args, options.thread);
    // While git is asked about the remote, the rest of the command is loaded.
    const [remote, { pushThreads }] = await Promise.all([
      openRemoteHere(cli, repository, { name, direction: 'push' }),
      import('../../sync/push-threads.ts'),
    ]);
    const isDryRun = options['dry-run'];
    const report = await withExchangeOptions(cli, async (exchange) =>
      pushThreads({ repository }, remote, {
        ...exchange,
        ...(threads.length > 0 && { threads }),
        withCommits: options['with-commits'],
        allowSecrets: options['allow-secrets'],
        redactor: await scanningRedactor(cli, repository),
        dryRun: isDryRun,
      }),
    );
    await out.result(report, () => (isDryRun ? formatDryPush : formatPush)(report, out.paint));
    // What the remote refuses for reasons of its own, a sync does not change.
    const { undecided } = leftOf(report);
    const isBehind = undecided.some((left) => 'thread' in left || left.reason.endsWith('fetch first'));
    if (isBehind) out.hint("'uwf sync' takes in what others have pushed, and pushes again");
    hintAtHeldBack(report, repository, out);
    if (threads.length > 0) await hintAtOpenChildren(repository, report, out);
    return exitCodeOfPush(report);
  },
});

/** Names the child threads that stay here and that named threads wait for: where they are not, they are called once more. */
async function hintAtOpenChildren(repository: Repository, { remote, threads }: PushReport, out: Output): Promise<void> {
  const sent = new Set(threads.flatMap(({ thread, head }) => (head === null ? [] : [thread])));
  const staying = new Set<ThreadId>();
  for (const thread of sent) {
    for (const child of await findOpenBelow(repository, thread)) if (!sent.has(child)) staying.add(child);
  }
  if (staying.size === 0) return;
  const push = `'uwf push ${remote} ${[...staying].join(' ')}'`;
  out.hint(`${push} sends the child threads, too, that this waits for`);
}
