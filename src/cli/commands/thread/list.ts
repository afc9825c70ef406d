import { eachThread, inOrder, isLongList, type ListOptions } from '../../../engine/describe/list-threads.ts';
import type { ThreadSummary } from '../../../engine/describe/read-listed.ts';
import type { Interruption } from '../../../engine/recovery/turn-log.ts';
import type { ListChange } from '../../../engine/describe/follow-threads.ts';
import type { UwfError } from '../../../errors.ts';
import { type SuspendCause, suspendCauses } from '../../../schema/built-in/thread-start.ts';
import { getThread, listPointers } from '../../../thread/find-thread.ts';
import type { ThreadId } from '../../../thread/thread-id.ts';
import { threadStatuses } from '../../../thread/thread-state.ts';
import { type Command, defineCommand, momentOption, parseCount, threadFields } from '../../command-line/command.ts';
import { EXIT } from '../../errors/exit-code.ts';
import { openForReading } from '../../open/open-repository.ts';
import type { Output } from '../../output/output.ts';
import { type Column, shortIds } from '../../output/table.ts';
import { fitTo, oneLine, paintStatus, widthOf } from '../../output/text.ts';
import { knownClaims } from '../../threads/known-claims.ts';
import { formatAgo, formatCount, plural } from '../../../text/wording.ts';
import type { CliEnvironment } from '../../process/cli-environment.ts';

const longestStatus = Math.max(...threadStatuses.map((status) => status.length));

/** In a pipe the first rows of a long list are printed when so many are known, and then ever so many. */
const FIRST_ROWS = 20;
const MORE_ROWS = 500;

/** What was asked, or says by itself why it waits. */
const isQuestion: ReadonlySet<SuspendCause> = new Set<SuspendCause>(['agent', 'human', 'child']);

/** Those of them that a thread never leaves. */
const over = ['ended', 'failed', 'cancelled'] as const;

