import { fsck, type RefVerdict } from '../../verify/verify-threads.ts';
import { defineCommand, type Command } from '../command-line/command.ts';
import { readingContext } from '../../engine/engine-context.ts';
import { EXIT } from '../errors/exit-code.ts';
import { openForReading } from '../open/open-repository.ts';
import { formatFindings } from '../output/findings.ts';
import { whileChecking } from '../output/progress-line.ts';
import { formatCount } from '../../text/wording.ts';

export const fsckCommand: Command = defineCommand({
  description: `Verifies all threads, as 'uwf thread verify' does for one, and all nodes that were registered or put. It
also reports broken refs, and unknown refs under refs/uwf/. A damaged thread is listed as corrupt from then on; the others
are not affected. 'git fsck' checks all objects of the repository.`,
  json: {
    refs: 'how many refs were looked at',
    damaged:
      'those that something is wrong with: ref, head (null where the ref itself is damaged), thread (or null), findings (commit, path, what)',
  },
  examples: [{ command: 'uwf fsck', comment: 'after a crash of the machine, or in CI' }],
  exitCodes: { 0: 'nothing is wrong', 1: 'something is' },
  async run({ cli, out }) {
    const context = { ...readingContext(await openForReading(cli)), env: cli.env };
    const damaged: Omit<RefVerdict, 'sound'>[] = [];
    let refs = 0;
    await whileChecking(cli, async (onCommit) => {
      for await (const { sound, ...verdict } of fsck({ ...context, onCommit })) {
        refs += 1;
        if (!sound) damaged.push(verdict);
      }
    });
    await out.result({ refs, damaged }, () =>
      damaged.length === 0
        ? `${out.paint.good('nothing is wrong')}: ${formatCount(refs)} refs verified`
        : [
            ...damaged.map((verdict) => formatFindings(verdict.ref, verdict.findings, out.paint)),
            `${damaged.length} of ${formatCount(refs)} refs are not sound`,
          ].join('\n\n'),
    );
    return damaged.length === 0 ? EXIT.done : EXIT.failed;
  },
});
