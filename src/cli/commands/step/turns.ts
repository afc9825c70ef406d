import { iso } from '../../../time/clock.ts';
import { defineCommand, type Command } from '../../command-line/command.ts';
import type { FoundTurn } from '../../../engine/describe/find-turn.ts';
import { findTurn, ofThreadOption, turnArgument } from '../../find/find-turn.ts';
import { followTurn } from '../../follow/follow-turn.ts';
import { parseCount } from '../../command-line/parse-value.ts';
import { openForReading } from '../../open/open-repository.ts';
import type { Output } from '../../output/output.ts';
import { formatDuration } from '../../../text/wording.ts';
import { turnMarkdown } from '../../output/turn-markdown.ts';
import { formatUsage } from '../../../agent/format-usage.ts';
import { UsageError } from '../../errors/usage-error.ts';
import { readTrace, type Trace } from '../../../thread/step-trace.ts';

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
