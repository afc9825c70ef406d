import { defineCommand, type Command } from '../../command.ts';
import { describeStep, stepFields } from '../../describe-step.ts';
import { ofThreadOption, readStart } from '../../find-step.ts';
import { findTurn, turnArgument } from '../../find-turn.ts';
import { openToRead } from '../../open-repository.ts';
import { formatMeta } from '../../output/meta.ts';
import type { Output } from '../../output/output.ts';
import type { Palette } from '../../output/palette.ts';
import { suspensionFields, suspensionMarkdown } from '../../output/suspension-markdown.ts';
import { formatFacts } from '../../output/table.ts';
import { formatCount, formatDuration, formatTime } from '../../output/time.ts';
import { formatUsage } from '../../output/usage.ts';
import { harmless, oneLine } from '../../output/width.ts';
import { agentName } from '../../../engine/decision-context.ts';
import { findStepPlaces } from '../../../engine/step-places.ts';
import type { Repository } from '../../../git/repository.ts';
import { subjectOfReply } from '../../subject-of-reply.ts';
import type { ThreadPointer } from '../../../thread/find-thread.ts';
import { readRefused, readSuspension, type Suspension } from '../../../thread/read-suspension.ts';
import { readTextAt } from '../../../thread/thread-commit.ts';
import type { CommitOf } from '../../../thread/thread-state.ts';

export const command: Command = defineCommand({
  summary: 'show all about a step, or a turn that was suspended',
  arguments: [turnArgument],
  options: { thread: ofThreadOption },
  json: {
    shape: 'object',
    fields: {
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
      attempts: 'hashes of replies that were not accepted',
      childThreads: 'hashes of the ends of child threads',
      replaces: 'the step that it was done again for; null for most',
      compact: 'the summary of all steps before that it carries; null for most',
      artifacts: 'what was put while the step ran: hashes',
      kind: 'step or suspend',
      ...suspensionFields,
    },
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
    const repository = await openToRead(cli);
    const found = await findTurn(cli, repository, args.step, options.thread);
    const places = await findStepPlaces(repository, found.thread);
    const start = await readStart(repository, found.thread, places);
    const { commit } = found;
    const prompt = await readTextAt(repository, commit, 'prompt.md');
    const shown =
      commit.kind === 'step'
        ? await showStep(repository, { ...found, commit }, start, prompt, places.count)
        : await showSuspension(repository, { ...found, commit }, start, prompt);
    await out.result(shown.value, () => shown.text(out));
  },
});

type Found<K extends 'step' | 'suspend'> = { thread: ThreadPointer; commit: CommitOf<K> };
/** What is printed under `--json`, and for people. */
type Shown = { value: object; text: (out: Output) => string };

async function showStep(
  repository: Repository,
  { thread, commit }: Found<'step'>,
  start: CommitOf<'start'>,
  prompt: string,
  count: number,
): Promise<Shown> {
  const { node, index } = commit;
  const text = await readTextAt(repository, commit, 'output.md');
  const summary = await describeStep(repository, { start }, { commit, text });
  const artifacts = index.filter(({ path }) => path.startsWith('artifacts/')).map(({ hash }) => hash);
  const { meta, rule, attempts, childThreads, usage } = node;
  const value = {
    ...summary,
    thread: thread.id,
    meta,
    text,
    prompt,
    rule,
    attempts,
    childThreads,
    replaces: node.replaces ?? null,
    compact: node.compact,
    artifacts,
    kind: 'step',
    refused: await readRefused(repository, commit),
    trace: node.react,
  };
  return {
    value,
    text({ paint }) {
      const facts = formatFacts([
        ['step', `${paint.id(summary.step)}  ${paint.quiet(`number ${summary.number} of ${count}`)}`],
        ...aboutTurn(value, paint),
        ['took', `${formatDuration(summary.durationMs)}  ${paint.quiet(formatTime(node.completedAtMs))}`],
        ['used', formatUsage(usage)],
        ...aboutTexts(value),
        ['children', childThreads.join(', ')],
        ['replaces', node.replaces],
        ['compact', node.compact && `${node.compact} stands for the steps before`],
        ['artifacts', artifacts.join(', ')],
        ['commit', summary.head],
      ]);
      return [facts, formatMeta(meta), harmless(text).trim()].filter((part) => part !== '').join('\n\n');
    },
  };
}

async function showSuspension(
  repository: Repository,
  { thread, commit }: Found<'suspend'>,
  start: CommitOf<'start'>,
  prompt: string,
): Promise<Shown> {
  const { rule, attempts, suspendedAtMs } = commit.node;
  const suspension = await readSuspension(repository, commit);
  const value = {
    number: null,
    step: commit.hash,
    status: 'suspended',
    agent: await agentName(repository, { start }, { commit }),
    subject: subjectOfReply(suspension.text),
    startedAt: null,
    completedAt: new Date(suspendedAtMs).toISOString(),
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
    kind: 'suspend',
    ...suspension,
  };
  return {
    value,
    text({ paint }) {
      const facts = formatFacts([
        ['suspension', paint.id(commit.hash)],
        ...aboutTurn(value, paint),
        ['waits for', oneLine(suspension.reason)],
        ['cause', suspension.cause],
        ['due', suspension.due],
        ['suspended', formatTime(suspendedAtMs)],
        ['used', formatUsage(suspension.usage)],
        ...aboutTexts(value),
        ['commit', commit.id],
      ]);
      return [facts, suspensionMarkdown(suspension, paint)].filter((part) => part !== '').join('\n\n');
    },
  };
}

type Turn = Pick<Suspension, 'role' | 'refused' | 'trace'> & {
  step: string;
  thread: string;
  agent: string;
  rule: number | null;
  prompt: string;
};
type Facts = (readonly [name: string, text: string | null])[];

function aboutTurn({ thread, role, agent, rule }: Turn, paint: Palette): Facts {
  return [
    ['thread', paint.id(thread)],
    ['role', paint.name(role)],
    ['agent', oneLine(agent)],
    ['chosen by', rule === null ? 'a person' : `rule ${rule + 1}`],
  ];
}

function aboutTexts({ step, prompt, refused, trace }: Turn): Facts {
  const errors = refused.map((reply) => `${reply.attempt} (${reply.errors.map(oneLine).join('; ')})`);
  return [
    ['told', `${formatCount(prompt.length)} characters; 'uwf step read ${step} --prompt' prints them`],
    ['trace', trace && `'uwf step turns ${step}' shows it`],
    ['attempts', refused.length === 0 ? null : `${refused.length} not accepted: ${errors.join(', ')}`],
  ];
}
