import { type Command, defineCommand, threadArgument } from '../../command-line/command.ts';
import { verifyThread } from '../../../verify/verify-threads.ts';
import { readingContext } from '../../../engine/engine-context.ts';
import { EXIT } from '../../errors/exit-code.ts';
import { openForReading } from '../../open/open-repository.ts';
import { formatFindings } from '../../output/findings.ts';
import { whileChecking } from '../../output/progress-line.ts';
import { oneLine } from '../../output/text.ts';
import { formatCount } from '../../../text/wording.ts';

export const threadVerifyCommand: Command = defineCommand({
  description: `Reads everything that a thread is made of and checks it: every object, hash, schema and link, each commit
with its index, parents and trailers, what each step says of earlier ones, and every decision, which is replayed from the
workflow and the stored steps. Merges of blocks are repeated by git. No agent is asked, and nothing is written. The first line is the first difference.`,
  arguments: [threadArgument],
  json: {
    thread: 'its id',
    ref: 'the ref it was found under',
    head: 'the commit that it is at',
    sound: 'whether nothing is wrong',
    commits: 'how many commits were looked at, those of threads it called included',
    unrepeated: 'merges of blocks that git could not repeat: commit, why',
    findings: 'what is wrong: commit, path (null for the commit itself), what',
  },
  examples: [{ command: 'uwf thread verify 01KAM4', comment: 'after fetching it from a remote' }],
  exitCodes: { 0: 'nothing is wrong', 1: 'something is' },
  async run({ args, cli, out }) {
    const context = { ...readingContext(await openForReading(cli)), env: cli.env };
    const verdict = await whileChecking(cli, (onCommit) => verifyThread({ ...context, onCommit }, args.thread));
    const { thread, commits, unrepeated } = verdict;
    await out.result(verdict, () =>
      verdict.sound
        ? [
            `thread ${out.paint.id(thread)} ${out.paint.good('is sound')}: ${formatCount(commits)} commits verified`,
            ...unrepeated.map(
              ({ commit, why }) => `  ${out.paint.id(commit.slice(0, 12))}  merge not checked: ${oneLine(why)}`,
            ),
          ].join('\n')
        : formatFindings(`thread ${thread}`, verdict.findings, out.paint),
    );
    return verdict.sound ? EXIT.done : EXIT.failed;
  },
});
