import { scanningRedactor } from '../open/open-redactor.ts';
import type { Repository } from '../../git/repository.ts';
import { EVERYWHERE, getThread, listPointers } from '../../thread/find-thread.ts';
import { scanThreads, SecretScan } from '../../thread/secret-scan.ts';
import { PINS_REF, type ThreadId } from '../../thread/thread-id.ts';
import { optionalThreadArgument } from '../command-line/shared-arguments.ts';
import { defineCommand, type Command } from '../command-line/command.ts';
import { EXIT } from '../errors/exit-code.ts';
import { openForReading } from '../open/open-repository.ts';
import { ProgressLine } from '../output/progress-line.ts';
import { secretLines } from '../output/findings.ts';
import { formatCount, plural } from '../../text/wording.ts';
import { oneLine } from '../output/width.ts';

export const scanCommand: Command = defineCommand({
  description: `Searches all threads for secrets, or the named ones with their callers and children: nodes, commit messages,
file names, and the files that steps recorded. Without a thread it also searches nodes that no step has taken in, and
registered workflows and types. Of recorded code it searches what differs from the commit that was checked out.

Secrets are the values that this machine knows to be secret, and texts in the form of a token: the same that a run redacts.
For each it prints the place and the rule, never the value. A file of more than 32 MiB is not searched, but listed.`,
  arguments: [
    { ...optionalThreadArgument, summary: 'only these threads, by their ids or first characters', isRepeatable: true },
  ],
  json: {
    commits: 'how many commits were looked through',
    secrets: 'where secrets are: thread (or null), ref, commit, step (or null), node (or null), file, at, rule',
    unread: 'what could not be looked through: thread (or null), ref, reason',
    elsewhere: 'threads that are archived elsewhere, and so were not looked through: remote, threads (a list of ids)',
  },
  examples: [
    { command: 'uwf scan', comment: 'before threads are shared for the first time' },
    { command: 'uwf scan 01KAM4 --json', comment: 'one thread, for a program' },
  ],
  exitCodes: { 0: 'nothing was found', 1: 'something was, or could not be looked through' },
  async run({ args, cli, out }) {
    const repository = await openForReading(cli);
    const { prepareHashing } = await import('../../cas/hash.ts');
    await prepareHashing();
    const scan = new SecretScan(repository, await scanningRedactor(cli, repository));
    const threads = await Promise.all(args.thread.map((id) => getThread(repository, id)));
    const progress = cli.stderr.isTTY === true ? new ProgressLine(cli.stderr) : undefined;
    const secrets: { thread: ThreadId | null; ref: string }[] = [];
    const lines: string[] = [];
    const unread: object[] = [];
    let commits = 0;
    try {
      for await (const finding of scanThreads(repository, scan, threads.length > 0 ? threads : undefined)) {
        const { thread, ref, places, unread: reason } = finding;
        commits += 1;
        progress?.count((count) => `looked through ${formatCount(count)} commits`);
        cli.signal.throwIfAborted();
        secrets.push(...places.map((place) => ({ thread, ref, ...place })));
        const name = thread === null ? oneLine(ref) : out.paint.id(thread);
        lines.push(...secretLines(places, Infinity).map((line) => `${name}  ${line}`));
        if (reason === undefined) continue;
        unread.push({ thread, ref, reason });
        lines.push(`${name}  ${out.paint.error('could not be looked through')}: ${oneLine(reason)}`);
      }
    } finally {
      progress?.clear();
    }
    const sum = `${plural(commits, 'commit')} looked through`;
    const count = secrets.length === 0 ? 'no secret found' : `${formatCount(secrets.length)} found`;
    const elsewhere = threads.length > 0 ? [] : await listElsewhere(repository);
    await out.result({ commits, secrets, unread, elsewhere }, () => [...lines, `${count}: ${sum}`].join('\n'));
    const ways = [
      ...(secrets.some(({ thread }) => thread !== null)
        ? ["'uwf thread redact <thread>' takes secrets out of a thread"]
        : []),
      ...(secrets.some(({ ref }) => ref === PINS_REF)
        ? ["'uwf cas list' lists what was put without a thread, 'uwf cas rm <hash>' drops it"]
        : []),
    ];
    for (const { remote, threads: ids } of elsewhere) {
      const at = oneLine(remote);
      const what = `${plural(ids.length, 'thread')} that only ${at} has archived`;
      out.hint(`not looked through: ${what}; 'uwf fetch ${at} ${ids[0]}' brings the first, --json=elsewhere names all`);
    }
    if (secrets.length > 0) out.hint([...ways, 'change those that left this machine'].join('; '));
    return secrets.length + unread.length > 0 ? EXIT.failed : EXIT.done;
  },
});

/** The threads that are archived at other places and are not here, by these places. */
async function listElsewhere(repository: Repository): Promise<{ remote: string; threads: ThreadId[] }[]> {
  const { findElsewhere } = await import('../../thread/archive-list.ts');
  const here = new Set((await listPointers(repository, EVERYWHERE)).map(({ id }) => id));
  const places = new Map<string, ThreadId[]>();
  for (const [thread, remote] of await findElsewhere(repository, here)) {
    const threads = places.get(remote) ?? [];
    threads.push(thread);
    places.set(remote, threads);
  }
  return [...places].map(([remote, threads]) => ({ remote, threads }));
}
