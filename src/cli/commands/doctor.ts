import { diagnose, diagnoseSecrets } from '../../engine/doctor/diagnose.ts';
import { defineCommand, type Command } from '../command-line/command.ts';
import { EXIT } from '../errors/exit-code.ts';
import { configOrNone } from '../open/open-config.ts';
import { secretsHere } from '../open/open-redactor.ts';
import { openForReading } from '../open/open-repository.ts';
import { configFolder, workTreesHere } from '../open/user-folders.ts';
import { harmless } from '../output/width.ts';

export const doctorCommand: Command = defineCommand({
  description: `Checks for anything that keeps uwf from working well here: a git that is missing or too old, a shallow
clone, a repository that cannot be written, garbage collection that is off or prunes at once, too many packs, refs that are
broken or locked, runs that were interrupted, a clock that is off, threads that were not pushed for long, work trees and
branches that are left of threads, a configuration that another user can write to, secrets that are too short to be taken out
of what agents say, agents whose package, program or key is not there, limits that do not hold for an agent, bindings to roles
and workflows that do not exist, and workflows that do not load. Nothing is changed, no agent is run.`,
  json: {
    code: 'a stable word for it: git-too-old',
    level: 'problem: something does not work; warning: it can become one',
    message: 'what it is',
    hint: 'what to do about it',
  },
  examples: [{ command: 'uwf doctor', comment: 'on a new machine, or when something is odd' }],
  exitCodes: { 1: 'there is a problem' },
  async run({ cli, out }) {
    const repository = await openForReading(cli);
    const found = [
      ...(await diagnose(repository, cli.env, {
        userFolder: configFolder(cli.env),
        cwd: cli.cwd,
        workTrees: workTreesHere(cli.env),
      })),
      ...diagnoseSecrets(await secretsHere(cli, repository, await configOrNone(cli, repository))),
    ];
    await out.result(found, () =>
      found
        .map(({ level, message, hint }) => {
          const mark = level === 'problem' ? out.paint.error(level) : out.paint.warning(level);
          return `${mark}: ${harmless(message)}\n  ${out.paint.hint(harmless(hint))}`;
        })
        .join('\n'),
    );
    if (found.length === 0) out.hint("nothing is wrong here; 'uwf fsck' reads all that threads have stored");
    return found.some(({ level }) => level === 'problem') ? EXIT.failed : EXIT.done;
  },
});
