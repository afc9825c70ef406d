import { formatUsage } from '../../agent/format-usage.ts';
import { countSteps, type FoundTurn, startCommitOf } from '../../engine/describe/find-turn.ts';
import type { Repository } from '../../git/repository.ts';
import type { Usage } from '../../schema/built-in/schema-parts.ts';
import { formatCount, formatDuration, formatTime } from '../../text/wording.ts';
import { lineOfStored } from '../../thread/commit-message.ts';
import { readRefused, readSuspension } from '../../thread/exchange.ts';
import { getThread } from '../../thread/find-thread.ts';
import { readTrace, type Trace } from '../../thread/step-trace.ts';
import { agentName, readableMeta } from '../../thread/step-view.ts';
import { readSteps } from '../../thread/thread-chain.ts';
import { personOf, readTextAt, statusOf } from '../../thread/thread-commit.ts';
import type { CommitOf, StepEntry, ThreadState } from '../../thread/thread-state.ts';
import { iso } from '../../time/clock.ts';
import {
  type Command,
  defaultThreadArgument,
  defineCommand,
  parseCount,
  worktreeOption,
} from '../command-line/command.ts';
import { UsageError } from '../errors/exit-code.ts';
import { beforeOption, commitBefore, findStep, findTurn, ofThreadOption, turnArgument } from '../find/find-turn.ts';
import { followTurn } from '../follow/follow-turn.ts';
import { openForReading, openForWriting } from '../open/open-repository.ts';
import { subjectOfReply, suspensionFields, suspensionMarkdown, turnMarkdown } from '../output/markdown.ts';
import type { Output } from '../output/output.ts';
import { formatFacts, formatMeta } from '../output/table.ts';
import { harmless, oneLine, type Palette } from '../output/text.ts';
import { restoreHere } from '../threads/restore-files.ts';
import { agreeToGit } from '../trust/agree-to-git.ts';

type StepSummary = {
  number: number;
  step: string;
  role: string;
  /** `$status` of its meta. */
  status: string | null;
  agent: string;
  /** The person who took the turn, as `name <email>`; null for an agent. */
  by: string | null;
  /** One line of the reply: the first, of a program's output the last. */
  subject: string;
  startedAt: string;
  completedAt: string;
  durationMs: number;
  usage: Usage | null;
  /** The step's commit. */
  head: string;
};

const stepFields: Readonly<Record<keyof StepSummary, string>> = {
  number: "the step's number in its thread, from 1",
  step: 'its hash',
  role: 'who did it',
  status: "the $status of the reply's front matter, or null",
  agent: 'the agent that did the role',
  by: 'the person who took the turn, as name <email>; null for an agent',
  subject: "one line of the reply: the first, of a program's output the last that says something",
  startedAt: 'when the turn began',
  completedAt: 'when it ended',
  durationMs: 'how long it took',
  usage: 'tokens, turns and cost, where the agent told them',
  head: "the step's commit",
};

async function describeStep(
  repository: Repository,
  thread: Pick<ThreadState, 'start'>,
  entry: StepEntry,
): Promise<StepSummary> {
  const { node, hash, id } = entry.commit;
  return {
    number: node.number,
    step: hash,
    role: node.role,
    status: statusOf(node.meta),
    agent: await agentName(repository, thread.start, entry.commit),
    by: personOf(entry.commit) ?? null,
    subject: lineOfStored(entry.commit, entry.text),
    startedAt: iso(node.startedAtMs),
    completedAt: iso(node.completedAtMs),
    durationMs: node.completedAtMs - node.startedAtMs,
    usage: node.usage,
    head: id,
  };
}

export const stepListCommand: Command = defineCommand({
  description: `Lists steps, oldest first. Suspensions are not steps; 'uwf log' lists both. Page through a long thread with
--limit, for the last steps, and --before, for the steps before a given one.`,
  arguments: [defaultThreadArgument],
  options: {
    limit: { short: 'n', value: '<n>', summary: 'only the last so many', parse: parseCount },
    before: beforeOption,
  },
  json: stepFields,
  examples: [
    { command: 'uwf step list 01KAM4', comment: 'all steps' },
    { command: 'uwf step list 01KAM4 -n 20 --before 3F2V0', comment: 'the twenty before that one' },
  ],
  async run({ args, options, cli, out }) {
    const thread = args.thread ?? cli.env['UWF_THREAD'];
    if (!thread) throw new UsageError("'uwf step list' needs a thread", "run 'uwf thread list --all' to see them");
    const repository = await openForReading(cli);
    const pointer = await getThread(repository, thread);
    const { before, limit = Infinity } = options;
    const from = before === undefined ? pointer.head : await commitBefore(repository, pointer, before);
    const piece = await readSteps(repository, from, limit);
    const start = piece.start ?? (await startCommitOf(repository, pointer));
    const steps: StepSummary[] = [];
    for (const entry of piece.steps) steps.push(await describeStep(repository, { start }, entry));
    await out.table<StepSummary>(steps, [
      { title: '#', cell: ({ number }) => String(number), align: 'right' },
      { title: 'STEP', cell: ({ step }) => step, paint: out.paint.id },
      { title: 'ROLE', cell: ({ role }) => role, paint: out.paint.name },
      { title: 'STATUS', cell: ({ status }) => status ?? '' },
      { title: 'AGENT', cell: ({ agent }) => agent },
      { title: 'TOOK', cell: ({ durationMs }) => formatDuration(durationMs), align: 'right', paint: out.paint.quiet },
      { title: 'REPLY', cell: ({ subject }) => subject },
    ]);
    if (steps.length === 0)
      out.hint(`thread ${pointer.id} has no steps${before === undefined ? ' yet' : ' before that'}`);
  },
});

