import type { Repository } from '../../git/repository.ts';
import type { PushReport } from '../../sync/report.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { defineCommand, type Command } from '../command-line/command.ts';
import { publishOptions } from '../command-line/shared-arguments.ts';
import { exitCodeOfSharing } from '../errors/exit-code.ts';
import { scanningRedactor } from '../open/open-redactor.ts';
import { withExchangeOptions } from '../open/open-remote.ts';
import type { Output } from '../output/output.ts';
import { hintAtHeldBack, leftOf } from '../sharing/held-back.ts';
import { findOpenBelow } from '../sharing/open-below.ts';
import { onlyThreadsOption, openExchange, remoteArguments } from '../sharing/remote-words.ts';
import { formatPush, isEmpty } from '../sharing/sync-report.ts';

export const command: Command = defineCommand({
  description: `Sends what the remote does not have of all threads and registered workflows, or of the threads that are
named, in one connection. Nothing there is overwritten: a thread only moves forward. If the remote thread has steps that are
not here, it is rejected until you fetch it; 'uwf sync' does both. The ref of a thread that is over moves to refs/history/
there too.

Everything of a thread is sent: prompts, replies, traces, snapshots of files. Nodes that no step has taken in, journals and
sessions stay on this machine. A step that recorded files follows the commit that was checked out: a thread that would
publish commits of your code that the remote does not have is held, unless you give --with-commits.

Everything is checked before it is sent. A ref that is not a sound thread or workflow is not sent. A thread with secrets is
held and their places are listed, unless you give --allow-secrets. 'uwf scan' searches for secrets at any time.`,
  arguments: remoteArguments,
  options: {
    thread: onlyThreadsOption,
    ...publishOptions,
    'dry-run': { short: 'n', summary: 'say what would be sent, and send nothing' },
  },
  json: {
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
  examples: [
    { command: 'uwf push', comment: 'everything, to the remote that git would push to' },
    { command: 'uwf push origin 01KAM4 01KAN8', comment: 'two threads and nothing else' },
    { command: 'uwf push --dry-run', comment: 'what others would see' },
    { command: 'uwf push threads.bundle', comment: 'into a file, to be carried' },
  ],
  exitCodes: {
    1: 'something is no sound thread, or would publish commits of your code or secrets; the rest was sent',
    5: 'the remote has steps that are not here, or something waits for a decision; the rest was sent',
    7: 'the remote does not take something: a hook, a right or a namespace; the rest was sent',
  },
  async run({ args, options, cli, out }) {
    // While git is asked about the remote, the rest of the command is loaded.
    const [{ repository, remote, threads }, { pushThreads }] = await Promise.all([
      openExchange(cli, args, options.thread, 'push'),
      import('../../sync/push/push-threads.ts'),
    ]);
    const isDryRun = options['dry-run'];
    const report = await withExchangeOptions(cli, async (exchange) =>
      pushThreads({ repository }, remote, {
        ...exchange,
        threads,
        withCommits: options['with-commits'],
        allowSecrets: options['allow-secrets'],
        redactor: await scanningRedactor(cli, repository),
        dryRun: isDryRun,
      }),
    );
    // By the tracking refs alone there may be nothing to push. A remote is asked about the threads that are named.
    const isAsked = threads !== undefined || !remote.isConfigured;
    await out.result(report, () => formatPush(report, out.paint, { isDry: isDryRun, isAsked }));
    // What the remote refuses for reasons of its own, a sync does not change.
    const left = leftOf(report);
    const isLeft = left.undecided.some((each) => !('remedy' in each));
    if (isEmpty(report) && !isAsked) out.hint("'uwf sync' asks the remote whether it still has it");
    if (isLeft) out.hint("'uwf sync' takes in what others have pushed, and pushes again");
    hintAtHeldBack(report, { repository, remote, withCommits: options['with-commits'] }, out);
    if (threads !== undefined) await hintAtOpenChildren(repository, report, out);
    return exitCodeOfSharing(left);
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
