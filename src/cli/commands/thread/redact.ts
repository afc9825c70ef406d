import { planRedaction, type ThreadRedaction } from '../../../engine/redact/redact-thread.ts';
import { archivePlaces } from '../../../thread/archive-list.ts';
import { lastSeenAt } from '../../../sync/shared-refs.ts';
import { askKey } from '../../ask/ask.ts';
import { type Command, defineCommand, threadArgument } from '../../command-line/command.ts';
import { EXIT } from '../../errors/exit-code.ts';
import { scanningRedactor } from '../../open/open-config.ts';
import { openForWriting } from '../../open/open-repository.ts';
import { oneLine, type Palette } from '../../output/text.ts';
import { secretLines } from '../../output/findings.ts';
import { formatCount } from '../../../text/wording.ts';
import { canAsk } from '../../process/cli-environment.ts';

type Result = ThreadRedaction & { remotes: string[] };

export const threadRedactCommand: Command = defineCommand({
  description: `Writes a thread anew without its secrets, as a thread with a new id: prompts, replies, fields, traces, commit
messages, and recorded files with their names. Threads that share the commits that change are written anew too: forks,
callers, children. Times, numbers and decisions stay, and what is written is verified before the old threads are removed, in one
change of all refs. Journals and sessions of the old threads are removed from this machine.

Objects that an artifact pins are not changed, but listed. A thread whose caller still waits for it is not redacted: the caller
could not find it.

Each old thread leaves a mark at refs/uwf/removed/<thread>. 'uwf push' sends the new threads, removes the old ones at the remote,
and leaves the marks there. The next fetch by others removes their copy, unless they have added steps, and no push sends an old
thread to a remote with its mark. No fetch brings it back here unless you name it.

Nothing here tells which URLs and bundles a thread was pushed to, and which files it was exported to: push to these
again, too, and export again. A secret that was pushed has been read: change it. The old commits stay in this repository
until git collects them.`,
  arguments: [threadArgument],
  options: {
    'dry-run': { short: 'n', summary: 'say what would be taken out, and change nothing' },
    yes: { short: 'y', summary: 'do not ask, at a terminal' },
  },
  json: {
    threads: 'the threads that were written anew: thread, now (the id of the new one), before, after',
    commits: 'how many commits were written anew',
    secrets: 'where the secrets were: commit, step, node, file, at, rule',
    remains: 'where secrets stay: what is pinned, or too large',
    remotes: 'remotes that had one of the threads, or its archive, when they were last seen',
    heldBy: 'other refs that lead to what was there before',
  },
  examples: [
    { command: 'uwf thread redact 01KAM4 --dry-run', comment: 'what would be taken out' },
    { command: 'uwf thread redact 01KAM4', comment: 'take it out' },
    {
      command: 'git reflog expire --expire=now --all && git gc --prune=now',
      comment: 'collects what no ref leads to any more, the old commits among it',
    },
  ],
  exitCodes: { 1: 'secrets stay, or it would not be sound', 5: 'a process works on one of the threads' },
  async run({ args, options, cli, out }) {
    const repository = await openForWriting(cli);
    const seenAt = await lastSeenAt(repository);
    const plan = await planRedaction(repository, await scanningRedactor(cli, repository), args.thread);
    const { apply, threads, commits, secrets, remains, heldBy } = plan;
    const found = new Set(threads.flatMap(({ thread }) => seenAt.get(thread) ?? []));
    for (const { thread } of threads)
      for await (const { remote } of archivePlaces(repository, thread)) found.add(remote);
    const remotes = [...found].toSorted();
    const result: Result = { threads, commits, secrets, remains, remotes, heldBy };
    const isDry = options['dry-run'];
    if (!isDry && threads.length > 0) {
      if (canAsk(cli) && !options.yes) {
        cli.stderr.write(`${format(result, true, out.paint)}\n`);
        if ((await askKey(cli, 'Write them anew? [y/n]', 'yn')) !== 'y') return EXIT.failed;
      }
      await apply();
    }
    await out.result(result, () => format(result, isDry, out.paint));
    if (threads.length > 0) {
      const rules = [...new Set(secrets.map(({ rule }) => rule))].join(', ');
      out.hint(`change what was taken out where it left this machine or was in use: ${oneLine(rules)}`);
      const pushes = remotes.map((name) => `'uwf push ${oneLine(name)}'`).join(', ');
      if (pushes !== '') out.hint(`remove it where it was, and send the new one: ${pushes}`);
      out.hint('no record is kept of URLs, bundles and exports: where it went to one, push again, export again');
      if (!isDry)
        out.hint("'git reflog expire --expire=now --all && git gc --prune=now' collects the old commits here");
    }
    return remains.length > 0 ? EXIT.failed : EXIT.done;
  },
});

function format(
  { threads, commits, secrets, remains, remotes, heldBy }: Result,
  isDry: boolean,
  paint: Palette,
): string {
  if (secrets.length === 0) return 'no secret found';
  const lines = secretLines(secrets).map((line) => `  ${line}`);
  const would = isDry ? 'would write' : 'wrote';
  const changed = threads.map(({ thread, now }) => `${would} thread ${paint.id(thread)} anew: ${paint.id(now)}`);
  return [
    `${formatCount(secrets.length)} found:`,
    ...lines,
    ...changed,
    ...(commits > 0 ? [`${formatCount(commits)} commits in all`] : []),
    ...(remains.length > 0 ? [paint.warning('these stay:'), ...secretLines(remains).map((line) => `  ${line}`)] : []),
    ...remotes.map((name) => `${oneLine(name)} had it when it was last seen`),
    ...heldBy.map((name) => `${oneLine(name)} still leads to the old commits`),
  ].join('\n');
}
