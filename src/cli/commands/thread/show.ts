import {
  type ChildView,
  describeThread,
  foldChildren,
  hintToAnswer,
  ownKey,
  type ThreadView,
  waitingChildren,
} from '../../../engine/describe/describe.ts';
import { describeInterruption, hintAtInterruption } from '../../../engine/recovery/turn-log.ts';
import type { SuspensionOutline } from '../../../thread/exchange.ts';
import { type Command, defineCommand, threadArgument, threadFields } from '../../command-line/command.ts';
import { openForReading } from '../../open/open-repository.ts';
import type { Output } from '../../output/output.ts';
import type { KnownClaim } from '../../../sync/claims.ts';
import { isOver } from '../../../thread/thread-state.ts';
import { knownClaims, describeClaim } from '../../threads/known-claims.ts';
import { fitTo, oneLine, paintStatus } from '../../output/text.ts';
import { subjectOfReply } from '../../output/markdown.ts';
import { formatFacts } from '../../output/table.ts';
import { formatAgo, formatTime } from '../../../text/wording.ts';
import { formatUsage } from '../../../agent/format-usage.ts';

export const threadShowCommand: Command = defineCommand({
  arguments: [threadArgument],
  json: {
    ...threadFields,
    parent: 'the thread that called it, or null',
    branch: 'which branch of the parent it is: block, key; null for a thread that is none',
    parentState: 'the last step or start of the parent when it called; null without a parent',
    children: 'the threads that it called',
    calls:
      'the same in detail: thread, status, role, key, parentState, end (hash), step (that took the end in), isLeft (the thread went on without it)',
    suspension:
      'of a suspended one: suspension (its hash), role, reason, cause, text (what the agent said), refused (attempt, errors, interrupted), trace, usage, due; else null',
    waitsFor:
      'the child, or one below it, that asks, the first if several branches ask; null if this thread asks. Resuming either answers it if no other branch asks',
    returnCode: 'of a thread that is over: 0 for completed',
    kept: 'the file of a finished reply that could not be stored, and that the next run stores; or null',
    workflowHash: "the definition's node",
    depth: 'how many threads are above it',
    holder: 'who works on it here: pid, host, since; or null',
    claim:
      'which worker of a remote had it at the last fetch: remote, worker, host, role, held, stoppedBy, reason, seenAt (when it last changed, as seen here); or null',
    usage:
      'the cost of all its turns, also of those that were cut off or go on: inputTokens (with those of caches), outputTokens, turns, costUsd, cacheReadTokens, cacheWriteTokens, isAtLeast (true if a part is not known); or null',
    usageByRole: 'the same for each role',
  },
  examples: [
    { command: 'uwf thread show 01KAM4', comment: 'the first characters of an id will do' },
    { command: 'uwf thread show 01KAM4 --query status', comment: 'one fact, as JSON' },
  ],
  async run({ args, cli, out }) {
    const repository = await openForReading(cli);
    const context = { repository, config: { agents: {}, roles: {} } };
    const view = await describeThread(context, args.thread);
    const isOpen = !isOver(view.status);
    const claim = isOpen ? ((await knownClaims(repository, view.thread)).get(view.thread) ?? null) : null;
    await out.result({ ...inPromisedOrder(view), claim }, () => describe(view, claim, out, cli.now()));
    if (cli.stdout.isTTY !== true && !view.interruption) return;
    const next = view.status === 'suspended' ? await hintToAnswer(context, view) : nextStep(view);
    if (next !== undefined) out.hint(next);
  },
});

function inPromisedOrder(view: ThreadView): object {
  const { thread, status, workflow, head, steps, nextRole, parent, children, startedAt, endedAt, ...more } = view;
  return { thread, status, workflow, head, steps, nextRole, parent, children, startedAt, endedAt, ...more };
}