export const threadListCommand: Command = defineCommand({
  description: `Lists every thread that is not over: first the suspended ones, which wait for a person, then the others,
newest first. With --limit or --cursor all threads are in one order, newest first; then the cost depends on how many are
shown, not on how many there are. A table of more than 1,000 threads is printed while they are read where it goes to a file
or another program; it is in this order, too.

With --follow it lists them, oldest first, and prints each one again when it changes, until it is interrupted; under --json
as JSON lines. A thread that leaves the list is printed a last time; one that was deleted has the status 'removed'.

An idle thread that a worker of a remote had at the last fetch is 'claimed by' that worker; 'uwf thread show' tells since when.

With --remote it lists the threads of a remote, newest first, by the names of its refs; nothing is fetched.`,
  options: {
    all: { short: 'a', summary: 'list those that are over as well' },
    ended: { summary: 'list those that are over, and no others' },
    archived: { summary: 'list those that are archived here, and no others' },
    status: {
      value: '<status>',
      summary: `only threads with this status; several with commas`,
      isRepeatable: true,
      candidates: threadStatuses,
    },
    workflow: { value: '<name>', summary: 'only threads of this workflow', candidates: 'workflow' },
    role: { value: '<role>', summary: 'only threads in which this role is next, or waits' },
    text: { value: '<text>', summary: 'only threads whose prompt has this text' },
    since: momentOption('only threads started since then: 2d, 2026-11-21'),
    until: momentOption('only threads started before then'),
    'ended-since': momentOption('only threads that ended since then; with --remote by the UTC day'),
    'ended-until': momentOption('only threads that ended before then; with --remote by the UTC day'),
    before: momentOption('the same as --ended-until: 90d'),
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
    ...threadFields,
    cause: `what suspended it: ${suspendCauses.join(', ')}; null for one that is not suspended`,
    endedOn: 'with --remote: the UTC day on which it ended, or null',
    here: "with --remote: whether it is here, too: 'same' commit, 'other' commit, or 'none'",
  },
  examples: [
    { command: 'uwf thread list', comment: 'what goes on, and what waits for you' },
    { command: 'uwf thread list --status failed --since 7d', comment: 'what went wrong this week' },
    { command: 'uwf thread list --ended --before 90d', comment: 'what can be removed' },
    { command: 'uwf thread list --ended-since 2026-11-21 --ended-until 2026-11-22', comment: 'what ended on a day' },
    { command: 'uwf thread list --follow --json', comment: 'a stream of what changes' },
    { command: 'uwf thread list --remote=origin --since 30d', comment: 'what others have shared this month' },
    { command: "uwf thread list --all --json --query '$count($)'", comment: 'how many there are' },
  ],
  async run({ options, cli, out }) {
    const nowMs = cli.now();
    const { workflow, role, text, limit, cursor } = options;
    const endedBefore = [options['ended-until'], options.before].flatMap((moment) => moment?.(nowMs) ?? []);
    const times = {
      endedSinceMs: options['ended-since']?.(nowMs),
      endedBeforeMs: endedBefore.length > 0 ? Math.min(...endedBefore) : undefined,
      sinceMs: options.since?.(nowMs),
      untilMs: options.until?.(nowMs),
    };
    if (options.remote !== undefined) {
      const { listAtRemote } = await import('../../sharing/list-at-remote.ts');
      return listAtRemote(cli, out, { ...options, ...times });
    }
    const repository = await openForReading(cli);
    const wanted =
      options.status.length > 0
        ? threadStatuses.filter((status) => options.status.includes(status))
        : options.all
          ? threadStatuses
          : options.ended || options.archived || times.endedSinceMs !== undefined || endedBefore.length > 0
            ? over
            : undefined;
    const which: ListOptions = {
      statuses: wanted,
      workflow,
      role,
      text,
      limit,
      archived: options.archived || undefined,
      ...times,
      cursor: cursor === undefined ? undefined : (await getThread(repository, cursor)).id,
    };
    if (options.follow) {
      const { followThreads } = await import('../../../engine/describe/follow-threads.ts');
      for await (const change of followThreads({ repository }, which, cli.signal)) {
        await out.line(change, changeLine(change, out, cli.stdout));
      }
      return EXIT.interrupted;
    }
    const damage: UwfError[] = [];
    const isTerminal = !out.isJson && cli.stdout.isTTY === true;
    const isPiece = limit !== undefined || cursor !== undefined;
    const isPrintedEarly = !out.isJson && !isTerminal && !isPiece && (await isLongList(repository, which));
    // The names of all refs are read where prefixes may be shown, and nowhere else.
    const known = isTerminal ? await listPointers(repository, undefined, { damaged: () => {} }) : [];
    const short = shortIds(known.map(({ id }) => id));
    const started = ({ startedAt }: ThreadSummary): string => formatAgo(Date.parse(startedAt), nowMs);
    const claims = out.isJson || isPrintedEarly ? undefined : await knownClaims(repository);
    const statusCell = ({ thread, status }: ThreadSummary): string => {
      const claim = status === 'idle' ? claims?.get(thread) : undefined;
      if (claim === undefined) return status;
      return claim.stoppedBy === null ? `claimed by ${oneLine(claim.worker)}` : `stopped at ${claim.remote}`;
    };
    const columns = (areWaiting: boolean): Column<ThreadSummary>[] => [
      { title: 'THREAD', cell: ({ thread }) => thread, short: ({ thread }) => short(thread), paint: out.paint.id },
      { title: 'STATUS', cell: statusCell, paint: (text) => paintStatus(out.paint, text) },
      { title: 'WORKFLOW', cell: (thread) => thread.workflow, paint: out.paint.name, least: 8, extra: 2 },
      { title: 'STEPS', cell: ({ steps }) => String(steps), align: 'right', extra: 4 },
      { title: 'NEXT', cell: ({ nextRole }) => nextRole ?? '', least: 6, extra: 3 },
      { title: 'STARTED', cell: started, paint: out.paint.quiet, extra: 5 },
      ...(areWaiting ? [{ title: 'WHY', cell: whyItWaits, least: 12 }] : []),
      { title: 'TASK', cell: ({ prompt }) => prompt, least: 10, ...(areWaiting && { extra: 1 }) },
    ];
    const isTold = !isPrintedEarly && cli.stderr.isTTY === true;
    const progress = isTold ? new (await import('../../output/progress-line.ts')).ProgressLine(cli.stderr) : undefined;
    const look = (): void => progress?.count((count) => `reading threads: ${formatCount(count)}`);
    const seen = new Remarks();
    const widths: number[] = [];
    let threads: ThreadSummary[] = [];
    const found = eachThread({ repository }, { ...which, onDamaged: (one) => damage.push(one) }, progress && look);
    for await (const summary of found) {
      seen.look(summary);
      threads.push(summary);
      if (!isPrintedEarly || threads.length < (widths.length === 0 ? FIRST_ROWS : MORE_ROWS)) continue;
      out.rows(threads, columns(true), widths);
      threads = [];
    }
    progress?.clear();
    if (isPrintedEarly) out.rows(threads, columns(true), widths);
    else await out.table(inOrder(threads, which), columns(seen.areWaiting));
    if (seen.count === 0) {
      const isFiltered = Object.values(which).some((value) => value !== undefined);
      const noneActive = "no thread is active; 'uwf thread list --all' lists those that are over";
      out.hint(isFiltered ? 'no thread is like that' : noneActive);
    }
    for (const { thread, interruption } of seen.interrupted) {
      const { describeInterruption, hintAtInterruption } = await import('../../../engine/recovery/turn-log.ts');
      out.hint(`thread ${thread}: ${describeInterruption(interruption)}; ${hintAtInterruption(thread, interruption)}`);
    }
    if (seen.hasDamagedRefs) out.hint("the refs of corrupt threads are damaged; 'uwf doctor' says which and how");
    // What could be read is listed; that it is not all is a failure.
    if (damage[0] !== undefined) throw damage[0];
  },
});

