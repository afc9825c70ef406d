import { setFlagsFromString } from 'node:v8';
import { prepareHashing } from '../../cas/hash.ts';
import { reindex } from '../../cas/lookup.ts';
import { diagnose, diagnoseSecrets } from '../../engine/doctor/diagnose.ts';
import { collectGarbage } from '../../engine/maintenance/collect-garbage.ts';
import { UwfError } from '../../errors.ts';
import type { Repository } from '../../git/repository.ts';
import { inPlaceOf } from '../../or-else.ts';
import { formatCount, plural } from '../../text/wording.ts';
import { findElsewhere } from '../../thread/archive-list.ts';
import { EVERYWHERE, getThread, listPointers } from '../../thread/find-thread.ts';
import { scanThreads, SecretScan } from '../../thread/secret-scan.ts';
import { PINS_REF, type ThreadId } from '../../thread/thread-id.ts';
import { fsck, type RefVerdict, verifyThread } from '../../verify/verify-threads.ts';
import { type Command, defineCommand, optionalThreadArgument, threadArgument } from '../command-line/command.ts';
import { EXIT } from '../errors/exit-code.ts';
import { configHere, configOrNone, scanningRedactor, secretsHere } from '../open/open-config.ts';
import { configFolder, openForReading, openForWriting, workTreesHere } from '../open/open-repository.ts';
import { formatFindings, secretLines } from '../output/findings.ts';
import { ProgressLine, whileChecking } from '../output/progress-line.ts';
import { formatFacts } from '../output/table.ts';
import { harmless, oneLine } from '../output/text.ts';

export const doctorCommand: Command = defineCommand({
  description: `Checks for anything that keeps uwf from working well here: a git that is missing or too old, a shallow
clone, a repository that cannot be written, garbage collection that is off or prunes at once, too many packs, refs that are
broken or locked, runs that were interrupted, a clock that is off, threads that were not pushed for long, work trees and
branches that are left of threads, a configuration that another user can write to, secrets that are too short to be taken out
of what agents say, agents whose package, program or key is not there, limits that do not hold for an agent, bindings to roles
and workflows that do not exist, and workflows that do not load. Nothing is changed, no agent is run.`,
  json: {
    code: 'a stable word for it: git-too-old',
    level: 'problem: something does not work; warning: it can become one',
    message: 'what it is',
    hint: 'what to do about it',
  },
  examples: [{ command: 'uwf doctor', comment: 'on a new machine, or when something is odd' }],
  exitCodes: { 1: 'there is a problem' },
  async run({ cli, out }) {
    const repository = await openForReading(cli);
    const found = [
      ...(await diagnose(repository, cli.env, {
        userFolder: configFolder(cli.env),
        cwd: cli.cwd,
        workTrees: workTreesHere(cli.env),
      })),
      ...diagnoseSecrets(secretsHere(cli, repository, await configOrNone(cli, repository))),
    ];
    await out.result(found, () =>
      found
        .map(({ level, message, hint }) => {
          const mark = level === 'problem' ? out.paint.error(level) : out.paint.warning(level);
          return `${mark}: ${harmless(message)}\n  ${out.paint.hint(harmless(hint))}`;
        })
        .join('\n'),
    );
    if (found.length === 0) out.hint("nothing is wrong here; 'uwf fsck' reads all that threads have stored");
    return found.some(({ level }) => level === 'problem') ? EXIT.failed : EXIT.done;
  },
});

export const fsckCommand: Command = defineCommand({
  description: `Verifies all threads, as 'uwf thread verify' does for one, and all nodes that were registered or put. It
also reports broken refs, and unknown refs under refs/uwf/. A damaged thread is listed as corrupt from then on; the others
are not affected. 'git fsck' checks all objects of the repository.`,
  json: {
    refs: 'how many refs were looked at',
    damaged:
      'those that something is wrong with: ref, head (null where the ref itself is damaged), thread (or null), findings (commit, path, what)',
  },
  examples: [{ command: 'uwf fsck', comment: 'after a crash of the machine, or in CI' }],
  exitCodes: { 0: 'nothing is wrong', 1: 'something is' },
  async run({ cli, out }) {
    const context = { repository: await openForReading(cli), env: cli.env };
    const damaged: Omit<RefVerdict, 'sound'>[] = [];
    let refs = 0;
    await whileChecking(cli, async (onCommit) => {
      for await (const { sound, ...verdict } of fsck({ ...context, onCommit })) {
        refs += 1;
        if (!sound) damaged.push(verdict);
      }
    });
    await out.result({ refs, damaged }, () =>
      damaged.length === 0
        ? `${out.paint.good('nothing is wrong')}: ${formatCount(refs)} refs verified`
        : [
            ...damaged.map((verdict) => formatFindings(verdict.ref, verdict.findings, out.paint)),
            `${damaged.length} of ${formatCount(refs)} refs are not sound`,
          ].join('\n\n'),
    );
    return damaged.length === 0 ? EXIT.done : EXIT.failed;
  },
});

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
  const here = new Set((await listPointers(repository, EVERYWHERE)).map(({ id }) => id));
  const places = new Map<string, ThreadId[]>();
  for (const [thread, remote] of await findElsewhere(repository, here)) {
    const threads = places.get(remote) ?? [];
    threads.push(thread);
    places.set(remote, threads);
  }
  return [...places].map(([remote, threads]) => ({ remote, threads }));
}

