import { listThreads, type ListOptions, type ThreadSummary } from '../../../engine/describe.ts';
import type { UwfError } from '../../../errors.ts';
import type { ThreadChange } from '../../../engine/follow-threads.ts';
import { suspendCauses, type SuspendCause } from '../../../schema/built-in/thread-suspend.ts';
import { getThread, listPointers } from '../../../thread/find-thread.ts';
import { threadStatuses, type ThreadStatus } from '../../../thread/thread-status.ts';
import { defineCommand, type Command } from '../../command.ts';
import type { CliContext } from '../../context.ts';
import { readingContext } from '../../engine-here.ts';
import { EXIT } from '../../exit-code.ts';
import { parseCount, parseMoment } from '../../input/parse-value.ts';
import { openToRead } from '../../open-repository.ts';
import type { Output } from '../../output/output.ts';
import { paintStatus } from '../../output/palette.ts';
import { shortIds } from '../../output/short-ids.ts';
import { formatTable } from '../../output/table.ts';
import { formatAgo } from '../../output/time.ts';
import { fitTo, oneLine, widthOf } from '../../output/width.ts';

const longestStatus = Math.max(...threadStatuses.map((status) => status.length));

/** What was asked, or says by itself why it waits. */
const isQuestion: ReadonlySet<SuspendCause> = new Set<SuspendCause>(['agent', 'human', 'child']);

/** Those of them that a thread never leaves. */
const over = ['ended', 'failed', 'cancelled'] as const;

