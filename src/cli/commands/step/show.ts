import { defineCommand, type Command } from '../../command.ts';
import { describeStep, stepFields } from '../../describe-step.ts';
import { findStep, ofThreadOption, readStart } from '../../find-step.ts';
import { openToRead } from '../../open-repository.ts';
import { formatMeta } from '../../output/meta.ts';
import { formatFacts } from '../../output/table.ts';
import { formatCount, formatDuration, formatTime } from '../../output/time.ts';
import { harmless } from '../../output/width.ts';
import { readTextAt } from '../../../thread/thread-commit.ts';

export const command: Command = defineCommand({
  summary: 'show all about a step',
  arguments: [{ name: 'step', summary: "the step's hash or its first characters; with --thread also its number" }],
  options: { thread: ofThreadOption },
  json: {
    shape: 'object',
    fields: {
      ...stepFields,
      thread: 'the thread',
      meta: "the reply's front matter",
      text: "the reply's text",
      prompt: 'all that the agent was told',
      rule: 'the rule that chose the role, counted from 0; null where a person did',
      attempts: 'hashes of replies that were not accepted',
      childThreads: 'hashes of the ends of child threads',
      replaces: 'the step that it was done again for; null for most',
      compact: 'the summary of all steps before that it carries; null for most',
      artifacts: 'what was put while the step ran: hashes',
    },
  },
  examples: [
    { command: 'uwf step show 3F2V0', comment: 'by its hash' },
    { command: 'uwf step show 4 --thread 01KAM4 --json=meta', comment: 'by its number, one field' },
  ],
  async run({ args, options, cli, out }) {
    const repository = await openToRead(cli);
    const { thread, places, entry } = await findStep(cli, repository, args.step, options.thread);
    const { node, index } = entry.commit;
    const summary = await describeStep(repository, { start: await readStart(repository, thread, places) }, entry);
    const prompt = await readTextAt(repository, entry.commit, 'prompt.md');
    const artifacts = index.filter(({ path }) => path.startsWith('artifacts/')).map(({ hash }) => hash);
    const { meta, rule, attempts, childThreads, usage } = node;
    const value = {
      ...summary,
      thread: thread.id,
      meta,
      text: entry.text,
      prompt,
      rule,
      attempts,
      childThreads,
      replaces: node.replaces ?? null,
      compact: node.compact,
      artifacts,
    };
    await out.result(value, () => {
      const { paint } = out;
      const facts = formatFacts([
        ['step', `${paint.id(summary.step)}  ${paint.quiet(`number ${summary.number} of ${places.count}`)}`],
        ['thread', paint.id(thread.id)],
        ['role', paint.name(summary.role)],
        ['agent', summary.agent],
        ['chosen by', rule === null ? 'a person' : `rule ${rule + 1}`],
        ['took', `${formatDuration(summary.durationMs)}  ${paint.quiet(formatTime(node.completedAtMs))}`],
        ['tokens', usage && `${formatCount(usage.inputTokens)} in, ${formatCount(usage.outputTokens)} out`],
        ['cost', usage?.costUsd === undefined ? null : `$${usage.costUsd.toFixed(4)}`],
        ['told', `${formatCount(prompt.length)} characters; 'uwf step read ${summary.step} --prompt' prints them`],
        ['attempts', attempts.length === 0 ? null : `${attempts.length} not accepted: ${attempts.join(', ')}`],
        ['children', childThreads.join(', ')],
        ['replaces', node.replaces],
        ['compact', node.compact && `${node.compact} stands for the steps before`],
        ['artifacts', artifacts.join(', ')],
        ['commit', summary.head],
      ]);
      return [facts, formatMeta(meta), harmless(entry.text).trim()].filter((part) => part !== '').join('\n\n');
    });
  },
});
