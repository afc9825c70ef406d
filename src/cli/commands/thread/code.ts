import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { statusHere } from '../../../engine/leases/find-lease.ts';
import { UwfError } from '../../../errors.ts';
import type { ObjectId } from '../../../git/format/object-id.ts';
import { describeMissing } from '../../../git/format/paths.ts';
import type { CommitLine } from '../../../git/process/revisions.ts';
import type { Repository } from '../../../git/repository.ts';
import { realPath } from '../../../git/repository/git-directory.ts';
import { userVariable } from '../../../git/repository/known-variables.ts';
import { readThreadNote } from '../../../git/repository/work-trees.ts';
import { isWithin } from '../../../git/system/files.ts';
import { branchThread, CodeHoldsSecrets, type MergeReport, mergeThread } from '../../../thread/code/merge-thread.ts';
import { changedFiles, diffCode, findCode, listNewCommits, noBase } from '../../../thread/code/thread-code.ts';
import { getThread } from '../../../thread/find-thread.ts';
import { findStart } from '../../../thread/thread-chain.ts';
import { readThreadCommit } from '../../../thread/thread-commit.ts';
import { WrongThreadState } from '../../../thread/thread-errors.ts';
import type { ThreadId, ThreadPointer } from '../../../thread/thread-id.ts';
import { statusOfHead, type ThreadStatus } from '../../../thread/thread-state.ts';
import { askKey } from '../../ask/ask.ts';
import { type Command, defineCommand, threadArgument } from '../../command-line/command.ts';
import { EXIT, UsageError } from '../../errors/exit-code.ts';
import { scanningRedactor } from '../../open/open-config.ts';
import { openEngine } from '../../open/open-engine.ts';
import { onDisk, openForReading, openForWriting, withCommitter } from '../../open/open-repository.ts';
import { secretLines } from '../../output/findings.ts';
import type { Output } from '../../output/output.ts';
import { pathPrinter } from '../../output/path-printer.ts';
import { oneLine, type Palette } from '../../output/text.ts';
import { canAsk, type CliEnvironment } from '../../process/cli-environment.ts';
import { agreeToGit } from '../../trust/agree-to-git.ts';

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

/** The status of a thread whose code is merged. */
type Standing = {
  status: ThreadStatus;
  /** Null before the thread has ended. */
  returnCode: number | null;
  /** Why it did not end with return code 0; `undefined` if it did. */
  fault: string | undefined;
};