/** What is said below a list. */
class Remarks {
  count = 0;
  areWaiting = false;
  hasDamagedRefs = false;
  readonly interrupted: { thread: ThreadId; interruption: Interruption }[] = [];

  look(summary: ThreadSummary): void {
    const { thread, interruption, status, head } = summary;
    this.count += 1;
    this.areWaiting ||= whyItWaits(summary) !== '';
    this.hasDamagedRefs ||= status === 'corrupt' && head === null;
    if (interruption !== null) this.interrupted.push({ thread, interruption });
  }
}

/** Why a thread needs a person, its cause first; '' if it needs none. */
function whyItWaits({ status, cause, reason, summary }: ThreadSummary): string {
  if (status === 'failed' || status === 'corrupt') return summary ?? reason ?? '';
  if (status !== 'suspended' || reason === null) return '';
  return cause === null || isQuestion.has(cause) ? reason : `${cause}: ${reason}`;
}

function changeLine(change: ListChange, { paint }: Output, { isTTY, columns }: CliEnvironment['stdout']): string {
  const padding = ' '.repeat(longestStatus - change.status.length);
  const known = `${paint.id(change.thread)}  ${paintStatus(paint, change.status)}${padding}`;
  if (change.status === 'removed') return known.trimEnd();
  const { workflow, steps, nextRole, prompt } = change;
  const next = nextRole === null ? '' : `next ${nextRole}`;
  const texts = [workflow, plural(steps, 'step'), next, whyItWaits(change), prompt].map(oneLine);
  const rest = texts.filter((text) => text !== '').join('  ');
  return `${known}  ${isTTY ? fitTo(rest, (columns || 80) - widthOf(known) - 2) : rest}`.trimEnd();
}
