import { defaultThreadArgument } from '../../command-line/shared-arguments.ts';
import { getThread } from '../../../thread/find-thread.ts';
import { defineCommand, type Command } from '../../command-line/command.ts';
import { describeStep, stepFields, type StepSummary } from '../../output/describe-step.ts';
import { startCommitOf } from '../../../engine/describe/find-turn.ts';
import { beforeOption, commitBefore } from '../../find/find-turn.ts';
import { readSteps } from '../../../thread/thread-chain.ts';
import { parseCount } from '../../command-line/parse-value.ts';
import { openForReading } from '../../open/open-repository.ts';
import { formatDuration } from '../../../text/wording.ts';
import { UsageError } from '../../errors/usage-error.ts';

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
