import type { Repository } from '../../git/repository.ts';
import { fetchThreads } from '../../sync/fetch-threads.ts';
import { pushThreads, syncThreads } from '../../sync/push-threads.ts';
import type { PushReport } from '../../sync/report.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { type Command, defineCommand, momentOption, pushOptions } from '../command-line/command.ts';
import { exitCodeOfSharing } from '../errors/exit-code.ts';
import { foldGathered, scanningRedactor } from '../open/open-config.ts';
import { findOpenBelow, withExchangeOptions } from '../open/open-remote.ts';
import type { Output } from '../output/output.ts';
import { NewThreadsChoice, onlyThreadsOption, openExchange, remoteArguments } from '../sharing/choose-threads.ts';
import {
  aboutReport,
  type AboutThread,
  formatFetch,
  formatPush,
  formatSync,
  hintAfterFetch,
  hintAtHeldBack,
  isEmpty,
  leftOf,
  withAbout,
} from '../sharing/sync-report.ts';

export const pushCommand: Command = defineCommand({
  description: `Sends what the remote does not have of the threads that it knows, and of registered workflows; or of the threads
that are named. Threads that are new there are listed with their workflow and the first words of their prompt, and sent if you
agree; without a terminal they stay here, unless you name them or give --all. What a thread called goes with it. 'push: all' in
the configuration says --all for every push. Nothing there is overwritten: a thread only moves forward. If the remote thread has steps that are
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
    ...pushOptions,
    'dry-run': { short: 'n', summary: 'say what would be sent, and send nothing' },
  },
  json: {
    remote: 'the remote as it was named',
    url: 'where it is',
    threads:
      'threads that are new there, went forward, ended or were removed: thread, change, before, head, workflow, prompt',
    workflows: 'the same of workflows',
    rejected: 'what the remote did not take, and why',
    held: 'threads that stay here, why, and which commits of your code or places of secrets they would publish',
    unsent:
      'threads that are new there and stay here, because nobody chose them: thread, head, below, workflow, prompt',
    alongside: 'threads that were not named, and whose commits went along',
    commits: 'commits of your code that went along',
    secrets: 'with --allow-secrets, the places of secrets that were sent: commit, step, node, file, at, rule',
  },
  examples: [
    { command: 'uwf push', comment: 'what the remote knows; what is new there if you agree' },
    { command: 'uwf push --all', comment: 'everything, to the remote that git would push to' },
    { command: 'uwf push origin 01KAM4 01KAN8', comment: 'two threads and nothing else' },
    { command: 'uwf push --all --dry-run', comment: 'what others would see' },
    { command: 'uwf push --all threads.bundle', comment: 'into a file, to be carried' },
  ],
  exitCodes: {
    1: 'something is no sound thread, or would publish commits of your code or secrets; the rest was sent',
    5: 'the remote has steps that are not here, or something waits for a decision; the rest was sent',
    7: 'the remote does not take something: a hook, a right or a namespace; the rest was sent',
  },
  async run({ args, options, cli, out }) {
    const { repository, remote, threads } = await openExchange(cli, args, options.thread, 'push');
    const isDryRun = options['dry-run'];
    const redactor = await scanningRedactor(cli, repository);
    const choice = await NewThreadsChoice.open(
      { cli, out, repository, remote, redactor },
      { all: options.all, isDry: isDryRun },
    );
    const report = await withExchangeOptions(cli, (exchange, pause) =>
      pushThreads({ repository }, remote, {
        ...exchange,
        threads,
        chooseNew: choice.chooseNew(pause),
        withCommits: options['with-commits'],
        allowSecrets: options['allow-secrets'],
        redactor,
        dryRun: isDryRun,
      }),
    );
    // By the tracking refs alone there may be nothing to push. A remote is asked about the threads that are named.
    const isAsked = threads !== undefined || !remote.isConfigured;
    const about = await aboutReport(repository, report, redactor);
    const isDecided = choice.isAsked;
    await out.result(withAbout(report, about), () =>
      formatPush(report, out.paint, { about, isDry: isDryRun, isAsked, isDecided }),
    );
    // What the remote refuses for reasons of its own, a sync does not change.
    const left = leftOf(report);
    const unsent = choice.undecided(report.unsent);
    const isLeft = left.undecided.some((each) => !('remedy' in each));
    if (isEmpty(report) && !isAsked) out.hint("'uwf sync' asks the remote whether it still has it");
    if (isLeft) out.hint("'uwf sync' takes in what others have pushed, and pushes again");
    hintAtHeldBack(report, { repository, remote, withCommits: options['with-commits'] }, out);
    if (threads !== undefined) await hintAtOpenChildren(repository, report, out);
    choice.hint(report.unsent);
    return exitCodeOfSharing(left, { refused: [], undecided: unsent });
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
    const { repository, remote, threads } = await openExchange(cli, args, options.thread, 'fetch');
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
    const { repository, remote, threads } = await openExchange(cli, args, options.thread, 'push');
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
