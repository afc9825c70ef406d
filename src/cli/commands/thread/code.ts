import type { CommitLine } from '../../../git/process/revisions.ts';
import { realPath } from '../../../git/repository/git-directory.ts';
import { describeMissing } from '../../../git/format/paths.ts';
import { isWithin } from '../../../git/system/files.ts';
import { changedFiles, diffCode, findCode, listNewCommits } from '../../../thread/code/thread-code.ts';
import { getThread } from '../../../thread/find-thread.ts';
import { defineCommand, type Command } from '../../command-line/command.ts';
import { threadArgument } from '../../command-line/shared-arguments.ts';
import { onDisk, openForReading, withCommitter } from '../../open/open-repository.ts';
import type { Palette } from '../../output/palette.ts';
import { oneLine } from '../../output/width.ts';

const PIPE_COLUMNS = 120;

export const threadCodeCommand: Command = defineCommand({
  description: `Shows what a thread changed in its own work tree: how the files after its newest step differ from the
commit that the work tree was made from, as 'git diff' shows it. What was committed there and what was not is shown together;
--log lists the commits.

git runs no external diff program and no converter for it. Into a pipe the bytes are git's, so that 'git apply' reads them.`,
  arguments: [
    threadArgument,
    {
      name: 'path',
      summary: 'only this file or folder, as git reads paths',
      isOptional: true,
      isRepeatable: true,
      candidates: 'file',
    },
  ],
  options: {
    stat: { summary: 'how many lines of each file', conflicts: ['log', 'name-only'] },
    log: { short: 'l', summary: 'the commits, one a line, newest first', conflicts: ['name-only'] },
    'name-only': { summary: 'the paths alone' },
  },
  json: {
    thread: 'its id',
    step: 'the number of the step that left the files',
    base: 'the commit that its work tree was made from',
    tip: "the commit that stands for its work: what 'uwf thread merge' merges",
    files:
      'the files that differ: change, path (quoted as git does where it is not UTF-8), oldPath, oldMode, newMode, added, deleted',
    commits: 'the commits after the base, newest first: commit, subject',
  },
  examples: [
    { command: 'uwf thread code 01KAM4', comment: 'all that it changed' },
    { command: 'uwf thread code 01KAM4 --stat src', comment: 'how much, below one folder' },
    { command: 'uwf thread code 01KAM4 | git apply', comment: 'take the changes without a commit' },
  ],
  async run({ args, options, cli, out }) {
    const form = (['stat', 'log', 'name-only'] as const).find((name) => options[name]) ?? 'patch';
    const repository = onDisk(await withCommitter(cli, await openForReading(cli)));
    const code = await findCode(repository, await getThread(repository, args.thread));
    const { thread, base, tip, step } = code;
    const here = realPath(cli.cwd);
    const top = repository.location.workTree;
    const cwd = top !== undefined && isWithin(here, top) ? { cwd: here } : {};
    const git = { location: repository.location, env: cli.env, ...cwd };
    const { missing } = step.node.workspace ?? {};
    if (missing !== undefined)
      out.note(`uwf: step ${step.node.number} did not record everything: ${describeMissing(missing)}`);
    if (out.isJson) {
      const [files, commits] = [await changedFiles(git, code, args.path), await listNewCommits(git, code, args.path)];
      await out.result({ thread, step: step.node.number, base, tip, files, commits }, () => '');
      return;
    }
    const isTerminal = cli.stdout.isTTY === true;
    if (form === 'log') {
      const commits = await listNewCommits(git, code, args.path);
      await out.result(commits, () => formatLog(commits, out.paint));
      return;
    }
    const columns = isTerminal ? (cli.stdout.columns ?? 80) : PIPE_COLUMNS;
    const printed = await diffCode(git, code, args.path, { form, isColoured: out.paint.isColoured, columns });
    if (printed.length === 0 && args.path.length === 0) out.note(`thread ${thread} changed no files`);
    // git's own way to end a colour is not one of the palette's.
    if (isTerminal) await out.result({}, () => printed.toString('utf8').replaceAll('\u001B[m', '\u001B[0m'));
    else cli.stdout.write(printed);
  },
});

function formatLog(commits: readonly CommitLine[], paint: Palette): string {
  return commits.map(({ commit, subject }) => `${paint.id(commit.slice(0, 10))} ${oneLine(subject)}`).join('\n');
}
