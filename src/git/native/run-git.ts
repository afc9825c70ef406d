import { spawn } from 'node:child_process';
import { UwfError } from '../../errors.ts';
import type { GitEnvironment } from '../git-directory.ts';
import type { RepositoryLocation } from '../repository.ts';

/** The program `git` is not on the PATH. */
export class GitNotFound extends UwfError {
  constructor(cause?: unknown) {
    super("there is no program 'git' here", {
      code: 'git-not-found',
      kind: 'environment',
      hint: 'install git, or put it on the PATH',
      cause,
    });
  }
}

/** git did not do what it was asked to. */
export class GitFailed extends UwfError {
  /** What it was asked: `['worktree', 'add', …]`. */
  readonly args: readonly string[];
  /** What it said on stderr. */
  readonly said: string;
  constructor(args: readonly string[], said: string) {
    super(`git ${args[0] ?? ''} failed: ${said.trim().replace(/^(?:fatal|error): /, '') || 'it said nothing'}`, {
      code: 'git-failed',
      kind: 'environment',
    });
    this.args = args;
    this.said = said;
  }
}

/** One run of git. */
export type GitRun = {
  /** Which repository and work tree; git is not left to find them. */
  location: RepositoryLocation;
  /** What it inherits; variables that would lead it to another repository or index are left out. */
  env: GitEnvironment;
  args: readonly string[];
  /** Variables of this run alone (`GIT_INDEX_FILE`). */
  variables?: GitEnvironment;
  /** What it gets on stdin; default: nothing. */
  input?: string | Uint8Array;
  /** Ends it when aborted. */
  signal?: AbortSignal;
};

/** What names a repository, an index or a place in it: of the caller's, not of the one that is worked on. */
const leadingElsewhere = ['GIT_DIR', 'GIT_WORK_TREE', 'GIT_INDEX_FILE', 'GIT_PREFIX', 'GIT_NAMESPACE'];

/**
 * Runs native git, without hooks, without asking anybody anything, and gives what it prints.
 *
 * @throws {GitNotFound} if there is no git
 * @throws {GitFailed} if it ends with anything but 0
 * @throws the signal's reason when that is aborted
 */
export function runGit({ location, env, args, variables, input, signal }: GitRun): Promise<Buffer> {
  const inherited = Object.fromEntries(Object.entries(env).filter(([name]) => !leadingElsewhere.includes(name)));
  const child = spawn('git', ['-c', 'core.hooksPath=/dev/null', ...args], {
    cwd: location.workTree ?? location.gitDir,
    env: {
      ...inherited,
      GIT_DIR: location.gitDir,
      ...(location.workTree !== undefined && { GIT_WORK_TREE: location.workTree }),
      GIT_OPTIONAL_LOCKS: '0',
      GIT_TERMINAL_PROMPT: '0',
      LC_ALL: 'C',
      ...variables,
    },
    stdio: ['pipe', 'pipe', 'pipe'],
    ...(signal && { signal }),
  });
  return new Promise((resolve, reject) => {
    const printed: Buffer[] = [];
    const said: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => printed.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => said.push(chunk));
    child.on('error', (error: NodeJS.ErrnoException) => {
      if (signal?.aborted) reject(reasonOf(signal));
      else reject(error.code === 'ENOENT' ? new GitNotFound(error) : error);
    });
    child.on('close', (code) => {
      if (code === 0) resolve(Buffer.concat(printed));
      else if (signal?.aborted) reject(reasonOf(signal));
      else reject(new GitFailed(args, Buffer.concat(said).toString('utf8')));
    });
    // One that ends before it has read everything says why itself.
    child.stdin.on('error', () => {});
    child.stdin.end(input ?? '');
  });
}

/** Why a signal was aborted; whoever aborts may give anything for a reason. */
function reasonOf(signal: AbortSignal): Error {
  const reason: unknown = signal.reason;
  return reason instanceof Error ? reason : new Error(String(reason));
}