export const threadMergeCommand: Command = defineCommand({
  description: `Brings what a thread changed in its own work tree into the branch that is checked out here, or with -C in
another work tree. git merges the commit that stands for the thread's work: what its agents committed, and one more commit with
what they did not commit. The commits of the thread itself stay out of the branch.

If the thread has not ended with return code 0 (it failed, was cancelled, is suspended, is running), the command asks at the
terminal; without a terminal it needs --anyway.

Nothing is changed if tracked files or the index differ from HEAD, if the branch moves meanwhile, if an untracked or ignored
file would be overwritten, or if what comes in has secrets, or conflicts that no step has resolved. A conflict stays in the work
tree, as 'git merge' leaves it; with --squash or --rebase it changes nothing. git's hooks do not run.

Where commit.gpgSign is set, the commits that uwf makes for the branch are signed as 'git commit' signs; if the signer fails, nothing
is changed. Commits that agents made stay as they are, and the command lists those that are not signed.`,
  arguments: [threadArgument],
  options: {
    squash: { summary: "make one commit of it, as 'git merge --squash' does", conflicts: ['rebase', 'branch'] },
    rebase: { summary: "put its commits on top of the branch, as 'git rebase' does", conflicts: ['branch'] },
    branch: { short: 'b', value: '<name>', summary: 'only make a branch of it, and merge nothing' },
    anyway: { summary: 'merge although the thread did not end with return code 0; do not ask' },
    'allow-secrets': { summary: 'take it although it has what looks like a secret' },
  },
  json: {
    thread: 'its id',
    status: 'its status',
    returnCode: 'its return code; null before its end',
    mode: 'merge, squash, rebase or branch',
    outcome: 'merged, up-to-date, conflict, or created for a branch',
    branch: 'the branch that it went into, or that was made; null for a detached HEAD',
    base: "the commit that the thread's work tree was made from",
    tip: 'the commit that stands for its work, signed where commit.gpgSign is set',
    before: 'where the branch was; null if it was not there',
    after: 'where it is now',
    files: 'the files with conflicts (quoted as git does where they are not UTF-8)',
    unsigned: 'where commit.gpgSign is set, the commits of agents that came in without a signature',
  },
  examples: [
    { command: 'uwf thread merge 01KAM4', comment: 'as git merge' },
    { command: 'uwf thread merge 01KAM4 --squash', comment: 'as one commit' },
    { command: 'uwf -C ../release thread merge 01KAM4 --rebase', comment: 'on top of what is checked out there' },
    { command: 'uwf thread merge 01KAM4 --branch topic', comment: 'to be looked at, or pushed for a review' },
  ],
  exitCodes: {
    1: 'nothing was changed: the work tree has changes, a file is in the way, there are secrets or conflicts in what comes in, or the answer was no',
    2: 'the thread did not end with return code 0, and no person can be asked',
    5: 'there are conflicts, or the branch moved meanwhile',
  },
  async run({ args, options, cli, out }) {
    const { squash, rebase, branch } = options;
    const repository = onDisk(await openForWriting(cli));
    const pointer = await getThread(repository, args.thread);
    const code = await findCode(repository, pointer);
    const { thread, step } = code;
    const isOwn = readThreadNote(repository.location)?.thread === thread;
    if (isOwn && branch === undefined) throw ownWorkTreeRefused(thread);
    const standing = await readStanding(repository, pointer);
    if (!options.anyway && !(await mayMerge(thread, standing))) return EXIT.failed;
    const { missing } = step.node.workspace ?? {};
    if (missing !== undefined)
      out.note(`uwf: step ${step.node.number} did not record everything: ${describeMissing(missing)}`);
    const redactor = options['allow-secrets'] ? undefined : await scanningRedactor(cli, repository);
    const how = { env: cli.env, redactor };
    try {
      await agreeToGit(cli, repository, 'sign');
      if (branch !== undefined) {
        return await tell(await branchThread(repository, code, branch, how));
      }
      await agreeToGit(cli, repository, 'files');
      await agreeToGit(cli, repository, 'merge');
      const mode = squash ? 'squash' : rebase ? 'rebase' : 'merge';
      return await tell(await mergeThread(repository, code, { ...how, mode }));
    } catch (error) {
      if (error instanceof CodeHoldsSecrets && !out.isJson) out.note(secretLines(error.places).join('\n'));
      throw error;
    }

    async function mayMerge(thread: ThreadId, { status, fault }: Standing): Promise<boolean> {
      if (fault === undefined) return true;
      const look = `'uwf thread code ${thread}' shows what it changed`;
      const refusal = new WrongThreadState(thread, status, fault, `${look}; --anyway merges it`);
      if (!canAsk(cli)) throw refusal;
      return (await askKey(cli, `${refusal.message}\nMerge its code anyway? [y/n]`, 'yn')) === 'y';
    }

    async function tell(report: MergeReport): Promise<(typeof EXIT)['done' | 'conflict']> {
      const print = await pathPrinter(cli, repository, report.files);
      const { status, returnCode } = standing;
      await out.result({ ...report, status, returnCode }, () => describe(report, standing, print));
      if (report.outcome !== 'conflict') return EXIT.done;
      hintAtConflict(report, out);
      return EXIT.conflict;
    }
  },
});

async function readStanding(repository: Repository, { id, head }: ThreadPointer): Promise<Standing> {
  const commit = await readThreadCommit(repository, head);
  const status = statusHere(repository, id, statusOfHead(commit));
  if (commit.kind !== 'end') {
    const fault = commit.kind === 'suspend' && status !== 'running' ? oneLine(commit.node.reason) : 'it has not ended';
    return { status, returnCode: null, fault };
  }
  const { returnCode } = commit.node;
  const isGood = status === 'ended' && returnCode === 0;
  return { status, returnCode, fault: isGood ? undefined : `it ended with return code ${returnCode}` };
}

function describe(report: MergeReport, { status, returnCode }: Standing, print: (path: string) => string): string {
  const { outcome, before, after, files, unsigned } = report;
  const branch = report.branch ?? 'HEAD';
  const thread = `thread ${report.thread} (${returnCode ? `${status}, return code ${returnCode}` : status})`;
  if (outcome === 'up-to-date') return `${branch} already has what ${thread} did`;
  const done = before
    ? `${branch} has what ${thread} did: ${before.slice(0, 10)}..${after.slice(0, 10)}`
    : `branch ${branch} is at ${after.slice(0, 10)}: what ${thread} did`;
  const conflict = [`conflict: ${branch} and ${thread} both changed`, ...files.map((path) => `  ${print(path)}`)];
  const left = unsigned.length > 0 ? ['agents made commits in it that are not signed:', ...unsigned.map(lineOf)] : [];
  return [...(outcome === 'conflict' ? conflict : [done]), ...left].join('\n');
}

