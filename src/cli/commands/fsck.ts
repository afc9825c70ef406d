import { fsck, type RefVerdict } from '../../engine/fsck.ts';
import { defineCommand, type Command } from '../command.ts';
import { readingContext } from '../engine-here.ts';
import { EXIT } from '../exit-code.ts';
import { openToRead } from '../open-repository.ts';
import { formatFindings } from '../output/findings.ts';
import { formatCount } from '../output/time.ts';

export const command: Command = defineCommand({
  summary: 'find every damage to threads, workflows and nodes',
  description: `Verifies all threads, as 'uwf thread verify' does one, and all that is registered or was put, and names the refs that are
none of uwf's and those that git calls broken. A damaged thread is from then on listed as corrupt; it harms no other. 'git fsck' looks at the objects of the
whole repository.`,
  arguments: [],
  options: {},
  json: {
    shape: 'object',
    fields: {
      refs: 'how many refs were looked at',
      damaged:
        'those that something is wrong with: ref, head (null where the ref itself is damaged), thread (or null), findings (commit, path, what)',
    },
  },
  examples: [{ command: 'uwf fsck', comment: 'after a crash of the machine, or in CI' }],
  exitCodes: { 0: 'nothing is wrong', 1: 'something is' },
  async run({ cli, out }) {
    const context = readingContext(await openToRead(cli));
    const damaged: Omit<RefVerdict, 'sound'>[] = [];
    let refs = 0;
    for await (const { sound, ...verdict } of fsck(context)) {
      refs += 1;
      if (!sound) damaged.push(verdict);
    }
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
