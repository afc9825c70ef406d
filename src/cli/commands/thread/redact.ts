import { planRedaction, type RewrittenThread } from '../../../engine/redact/redact-thread.ts';
import { lastSeenAt } from '../../../sync/last-seen-at.ts';
import type { SecretPlace } from '../../../thread/secrets/secret-scan.ts';
import { defineCommand, type Command } from '../../command.ts';
import { EXIT } from '../../exit-code.ts';
import { canAsk } from '../../input/can-ask.ts';
import { openToWrite } from '../../open-repository.ts';
import type { Palette } from '../../output/palette.ts';
import { secretLines } from '../../output/secret-places.ts';
import { formatCount } from '../../output/time.ts';
import { oneLine } from '../../output/width.ts';
import { scanningRedactor } from '../../scanning-redactor.ts';

type Result = {
  threads: RewrittenThread[];
  commits: number;
  secrets: SecretPlace[];
  remains: SecretPlace[];
  remotes: string[];
  heldBy: string[];
};

export const command: Command = defineCommand({
  summary: 'take secrets out of a thread that is stored',
  description: `Writes a thread anew without its secrets: what was said and told, fields, traces, messages of commits, files that steps
recorded and their names. All that share the commits which change are written anew with it: forks, callers, child threads.
Times, numbers and decisions stay, and what is written is verified before it takes the place of the old, in one change of all
refs. Journals and sessions of these threads are removed from this machine.

What an artifact pins stays, and is named. A child thread whose id follows from a commit that changes has another id
afterwards.

A record at refs/uwf/redacted/<thread> says what became of the old commits. 'uwf push' sends it and replaces what the remote
has; a fetch of others replaces theirs, unless they have gone on from it, and no fetch brings the old back.

A secret that was pushed has been read: change it. The old commits stay in this repository until git collects them.`,
  arguments: [{ name: 'thread', summary: "the thread's id, or its first characters", candidates: 'thread' }],
  options: {
    'dry-run': { short: 'n', summary: 'say what would be taken out, and change nothing' },
    yes: { short: 'y', summary: 'do not ask, at a terminal' },
  },
  json: {
    shape: 'object',
    fields: {
      threads: 'the threads that were written anew: thread, now (its id), before, after',
      commits: 'how many commits were written anew',
      secrets: 'where the secrets were: commit, step, node, file, at, rule',
      remains: 'where secrets stay: what is pinned, or too large',
      remotes: 'remotes that had one of the threads when they were last seen',
      heldBy: 'other refs that lead to what was there before',
    },
  },
  examples: [
    { command: 'uwf thread redact 01KAM4 --dry-run', comment: 'what would be taken out' },
    { command: 'uwf thread redact 01KAM4', comment: 'and out' },
    {
      command: 'git reflog expire --expire=now --all && git gc --prune=now',
      comment: 'collects what no ref leads to any more, the old commits among it',
    },
  ],
  exitCodes: { 1: 'secrets stay, or it would not be sound', 5: 'a process works on one of the threads' },
  async run({ args, options, cli, out }) {
    const repository = await openToWrite(cli);
    const seenAt = await lastSeenAt(repository);
    const plan = await planRedaction(repository, await scanningRedactor(cli, repository), args.thread);
    const { apply, threads, commits, secrets, remains, heldBy } = plan;
    const remotes = [...new Set(threads.flatMap(({ thread }) => seenAt.get(thread) ?? []))].toSorted();
    const result: Result = { threads, commits, secrets, remains, remotes, heldBy };
    const isDry = options['dry-run'];
    if (!isDry && threads.length > 0) {
      if (canAsk(cli) && !options.yes) {
        cli.stderr.write(`${format(result, true, out.paint)}\n`);
        const { askKey } = await import('../../input/ask-key.ts');
        if ((await askKey(cli, 'Write them anew? [y/n]', 'yn')) !== 'y') return EXIT.failed;
      }
      await apply();
    }
    await out.result(result, () => format(result, isDry, out.paint));
    if (threads.length > 0) {
      const rules = [...new Set(secrets.map(({ rule }) => rule))].join(', ');
      out.hint(`change what was taken out where it left this machine or was in use: ${oneLine(rules)}`);
      if (remotes.length > 0)
        out.hint(`'uwf push' replaces it there: ${remotes.map((name) => oneLine(name)).join(', ')}`);
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
  const changed = threads.map(({ thread, now, before, after }) => {
    const name = now === thread ? '' : `, its id is ${now} now`;
    return `${would} thread ${paint.id(thread)} anew (${before.slice(0, 7)} is ${after.slice(0, 7)}${name})`;
  });
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