function describe(view: ThreadView, claim: KnownClaim | null, { paint }: Output, nowMs: number): string {
  const why = view.summary ?? view.reason;
  const by = view.cancelledBy === null ? '' : ` by ${oneLine(view.cancelledBy)}`;
  const reason = why === null ? '' : `: ${oneLine(why)}`;
  const time = (iso: string): string =>
    `${formatTime(Date.parse(iso))}  ${paint.quiet(formatAgo(Date.parse(iso), nowMs))}`;
  const roles = Object.keys(view.usageByRole);
  return formatFacts([
    ['thread', paint.id(view.thread)],
    ['status', paintStatus(paint, view.status) + by + reason],
    ...(view.suspension ? aboutSuspension(view.suspension) : []),
    ['workflow', `${paint.name(view.workflow)}  ${paint.quiet(view.workflowHash)}`],
    ['task', oneLine(view.prompt)],
    ['steps', String(view.steps)],
    ['next', view.nextRole === null ? null : paint.name(view.nextRole)],
    ['runs as', view.holder && `process ${view.holder.pid} on ${view.holder.host}`],
    ['worker', claim && describeClaim(claim, nowMs)],
    ['kept', view.kept && `a finished reply, in ${view.kept}; 'uwf thread run ${view.thread}' stores it`],
    ['interrupted', view.interruption && describeInterruption(view.interruption)],
    ['started', time(view.startedAt)],
    ['ended', view.endedAt && time(view.endedAt)],
    ['used', formatUsage(view.usage)],
    ...Object.entries(roles.length > 1 ? view.usageByRole : {}).map(
      ([role, usage]) => [`  ${oneLine(role)}`, formatUsage(usage)] as const,
    ),
    ['asked by', view.waitsFor && askedBy(view.waitsFor, view, paint)],
    ['depth', view.depth === 0 && view.calls.length === 0 ? null : String(view.depth)],
    ['branch', view.branch && `${paint.name(oneLine(view.branch.block))} ${oneLine(view.branch.key)}`],
    ['parent', view.parent && `${paint.id(view.parent)}  ${paint.quiet(`called from ${view.parentState}`)}`],
    ...describeChildren(view.calls, paint).map((line, place) => [place === 0 ? 'children' : '', line] as const),
    ['head', view.head],
  ]);
}

function aboutSuspension({ suspension, cause, due, refused, text }: SuspensionOutline): (readonly [string, string])[] {
  const count = refused?.filter((reply) => !reply.interrupted).length ?? 0;
  const notAccepted = count === 0 ? '' : `; ${count} ${count === 1 ? 'reply' : 'replies'} not accepted`;
  return [
    ['cause', `${cause}${notAccepted}`],
    ['due', due ?? ''],
    ['said', oneLine(subjectOfReply(text))],
    ['turn', `${suspension}; 'uwf step show ${suspension}' shows all of it`],
  ];
}

/** So many children have lines of their own. */
const MAX_CHILDREN = 20;
const MAX_KEY = 60;

function describeChildren(calls: readonly ChildView[], paint: Output['paint']): string[] {
  const { shown, rest } = foldChildren(calls, MAX_CHILDREN);
  const lines = shown.map((child) => describeChild(child, paint));
  return rest === '' ? lines : [...lines, paint.quiet(`… and ${rest}; --json=calls has all`)];
}

function describeChild({ thread, status, role, key, end, isLeft }: ChildView, paint: Output['paint']): string {
  const ended = end === null ? '' : `  ${paint.quiet(`end ${end}`)}`;
  // A block cancels the branches that it does not wait for: no try was to ask for them.
  const left = isLeft && status !== 'cancelled' ? `  ${paint.warning('left: no later try asked for it')}` : '';
  const called = `${paint.name(oneLine(role))} ${fitTo(oneLine(ownKey(key)), MAX_KEY)}`.trimEnd();
  return `${paint.id(thread)}  ${paintStatus(paint, status)}  ${called}${ended}${left}`;
}

/** The thread that asks, with the key of the call that leads there; '' where several ask, which the children's statuses tell. */
function askedBy(thread: string, view: ThreadView, paint: Output['paint']): string {
  if (waitingChildren(view).length > 1) return '';
  const key = ownKey(view.calls.find((child) => child.thread === thread)?.key ?? '');
  return `${paint.id(thread)}  ${fitTo(oneLine(key), MAX_KEY)}`.trimEnd();
}

function nextStep({ thread, status, interruption }: ThreadView): string | undefined {
  if (interruption) return hintAtInterruption(thread, interruption);
  switch (status) {
    case 'idle':
      return `'uwf thread run ${thread}' runs it on`;
    case 'running':
      return `'uwf thread join ${thread}' waits for it`;
    default:
      return `'uwf log ${thread}' shows its log`;
  }
}
