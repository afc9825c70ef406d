import { getThread } from '../../../thread/find-thread.ts';
import { defineCommand, type Command } from '../../command.ts';
import { describeStep, stepFields, type StepSummary } from '../../describe-step.ts';
import { readPiece, readStart } from '../../find-step.ts';
import { parseCount } from '../../input/parse-value.ts';
import { openToRead } from '../../open-repository.ts';
import { formatTable } from '../../output/table.ts';
import { formatDuration } from '../../output/time.ts';
import { UsageError } from '../../usage-error.ts';

export const command: Command = defineCommand({
  summary: 'list the steps of a thread',
  description: `Lists steps oldest first, and no suspensions: those are no steps, and 'uwf log' lists them too. Long threads are listed in
pieces: --limit takes the last steps, --before those in front of a step.`,
  arguments: [
    {
      name: 'thread',
      summary: "the thread's id, or its first characters; by default $UWF_THREAD",
      isOptional: true,
      candidates: 'thread',
    },
  ],
  options: {
    limit: { short: 'n', value: '<n>', summary: 'only the last so many', parse: parseCount },
    before: { value: '<step>', summary: 'only steps before this one: its hash or its number', candidates: 'step' },
  },
  json: { shape: 'list', fields: stepFields },
  examples: [
    { command: 'uwf step list 01KAM4', comment: 'all steps' },
    { command: 'uwf step list 01KAM4 -n 20 --before 3F2V0', comment: 'the twenty before that one' },
  ],
  async run({ args, options, cli, out }) {
    const thread = args.thread ?? cli.env['UWF_THREAD'];
    if (!thread) throw new UsageError("'uwf step list' needs a thread", "run 'uwf thread list --all' to see them");
    const repository = await openToRead(cli);
    const pointer = await getThread(repository, thread);
    const piece = await readPiece(repository, pointer, options);
    const start = piece.start ?? (await readStart(repository, pointer));
    const steps: StepSummary[] = [];
    for (const entry of piece.steps) steps.push(await describeStep(repository, { start }, entry));
    await out.result(steps, () =>
      formatTable<StepSummary>(
        steps,
        [
          { title: '#', cell: ({ number }) => String(number), align: 'right' },
          { title: 'STEP', cell: ({ step }) => step, paint: out.paint.id },
          { title: 'ROLE', cell: ({ role }) => role, paint: out.paint.name },
          { title: 'STATUS', cell: ({ status }) => status ?? '' },
          { title: 'AGENT', cell: ({ agent }) => agent },
          {
            title: 'TOOK',
            cell: ({ durationMs }) => formatDuration(durationMs),
            align: 'right',
            paint: out.paint.quiet,
          },
          { title: 'REPLY', cell: ({ subject }) => subject },
        ],
        out.paint,
        cli.stdout,
      ),
    );
    if (steps.length === 0)
      out.hint(`thread ${pointer.id} has no steps${options.before === undefined ? ' yet' : ' before that'}`);
  },
});