export const stepShowCommand: Command = defineCommand({
  arguments: [turnArgument],
  options: { thread: ofThreadOption },
  json: {
    ...stepFields,
    number: "the step's number in its thread, from 1; null for a suspension",
    step: "its hash, or the suspension's",
    status: "the $status of the reply's front matter, or null; 'suspended'",
    startedAt: 'when the turn began; null for a suspension',
    durationMs: 'how long it took; null for a suspension',
    thread: 'the thread',
    meta: "the reply's front matter; null for a suspension",
    text: "the reply's text, or what a suspended turn said",
    prompt: 'all that the agent was told',
    rule: 'the rule that chose the role, counted from 0; null where a person did',
    attempts: 'hashes of replies that were not accepted, and of tries that were cut off',
    childThreads: 'hashes of the ends of child threads',
    replaces: 'the step that it was done again for; null for most',
    compact: 'the summary of all steps before that it carries; null for most',
    artifacts: 'what was put while the step ran: hashes',
    kind: 'step or suspend',
    ...suspensionFields,
  },
  examples: [
    { command: 'uwf step show 3F2V0', comment: 'by its hash' },
    { command: 'uwf step show 4 --thread 01KAM4 --json=meta', comment: 'by its number, one field' },
    {
      command: 'uwf step show 7QK1M --json=reason,refused',
      comment: 'of a suspension: why, and what was not accepted',
    },
  ],
  async run({ args, options, cli, out }) {
    const repository = await openForReading(cli);
    const { thread, commit } = await findTurn(cli, repository, args.step, options.thread);
    const start = await startCommitOf(repository, thread);
    const count = await countSteps(repository, thread.head);
    const prompt = await readTextAt(repository, commit, 'prompt.md');
    const turn =
      commit.kind === 'step'
        ? await describeStepTurn(repository, { thread, commit, start, prompt })
        : await describeSuspension(repository, { thread, commit, start, prompt });
    await out.result(turn, () => format(turn, count, out.paint));
  },
});

type ReadTurn<K extends 'step' | 'suspend'> = FoundTurn<K> & { start: CommitOf<'start'>; prompt: string };

async function describeStepTurn(repository: Repository, { thread, commit, start, prompt }: ReadTurn<'step'>) {
  const { meta, rule, attempts, childThreads, replaces = null, compact, react: trace } = commit.node;
  const text = await readTextAt(repository, commit, 'output.md');
  return {
    ...(await describeStep(repository, { start }, { commit, text })),
    thread: thread.id,
    meta,
    text,
    prompt,
    rule,
    attempts,
    childThreads,
    replaces,
    compact,
    artifacts: commit.index.filter(({ path }) => path.startsWith('artifacts/')).map(({ hash }) => hash),
    kind: 'step' as const,
    refused: await readRefused(repository, commit),
    trace,
  };
}

async function describeSuspension(repository: Repository, { thread, commit, start, prompt }: ReadTurn<'suspend'>) {
  const { rule, attempts, suspendedAtMs } = commit.node;
  const suspension = await readSuspension(repository, commit);
  return {
    number: null,
    step: commit.hash,
    status: 'suspended',
    agent: await agentName(repository, start, commit),
    by: null,
    subject: subjectOfReply(suspension.text),
    startedAt: null,
    completedAt: iso(suspendedAtMs),
    durationMs: null,
    head: commit.id,
    thread: thread.id,
    meta: null,
    prompt,
    rule,
    attempts,
    childThreads: [],
    replaces: null,
    compact: null,
    artifacts: [],
    kind: 'suspend' as const,
    ...suspension,
  };
}

type DescribedTurn = Awaited<ReturnType<typeof describeStepTurn> | ReturnType<typeof describeSuspension>>;