function lineOf(commit: ObjectId): string {
  return `  ${commit.slice(0, 10)}`;
}

function hintAtConflict({ thread, mode }: MergeReport, out: Output): void {
  if (mode === 'merge') {
    out.hint("resolve them, then 'git add' the files and 'git commit'; 'git merge --abort' goes back");
  } else {
    out.hint(`nothing was changed; 'uwf thread merge ${thread}' leaves the conflicts in the work tree to be resolved`);
  }
}

function ownWorkTreeRefused(thread: string): UwfError {
  return new UwfError(`this is the work tree of thread ${thread} itself`, {
    code: 'own-work-tree',
    kind: 'usage',
    hint: 'name the work tree that it goes into with -C',
    facts: { thread },
  });
}

export const threadOpenCommand: Command = defineCommand({
  description: `Opens the thread's own work tree in your editor ($VISUAL, $EDITOR, or core.editor of your own git
configuration), or in a shell ($SHELL). A work tree that is not here is made with the files that the newest step left, or from the thread's base. Without a
terminal it prints the path.`,
  arguments: [threadArgument],
  options: {
    editor: { summary: 'open it in the editor', conflicts: ['shell', 'print'] },
    shell: { summary: 'start a shell in it; the default if no editor is configured', conflicts: ['print'] },
    print: { summary: 'only print its path; the default without a terminal' },
  },
  json: { thread: 'its id', folder: 'its work tree' },
  examples: [
    { command: 'uwf thread open 01KAM4', comment: 'in the editor' },
    { command: 'uwf thread open 01KAM4 --shell', comment: 'to try out what it did' },
    { command: 'cd "$(uwf thread open 01KAM4 --print)"', comment: 'in this shell' },
  ],
  async run({ args, options, cli, out }) {
    const asked = (['editor', 'shell', 'print'] as const).find((name) => options[name]);
    const isTerminal = canAsk(cli) && cli.stdout.isTTY === true && !out.isJson;
    if (asked !== undefined && asked !== 'print' && !isTerminal) {
      throw new UsageError(`--${asked} needs a terminal`, '--print prints the path');
    }
    const repository = await openForWriting(cli);
    const { id: thread, head } = await getThread(repository, args.thread);
    const start = await findStart(repository, head);
    if (start?.node.base === undefined) throw noBase(thread);
    await agreeToGit(cli, repository, 'files');
    const engine = await openEngine(cli, repository);
    const folder = await engine.openWorkTree(thread);
    if (!isTerminal || asked === 'print') {
      await out.result({ thread, folder }, () => folder);
      return;
    }
    const editor = asked === 'shell' ? undefined : editorOf(cli);
    if (asked === 'editor' && editor === undefined) throw noEditor();
    out.note(folder);
    await openIn(editor ?? shellOf(cli), editor === undefined ? [] : [folder], folder, cli);
  },
});

/** The repository's own `core.editor` is ignored: its author could name any program. */
function editorOf({ env }: CliEnvironment): string | undefined {
  const candidates = [env['VISUAL'], env['EDITOR'], userVariable('core.editor', env)];
  return candidates.find((command) => command?.trim());
}

function shellOf({ env }: CliEnvironment): string {
  return `exec "${(env['SHELL'] || '/bin/sh').replaceAll(/["\\$`]/g, '\\$&')}"`;
}

/** Runs a shell command at the terminal of this process, which leaves signals from the keyboard to it. */
async function openIn(command: string, words: readonly string[], cwd: string, { env }: CliEnvironment): Promise<void> {
  const child = spawn('sh', ['-c', `${command} "$@"`, 'sh', ...words], {
    cwd,
    env: { ...env, PWD: cwd },
    stdio: 'inherit',
  });
  const ignore = (): void => {};
  process.on('SIGINT', ignore);
  try {
    await once(child, 'close');
  } finally {
    process.removeListener('SIGINT', ignore);
  }
}

function noEditor(): UwfError {
  return new UwfError('no editor is configured', {
    code: 'no-editor',
    kind: 'environment',
    hint: "set $VISUAL or $EDITOR, or 'git config --global core.editor <editor>'",
  });
}
