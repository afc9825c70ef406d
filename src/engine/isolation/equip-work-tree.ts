import { constants, cpSync, lstatSync } from 'node:fs';
import { join } from 'node:path';
import { runProgram } from '../../agent/processes/run-program.ts';
import { UwfError } from '../../errors.ts';
import { GitFailed, runGit } from '../../git/process/run-git.ts';
import { inPlaceOf } from '../../or-else.ts';
import type { GitPlace } from '../../git/process/spawn-git.ts';
import { mainWorkTree } from '../../git/repository/thread-work-tree.ts';
import { admitSetup } from '../agents/admission.ts';
import type { EngineContext } from '../engine-context.ts';

/** A file of the main work tree that names ignored files to copy, with the patterns of a `.gitignore`. */
const INCLUDE_FILE = '.worktreeinclude';
const NONE = Buffer.alloc(0);
const MAX_SETUP_BYTES = 1024 * 1024;
const SETUP_GRACE_MS = 5_000;

/**
 * Makes a new work tree fit to work in: copies the ignored files that `.worktreeinclude` of the main work tree names, and runs
 * the program that `isolation.setup` of the configuration names.
 *
 * A file that the new work tree would record is not copied.
 * @throws {UwfError} `set-up-failed` if that program fails
 */
export async function equipWorkTree(engine: EngineContext, git: GitPlace): Promise<void> {
  const top = git.location.workTree;
  if (top === undefined) return;
  await copyIncluded(git, top);
  const setup = await admitSetup(engine, top);
  if (setup !== undefined) await runSetup(engine, setup, top);
}

async function copyIncluded(git: GitPlace, top: string): Promise<void> {
  const from = mainWorkTree(git.location);
  if (from === undefined || lstatSync(join(from, INCLUDE_FILE), { throwIfNoEntry: false })?.isFile() !== true) return;
  const { commonDir } = git.location;
  const main = { ...git, location: { gitDir: commonDir, commonDir, workTree: from } };
  const listing = ['ls-files', '-z', '--others', '--ignored'];
  const [named, ignored] = await Promise.all([
    runGit({ ...main, args: [...listing, `--exclude-from=${INCLUDE_FILE}`] }),
    runGit({ ...main, args: [...listing, '--exclude-standard'] }),
  ]);
  const isIgnored = new Set(pathsIn(ignored));
  const wanted = pathsIn(named).filter((path) => isIgnored.has(path));
  // Another commit may ignore less.
  for (const path of await ignoredAmong(git, wanted)) {
    // A reflink where the file system has them; never a hard link, which a write in place would reach through.
    const options = { mode: constants.COPYFILE_FICLONE, recursive: true, verbatimSymlinks: true, force: false };
    cpSync(join(from, path), join(top, path), options);
  }
}

async function ignoredAmong(git: GitPlace, paths: readonly string[]): Promise<string[]> {
  if (paths.length === 0) return [];
  const input = paths.map((path) => `${path}\0`).join('');
  // git fails if no path is ignored.
  return pathsIn(
    await runGit({ ...git, args: ['check-ignore', '-z', '--stdin'], input }).catch(inPlaceOf(GitFailed, NONE)),
  );
}

function pathsIn(listed: Buffer): string[] {
  return listed
    .toString('utf8')
    .split('\0')
    .filter((path) => path !== '');
}

async function runSetup(
  { env, signal }: EngineContext,
  argv: readonly [string, ...string[]],
  cwd: string,
): Promise<void> {
  const { exit, errorTail } = await runProgram({
    argv,
    cwd,
    env,
    input: '',
    maxOutputBytes: MAX_SETUP_BYTES,
    graceMs: SETUP_GRACE_MS,
    signal,
    onStart: () => {},
    onOutput: () => {},
    onAside: () => {},
  });
  if (exit === 0) return;
  const said = errorTail.trim();
  throw new UwfError(`'${argv.join(' ')}' failed in the new work tree (${exit})${said === '' ? '' : `: ${said}`}`, {
    code: 'set-up-failed',
    kind: 'environment',
    hint: 'isolation.setup of the configuration names it; mend it, and run the thread again',
  });
}