function format(turn: DescribedTurn, count: number, paint: Palette): string {
  const { step, rule, prompt, refused } = turn;
  const at = formatTime(Date.parse(turn.completedAt));
  const tries = (isCutOff: boolean, fate: string): string | null => {
    const some = refused.filter((reply) => reply.interrupted === (isCutOff || undefined));
    const errors = some.map((reply) => `${reply.attempt} (${reply.errors.map(oneLine).join('; ')})`);
    return some.length === 0 ? null : `${some.length} ${fate}: ${errors.join(', ')}`;
  };
  const facts = formatFacts([
    turn.kind === 'step'
      ? ['step', `${paint.id(step)}  ${paint.quiet(`number ${turn.number} of ${count}`)}`]
      : ['suspension', paint.id(step)],
    ['thread', paint.id(turn.thread)],
    ['role', paint.name(turn.role)],
    ['agent', oneLine(turn.agent)],
    ['by', turn.by && oneLine(turn.by)],
    ['chosen by', rule === null ? 'a person' : `rule ${rule + 1}`],
    ...(turn.kind === 'step'
      ? [['took', `${formatDuration(turn.durationMs)}  ${paint.quiet(at)}`] as const]
      : ([
          ['waits for', oneLine(turn.reason)],
          ['cause', turn.cause],
          ['due', turn.due],
          ['suspended', at],
        ] as const)),
    ['used', formatUsage(turn.usage)],
    ['told', `${formatCount(prompt.length)} characters; 'uwf step read ${step} --prompt' prints them`],
    ['trace', turn.trace && `'uwf step turns ${step}' shows it`],
    ['attempts', tries(false, 'not accepted')],
    ['cut off', tries(true, 'interrupted')],
    ['children', firstOf(turn.childThreads)],
    ['replaces', turn.replaces],
    ['compact', turn.compact && `${turn.compact} stands for the steps before`],
    ['artifacts', turn.artifacts.join(', ')],
    ['commit', turn.head],
  ]);
  const said =
    turn.kind === 'step'
      ? [formatMeta(readableMeta(turn.meta)), harmless(turn.text).trim()]
      : [suspensionMarkdown({ refused, text: turn.text }, paint)];
  return [facts, ...said].filter((part) => part !== '').join('\n\n');
}

const MAX_HASHES = 20;

function firstOf(hashes: readonly string[]): string {
  const left = hashes.length - MAX_HASHES;
  return [...hashes.slice(0, MAX_HASHES), ...(left > 0 ? [`… and ${left} more`] : [])].join(', ');
}

export const stepReadCommand: Command = defineCommand({
  description: `Prints the text of a step's reply, or of a suspended turn, and nothing else. In a pipe it prints the stored
bytes.`,
  arguments: [turnArgument],
  options: {
    thread: ofThreadOption,
    prompt: { summary: 'print all that the agent was told instead' },
  },
  json: { step: "the step's hash, or the suspension's", text: 'what was said, or told' },
  examples: [
    { command: 'uwf step read 3F2V0', comment: 'the reply' },
    { command: 'uwf step read 1 --thread 01KAM4 --prompt', comment: 'the prompt of the first step' },
  ],
  async run({ args, options, cli, out }) {
    const repository = await openForReading(cli);
    const { commit } = await findTurn(cli, repository, args.step, options.thread);
    const hasText = options.prompt || commit.node.content !== null;
    const text = hasText ? await readTextAt(repository, commit, options.prompt ? 'prompt.md' : 'output.md') : '';
    if (!out.isJson && cli.stdout.isTTY !== true) cli.stdout.write(text);
    else await out.result({ step: commit.hash, text }, () => harmless(text));
    if (!hasText) out.hint(`the agent said nothing; 'uwf step show ${commit.hash}' shows why the turn was suspended`);
  },
});