export const gcCommand: Command = defineCommand({
  description: `Removes files that killed processes left, local state of removed threads, journals of stored turns (with
their debug lines), output of background runs whose thread is gone, and nodes that were put under threads that are over. It
rebuilds the lookup and lets git join small packs. Other processes can go on working meanwhile. No thread is removed: use 'uwf thread rm', and 'git gc' to collect its objects.`,
  json: {
    leases: 'leases of processes that have ended',
    files: 'files of removed threads',
    journals: 'threads whose journal has nothing that is not stored',
    scratch: 'threads that are over, or were removed, under which something was put',
    snapshots: 'unfinished records of files',
    transfers: 'unfinished fetches and pushes',
    workTrees: 'work trees of threads that are over and have all their files, or whose making was interrupted',
    temporary: 'packs and objects that a killed writer left unfinished a day ago or earlier',
    lookup: 'commits and nodes that the lookup covers',
    packs: 'how many packs there were before and are after',
    removed:
      'what was removed, one by one: { kind, name, bytes }, kind being one of the counts, name a path in the git folder or a ref',
  },
  examples: [
    { command: 'uwf gc', comment: 'now and then' },
    {
      command: 'uwf thread rm --ended --before 90d && uwf gc && git gc',
      comment: 'with old threads, and the objects of both',
    },
  ],
  async run({ cli, out }) {
    const repository = await openForWriting(cli);
    // Without a sound configuration it is not known where work trees lie: all else is cleaned up.
    const config = await configHere(cli, repository).catch(inPlaceOf(UwfError, undefined));
    const workTrees = config && workTreesHere(cli.env);
    const progress = cli.stderr.isTTY === true ? new ProgressLine(cli.stderr) : undefined;
    const engine = { repository, config: config ?? {}, env: cli.env, workTrees };
    const found = await collectGarbage(engine, (line) => progress?.tell(line)).finally(() => progress?.clear());
    const { packs, lookup, removed } = found;
    const fact = (title: string, kind: keyof typeof found): [string, string] => {
      const items = removed.filter((item) => item.kind === kind);
      const bytes = items.reduce((sum, item) => sum + item.bytes, 0);
      return [title, `${formatCount(items.length)}${bytes === 0 ? '' : ` (${formatCount(bytes)} bytes)`}`];
    };
    await out.result(found, () =>
      [
        formatFacts([
          fact('stale leases', 'leases'),
          fact('orphaned files', 'files'),
          fact('told journals', 'journals'),
          fact('orphaned scratch', 'scratch'),
          fact('unfinished snapshots', 'snapshots'),
          fact('unfinished transfers', 'transfers'),
          fact('work trees', 'workTrees'),
          fact('unfinished packs and objects', 'temporary'),
          ['lookup', `${formatCount(lookup.nodes)} nodes in ${formatCount(lookup.commits)} commits`],
          ['packs', `${formatCount(packs.before)} before, ${formatCount(packs.after)} after`],
        ]),
        out.format(removed, [
          { title: 'REMOVED', cell: ({ kind }) => kind },
          { title: 'BYTES', cell: ({ bytes }) => formatCount(bytes), align: 'right' },
          { title: 'NAME', cell: ({ name }) => name },
        ]),
      ]
        .filter((part) => part !== '')
        .join('\n\n'),
    );
  },
});

export const reindexCommand: Command = defineCommand({
  description: `Rebuilds the table that finds nodes by hash from the commits of all threads and workflows. The table is a
cache: deleting it loses nothing. This command is needed only if another program has changed it.`,
  json: { commits: 'how many commits were read', nodes: 'how many nodes they hold' },
  examples: [{ command: 'uwf reindex', comment: 'after copying .git by hand' }],
  async run({ cli, out }) {
    // Everything that is read here is garbage a moment later. Without these flags V8 grows its heap to 60 MB and more instead
    // of collecting it. V8 reads them each time before it grows the heap.
    setFlagsFromString('--semi-space-growth-factor=1');
    setFlagsFromString('--heap-growing-percent=10');
    const found = await reindex(await openForReading(cli));
    await out.result(found, () => `${formatCount(found.nodes)} nodes in ${formatCount(found.commits)} commits`);
  },
});

export const threadVerifyCommand: Command = defineCommand({
  description: `Reads everything that a thread is made of and checks it: every object, hash, schema and link, each commit
with its index, parents and trailers, what each step says of earlier ones, and every decision, which is replayed from the
workflow and the stored steps. Merges of blocks are repeated by git. No agent is asked, and nothing is written. The first line is the first difference.`,
  arguments: [threadArgument],
  json: {
    thread: 'its id',
    ref: 'the ref it was found under',
    head: 'the commit that it is at',
    sound: 'whether nothing is wrong',
    commits: 'how many commits were looked at, those of threads it called included',
    unrepeated: 'merges of blocks that git could not repeat: commit, why',
    findings: 'what is wrong: commit, path (null for the commit itself), what',
  },
  examples: [{ command: 'uwf thread verify 01KAM4', comment: 'after fetching it from a remote' }],
  exitCodes: { 0: 'nothing is wrong', 1: 'something is' },
  async run({ args, cli, out }) {
    const context = { repository: await openForReading(cli), env: cli.env };
    const verdict = await whileChecking(cli, (onCommit) => verifyThread({ ...context, onCommit }, args.thread));
    const { thread, commits, unrepeated } = verdict;
    await out.result(verdict, () =>
      verdict.sound
        ? [
            `thread ${out.paint.id(thread)} ${out.paint.good('is sound')}: ${formatCount(commits)} commits verified`,
            ...unrepeated.map(
              ({ commit, why }) => `  ${out.paint.id(commit.slice(0, 12))}  merge not checked: ${oneLine(why)}`,
            ),
          ].join('\n')
        : formatFindings(`thread ${thread}`, verdict.findings, out.paint),
    );
    return verdict.sound ? EXIT.done : EXIT.failed;
  },
});
