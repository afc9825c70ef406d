import { iso } from '../../../time/clock.ts';
import type { Repository } from '../../../git/repository.ts';
import { readTextAt } from '../../../thread/thread-commit.ts';
import { readRefused, readSuspension } from '../../../thread/exchange.ts';
import { agentName, readableMeta } from '../../../thread/step-view.ts';
import type { CommitOf } from '../../../thread/thread-state.ts';
import { defineCommand, type Command } from '../../command-line/command.ts';
import { countSteps, startCommitOf, type FoundTurn } from '../../../engine/describe/find-turn.ts';
import { findTurn, ofThreadOption, turnArgument } from '../../find/find-turn.ts';
import { openForReading } from '../../open/open-repository.ts';
import { describeStep, stepFields } from '../../output/describe-step.ts';
import type { Palette } from '../../output/palette.ts';
import { subjectOfReply } from '../../output/subject-of-reply.ts';
import { suspensionFields, suspensionMarkdown } from '../../output/suspension-markdown.ts';
import { formatFacts, formatMeta } from '../../output/table.ts';
import { formatCount, formatDuration, formatTime } from '../../../text/wording.ts';
import { formatUsage } from '../../../agent/format-usage.ts';
import { harmless, oneLine } from '../../output/width.ts';

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

/** So many hashes are printed. */
const MAX_HASHES = 20;

function firstOf(hashes: readonly string[]): string {
  const left = hashes.length - MAX_HASHES;
  return [...hashes.slice(0, MAX_HASHES), ...(left > 0 ? [`… and ${left} more`] : [])].join(', ');
}