export const stepTurnsCommand: Command = defineCommand({
  description: `Shows the turns of the model behind a step: what it was told, what it thought and said, the tools that it
called and what they gave back, with times, tokens and cost. Page through a long trace with --limit, for the last turns, and
--before, for the turns before a given one. A suspension has turns too: give its hash, or only the thread for its newest
step.

With --live it follows the running turn of the thread, from any terminal of this machine, or shows the last turn if it was
cut off.`,
  arguments: [{ ...turnArgument, summary: `${turnArgument.summary}; by default the newest`, isOptional: true }],
  options: {
    thread: ofThreadOption,
    limit: { short: 'n', value: '<n>', summary: 'only the last so many turns', parse: parseCount },
    before: { value: '<turn>', summary: 'only turns before this one: its hash or its number' },
    live: { summary: 'show the turn that goes on' },
  },
  json: {
    step: "the step's hash, or the suspension's",
    thread: 'the thread',
    role: 'who did it',
    agentVersion: 'what the agent calls its version or model, or null',
    stopReason: 'why the agent stopped, in its own words, or null',
    durationMs: 'how long the agent worked',
    totalTokens: 'tokens in and out of all turns',
    usage: 'what the step has cost, or null',
    count: 'how many turns there are',
    turns:
      'those that are shown: number, turn (its hash), input, output, parts (kind, text), toolCalls (name, arguments, result, isError, durationMs), tokens, costUsd, startedAt, latencyMs; with --live a line for each event instead',
  },
  examples: [
    { command: 'uwf step turns 3F2V0', comment: 'the whole trace' },
    { command: 'uwf step turns 3F2V0 -n 20 --before 60', comment: 'turns 40 to 59' },
    { command: 'uwf step turns --thread 01KAM4 --live', comment: 'what is going on now' },
  ],
  async run({ args, options, cli, out }) {
    const repository = await openForReading(cli);
    if (options.live) {
      const thread = options.thread ?? cli.env['UWF_THREAD'];
      if (!thread) throw new UsageError('--live needs a thread', 'name it with --thread');
      return followTurn({ cli, out }, repository, thread);
    }
    const found = await findTurn(cli, repository, args.step, options.thread);
    const { limit, before } = options;
    const trace = await readTrace(repository, found.commit, { limit, before });
    await out.result(describe(found, trace), () => markdown(found, trace, out));
    const first = trace?.turns[0];
    if (trace === undefined) out.hint(`the agent left no trace; 'uwf step read ${found.commit.hash}' prints its reply`);
    else if (first && first.number > 1) out.hint(`what came before: --before ${first.number}`);
  },
});

function describe({ thread, commit }: FoundTurn, trace: Trace | undefined): object {
  const { node } = commit;
  return {
    step: commit.hash,
    thread: thread.id,
    role: node.role,
    agentVersion: node.agentVersion ?? null,
    stopReason: commit.kind === 'step' ? (commit.node.stopReason ?? null) : null,
    durationMs: trace?.session.durationMs ?? null,
    totalTokens: trace?.session.totalTokens ?? null,
    usage: node.usage,
    count: trace?.session.turns.length ?? 0,
    turns: (trace?.turns ?? []).map(({ number, hash, startedAtMs, ...turn }) => {
      return { number, turn: hash, ...turn, startedAt: iso(startedAtMs) };
    }),
  };
}

function markdown({ commit }: FoundTurn, trace: Trace | undefined, { paint }: Output): string {
  if (!trace) return '';
  const { session, turns } = trace;
  const which = commit.kind === 'step' ? `Step ${commit.node.number}` : 'Suspended turn';
  const facts = [formatDuration(session.durationMs), formatUsage(commit.node.usage), commit.hash];
  const head = `${paint.title(`# ${which}: ${session.role}`)}\n${paint.quiet(facts.filter(Boolean).join('  '))}`;
  return [head, ...turns.map((turn) => turnMarkdown(turn, session.turns.length, paint))].join('\n\n');
}

export const stepRestoreCommand: Command = defineCommand({
  description: `Makes a linked work tree (git worktree) with exactly the files that were in the work tree when the step was done, tracked and
untracked. HEAD is detached at the commit that was checked out then, and what differs from it is staged. Your own work tree,
its index, HEAD and stash stay as they are.

Steps record their files where the role or the configuration says 'snapshot: on' or 'changed'.`,
  arguments: [{ name: 'step', summary: 'its hash, or with --thread its number', candidates: 'step' }],
  options: { thread: ofThreadOption, worktree: worktreeOption },
  json: {
    step: "the step's hash",
    folder: 'where the files are',
    isWhole: 'false if the step could not record all its files; if none, these are those of its commit',
    missing: 'what is not there as it was: count, and the first files with path and reason; absent if nothing',
    filters: 'required filters, if one failed: files that need them are as git stores them; absent if none did',
    submodules: 'folders of submodules, which are empty',
  },
  examples: [
    { command: 'uwf step restore 3 --thread 01KAM4 --worktree ../as-of-step-3', comment: 'look at what it did' },
    { command: 'git worktree remove --force ../as-of-step-3', comment: 'remove it again' },
  ],
  async run({ args, options, cli, out }) {
    if (options.worktree === undefined) {
      throw new UsageError("'uwf step restore' needs a folder", 'name one that does not exist yet with --worktree');
    }
    const repository = await openForWriting(cli);
    const { commit } = await findStep(cli, repository, args.step, options.thread);
    await agreeToGit(cli, repository, 'files');
    const restored = await restoreHere(cli, out, repository, commit, options.worktree);
    await out.result({ step: commit.hash, ...restored }, () => restored.folder);
  },
});