export const command: Command = defineCommand({
  summary: 'list threads, those that wait for you first',
  description: `Lists every thread that is not over: first the suspended ones, which wait for a person, then the others, newest first.
With --limit or --cursor it is the newest of all, whatever they do, and costs what it shows, however many threads there are.

With --follow it lists them, oldest first, and prints each one again when it changes, until it is interrupted; under --json
as JSON lines. A thread that leaves the list is printed a last time; one that was deleted has the status 'removed'.

With --remote it lists the threads that a remote has, newest first, from what the names of its refs tell; nothing is fetched.`,
  arguments: [],
  options: {
    all: { short: 'a', summary: 'list those that are over as well' },
    ended: { summary: 'list those that are over, and no others' },
    status: {
      value: '<status>',
      summary: `only threads with this status; several with commas`,
      isRepeatable: true,
      candidates: threadStatuses,
    },
    workflow: { value: '<name>', summary: 'only threads of this workflow', candidates: 'workflow' },
    role: { value: '<role>', summary: 'only threads in which this role is next, or waits' },
    text: { value: '<text>', summary: 'only threads whose prompt has this text' },
    since: { value: '<when>', summary: 'only threads started since then: 2d, 2026-11-21', parse: parseMoment },
    until: { value: '<when>', summary: 'only threads started before then', parse: parseMoment },
    'ended-since': {
      value: '<when>',
      summary: 'only threads that ended since then; with --remote by the UTC day',
      parse: parseMoment,
    },
    'ended-until': {
      value: '<when>',
      summary: 'only threads that ended before then; with --remote by the UTC day',
      parse: parseMoment,
    },
    before: { value: '<when>', summary: 'the same as --ended-until: 90d', parse: parseMoment },
    limit: { short: 'n', value: '<n>', summary: 'at most so many', parse: parseCount },
    remote: {
      value: '<remote>',
      isValueOptional: true,
      summary: 'list what a remote has, by default the one that git would fetch from',
    },
    follow: { short: 'f', summary: 'go on: print each thread again when it changes' },
    cursor: { value: '<thread>', summary: 'go on after this thread, the last of the list before' },
  },
  json: {
    shape: 'list',
    fields: {
      thread: 'its id',
      status: `one of ${threadStatuses.join(', ')}`,
      workflow: "its workflow's name",
      startedAt: 'when it started',
      head: 'the commit that it is at',
      endedAt: 'when it ended, or null',
      prompt: 'the first line of its prompt',
      steps: 'how many steps it has',
      nextRole: 'who is next, or who waits; null when it is over',
      interruption:
        'of an interrupted one: pid, host and since of the process that died over it, processes that still work; else null',
      reason: 'why it is suspended, or how it ended; else null',
      cause: `what suspended it: ${suspendCauses.join(', ')}; null for one that is not suspended`,
      endedOn: 'with --remote: the UTC day on which it ended, or null',
      here: "with --remote: whether it is here, too: 'same' commit, 'other' commit, or 'none'",
    },
  },
  examples: [
    { command: 'uwf thread list', comment: 'what goes on, and what waits for you' },
    { command: 'uwf thread list --status failed --since 7d', comment: 'what went wrong this week' },
    { command: 'uwf thread list --ended --before 90d', comment: 'what could go' },
    { command: 'uwf thread list --ended-since 2026-11-21 --ended-until 2026-11-22', comment: 'what ended on a day' },
    { command: 'uwf thread list --follow --json', comment: 'a stream of what changes' },
    { command: 'uwf thread list --remote=origin --since 30d', comment: 'what others have shared this month' },
    { command: "uwf thread list --all --json --query '$count($)'", comment: 'how many there are' },
  ],
  async run({ options, cli, out }) {
    if (options.remote !== undefined) {
      const { listAtRemote } = await import('../../list-at-remote.ts');
      await listAtRemote(cli, out, options);
      return undefined;
    }
    const repository = await openToRead(cli);
    const { since, until, workflow, role, text, limit, cursor } = options;
    const endedSince = options['ended-since'];
    const endedBefore = [options['ended-until'], options.before].flatMap((moment) => moment?.(cli.now()) ?? []);
    const wanted =
      options.status.length > 0
        ? asStatuses(options.status)
        : options.all
          ? threadStatuses
          : options.ended || endedSince || endedBefore.length > 0
            ? over
            : undefined;
    const which: ListOptions = {
      ...(wanted && { statuses: wanted }),
      ...(workflow !== undefined && { workflow }),
      ...(role !== undefined && { role }),
      ...(text !== undefined && { text }),
      ...(endedSince && { endedSinceMs: endedSince(cli.now()) }),
      ...(endedBefore.length > 0 && { endedBeforeMs: Math.min(...endedBefore) }),
      ...(since && { sinceMs: since(cli.now()) }),
      ...(until && { untilMs: until(cli.now()) }),
      ...(limit !== undefined && { limit }),
      ...(cursor !== undefined && { cursor: (await getThread(repository, cursor)).id }),
    };
    if (options.follow) {
      const { followThreads } = await import('../../../engine/follow-threads.ts');
      for await (const change of followThreads(readingContext(repository), which, cli.signal)) {
        await out.line(change, changeLine(change, out, cli.stdout));
      }
      return EXIT.interrupted;
    }
    const damage: UwfError[] = [];
    const threads = await listThreads(readingContext(repository), { ...which, onDamaged: (one) => damage.push(one) });
    const nowMs = cli.now();
    const areWaiting = threads.some((thread) => whyItWaits(thread) !== '');
    // The names of all refs are read where prefixes may be shown, and nowhere else.
    const isTerminal = !out.isJson && cli.stdout.isTTY === true;
    const known = isTerminal ? await listPointers(repository, undefined, { damaged: () => {} }) : [];
    const short = shortIds(known.map(({ id }) => id));
    await out.result(threads, () =>
      formatTable<ThreadSummary>(
        threads,
        [
          { title: 'THREAD', cell: ({ thread }) => thread, short: ({ thread }) => short(thread), paint: out.paint.id },
          { title: 'STATUS', cell: ({ status }) => status, paint: (text) => paintStatus(out.paint, text) },
          { title: 'WORKFLOW', cell: (thread) => thread.workflow, paint: out.paint.name, least: 8, extra: 2 },
          { title: 'STEPS', cell: ({ steps }) => String(steps), align: 'right', extra: 4 },
          { title: 'NEXT', cell: ({ nextRole }) => nextRole ?? '', least: 6, extra: 3 },
          {
            title: 'STARTED',
            cell: ({ startedAt }) => formatAgo(Date.parse(startedAt), nowMs),
            paint: out.paint.quiet,
            extra: 5,
          },
          ...(areWaiting ? [{ title: 'WHY', cell: whyItWaits, least: 12 }] : []),
          { title: 'TASK', cell: ({ prompt }) => prompt, least: 10, ...(areWaiting && { extra: 1 }) },
        ],
        out.paint,
        cli.stdout,
      ),
    );
    if (threads.length === 0) {
      const isFiltered = Object.keys(which).length > 0;
      out.hint(
        isFiltered
          ? 'no thread is like that'
          : "no thread is active; 'uwf thread list --all' lists those that are over",
      );
    }
    for (const { thread, interruption } of threads) {
      if (interruption === null) continue;
      const { describeInterruption, hintAtInterruption } = await import('../../../engine/interruption.ts');
      out.hint(`thread ${thread}: ${describeInterruption(interruption)}; ${hintAtInterruption(thread, interruption)}`);
    }
    if (threads.some(({ status, head }) => status === 'corrupt' && head === null)) {
      out.hint("the refs of corrupt threads are damaged; 'uwf doctor' says which and how");
    }
    // What could be read is listed; that it is not all is a failure.
    if (damage[0] !== undefined) throw damage[0];
    return undefined;
  },
});

/** What a person has to see to, the kind of it first; '' for a thread that waits for nobody. */
function whyItWaits({ status, cause, reason }: ThreadSummary): string {
  if (status === 'failed' || status === 'corrupt') return reason ?? '';
  if (status !== 'suspended' || reason === null) return '';
  return cause === null || isQuestion.has(cause) ? reason : `${cause}: ${reason}`;
}

function changeLine(change: ThreadChange, { paint }: Output, { isTTY, columns }: CliContext['stdout']): string {
  const padding = ' '.repeat(longestStatus - change.status.length);
  const known = `${paint.id(change.thread)}  ${paintStatus(paint, change.status)}${padding}`;
  if (change.status === 'removed') return known.trimEnd();
  const { workflow, steps, nextRole, prompt } = change;
  const next = nextRole === null ? '' : `next ${nextRole}`;
  const texts = [workflow, `${steps} ${steps === 1 ? 'step' : 'steps'}`, next, whyItWaits(change), prompt].map(oneLine);
  const rest = texts.filter((text) => text !== '').join('  ');
  return `${known}  ${isTTY ? fitTo(rest, (columns || 80) - widthOf(known) - 2) : rest}`.trimEnd();
}

function asStatuses(texts: readonly string[]): ThreadStatus[] {
  // The parser lets no other words through than the candidates, which are the statuses.
  return texts as ThreadStatus[];
}
