import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { Socket } from 'node:net';
import { constants, setPriority } from 'node:os';
import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { UwfError } from '../../errors.ts';
import { tryTo } from '../../or-else.ts';
import { HINT_OF_MISSING, notInRepository, TooManyOpenFiles } from '../format/errors.ts';
import type { GitEnvironment, RepositoryLocation } from '../repository.ts';

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

export class GitFailed extends UwfError {
  /** The arguments: `['worktree', 'add', …]`. */
  readonly args: readonly string[];
  /** What it said on stderr. */
  readonly said: string;
  /** What it printed on stdout before it ended. */
  readonly printed: string;
  constructor(args: readonly string[], said: string, printed = '') {
    const leftOut = leftOutIn(said);
    const what = leftOut === undefined ? said.trim().replace(/^(?:fatal|error): /, '') : notInRepository(leftOut);
    super(`git ${commandOf(args)} failed: ${what || 'it said nothing'}`, {
      code: 'git-failed',
      kind: 'environment',
      ...(leftOut !== undefined && { hint: HINT_OF_MISSING }),
    });
    this.args = args;
    this.said = said;
    this.printed = printed;
  }
}

/**
 * A signal that uwf did not send ended git: it has answered nothing, so this is no {@link GitFailed}. Of a git that talks to a
 * remote, it is one: a connection that broke.
 */
export class GitEnded extends UwfError {
  constructor(args: readonly string[], signal: NodeJS.Signals) {
    super(`git ${commandOf(args)} was ended by ${signal}`, {
      code: 'git-ended',
      kind: 'environment',
      hint: 'repeat the command; after SIGKILL, look whether the machine has run out of memory',
      facts: { signal },
    });
  }
}

/** The object that a partial clone left out, and that git was not let fetch. Source: git's promisor-remote.c. */
function leftOutIn(said: string): string | undefined {
  if (!/lazy fetching disabled|promisor remote/.test(said)) return undefined;
  return /^fatal: .*?\b([0-9a-f]{40,64})\b/m.exec(said)?.[1];
}

function commandOf(args: readonly string[]): string {
  return args.find((arg) => !arg.startsWith('-')) ?? '';
}

export type GitRun = GitStart & {
  /** Its stdin; default: empty. */
  input?: string | Uint8Array;
  /** Receives stderr, a line at a time. */
  onProgress?: ((line: string) => void) | undefined;
  /** The exit codes of success; default: 0. */
  codes?: readonly number[];
  /** Ends it if stdout and stderr together are longer. */
  maxOutputBytes?: number;
  /** Ends it if it has written nothing this long after its start: it may wait for ever. */
  speaksWithinMs?: number;
};

/** How much of the end of stderr is kept, in characters. */
const MAX_SAID = 256 * 1024;
const MAX_LINE = 64 * 1024;

/** Commands that change no ref and no index: they can be run again. */
const repeatable: ReadonlySet<string> = new Set([
  'cat-file',
  'check-attr',
  'check-ignore',
  'diff',
  'diff-files',
  'diff-index',
  'diff-tree',
  'for-each-ref',
  'log',
  'ls-files',
  'ls-tree',
  'merge-base',
  'merge-tree',
  'rev-list',
  'rev-parse',
  'show-ref',
  'status',
  'write-tree',
]);

/**
 * Runs native git, without hooks, and returns its stdout. A git that only reads is run once more if a signal ends it.
 * All that runs git throws the first two errors, and says so here only.
 * @throws {GitNotFound} if there is no git
 * @throws {GitFailed} if its exit code is none of `codes`
 * @throws {GitEnded} if a signal ended it
 * @throws the signal's reason when that is aborted
 */
export async function runGit(run: GitRun): Promise<Buffer> {
  try {
    return await runOnce(run);
  } catch (error) {
    if (!(error instanceof GitEnded) || !repeatable.has(commandOf(run.args))) throw error;
    return runOnce(run);
  }
}

function runOnce(run: GitRun): Promise<Buffer> {
  const { args, input, signal, codes = [0], isForRemote = false } = run;
  const child = spawnGit(run);
  return new Promise((resolve, reject) => {
    const printed: Buffer[] = [];
    const decoder = new StringDecoder('utf8');
    let said = '';
    let room = run.maxOutputBytes ?? Number.POSITIVE_INFINITY;
    let whyEnded = '';
    const end = (why: string): void => {
      whyEnded ||= `\nfatal: ${why}`;
      child.kill();
      // A child of git can hold the pipes open.
      for (const stream of [child.stdout, child.stderr]) stream.destroy();
    };
    const hasRoom = (chunk: Buffer): boolean => {
      room -= chunk.length;
      if (room < 0) end('it tells of more than is to be held');
      return room >= 0;
    };
    child.stdout.on('data', (chunk: Buffer) => hasRoom(chunk) && printed.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => {
      if (hasRoom(chunk)) said += decoder.write(chunk);
      // A remote controls its length.
      if (said.length > 2 * MAX_SAID) said = said.slice(-MAX_SAID);
    });
    if (run.onProgress !== undefined) eachLine(child.stderr, run.onProgress);
    const { speaksWithinMs } = run;
    const silence =
      speaksWithinMs && setTimeout(() => end(`nothing came in ${speaksWithinMs / 1000} s`), speaksWithinMs);
    for (const stream of [child.stdout, child.stderr]) stream.once('data', () => clearTimeout(silence));
    child.on('error', (error: NodeJS.ErrnoException) => {
      if (signal?.aborted) reject(reasonOf(signal));
      else reject(error.code === 'ENOENT' ? new GitNotFound(error) : error);
    });
    child.on('close', (code, endedBy) => {
      clearTimeout(silence);
      if (endedBy !== null && isForRemote) whyEnded ||= `\nfatal: git was ended by ${endedBy}`;
      if (code !== null && codes.includes(code)) resolve(Buffer.concat(printed));
      else if (signal?.aborted) reject(reasonOf(signal));
      else if (endedBy !== null && whyEnded === '') reject(new GitEnded(args, endedBy));
      else reject(new GitFailed(args, said + whyEnded, Buffer.concat(printed).toString('utf8')));
    });
    // A git that ends before it has read everything gives the reason itself.
    child.stdin.on('error', () => {});
    child.stdin.end(input ?? '');
  });
}

/** git overwrites progress, so a carriage return ends a line too. */
function eachLine(stream: Readable, tell: (line: string) => void): void {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  stream.on('data', (chunk: Buffer) => {
    const lines = (rest + decoder.write(chunk)).split(/[\r\n]+/);
    rest = (lines.pop() ?? '').slice(0, MAX_LINE);
    for (const line of lines) if (line !== '') tell(line);
  });
  stream.on('end', () => rest !== '' && tell(rest));
}

/** The reason of an aborted signal, which can be any value. */
function reasonOf(signal: AbortSignal): Error {
  const reason: unknown = signal.reason;
  return reason instanceof Error ? reason : new Error(String(reason));
}

export type GitPlace = {
  /** The repository and its work tree; git does not search for them. */
  location: RepositoryLocation;
  /** The environment; variables that name another repository or index are removed. */
  env: GitEnvironment;
};

export type GitStart = GitPlace & {
  /** The command and its arguments: `['worktree', 'add', …]`. */
  args: readonly string[];
  /** Configuration for this run alone: `gc.auto=0`. */
  settings?: readonly string[];
  /** Variables for this run alone (`GIT_INDEX_FILE`). */
  variables?: GitEnvironment;
  /** The working directory, from which relative paths start; default: the top of the work tree, or the repository. */
  cwd?: string;
  /** Lets it talk to a remote, over the transports that git allows. Default: it does not, and fetches no missing object. */
  isForRemote?: boolean;
  /** Lets it ask for a name, a password or a passphrase at the terminal. Default: it does not. */
  mayAsk?: boolean;
  /**
   * The limit of data memory for each of its processes; git ends when it is refused memory. Not all systems have such a
   * limit.
   */
  maxDataBytes?: number;
  /** The limit of a file that one of its processes writes; that process is killed at it. */
  maxFileBytes?: number;
  signal?: AbortSignal | undefined;
  /**
   * Gives it a lower priority, and lets this process end before it. Neither that end nor a Ctrl-C ends it: a killed
   * repacking leaves temporary packs.
   */
  isInBackground?: boolean;
};

/** Settings that turn off hooks and file watchers of the repository: uwf does not need them. */
export const switchedOff: readonly string[] = ['core.hooksPath=/dev/null', 'core.fsmonitor=false'];

/**
 * Settings that make git sync the packs that it writes, whatever the user has configured: for packs that replace synced ones
 * or that refs will lead into.
 * Source: git-config(1), `core.fsync` and `core.fsyncMethod`. Before git 2.36 packs are synced in any case.
 */
export const durablePacks: readonly string[] = ['core.fsync=pack,pack-metadata', 'core.fsyncMethod=fsync'];

/** Which gits are started apart: see {@link keepGitApart}. */
let apart: 'none' | 'local' | 'all' = 'none';
/** The gits that run apart, each the leader of its process group. */
const groups = new Set<number>();

/**
 * From now on, starts git in a session and a process group of its own: a Ctrl-C at the terminal, which reaches the whole
 * group of this process, leaves it alone. For a program that takes over the signals and goes on working after the first.
 * Such a git has no terminal to ask at, so one that {@link GitStart.mayAsk} stays in the group.
 * @param which `local`: not those that talk to a remote, because ssh asks at the terminal by itself
 */
export function keepGitApart(which: typeof apart): void {
  apart = which;
}

/** Ends the gits that run apart: for a process that exits while they work, so that they end as its group does. */
export function endGitApart(): void {
  for (const pid of groups) tryTo(() => process.kill(-pid, 'SIGTERM'));
}

function isApart({ isForRemote = false, mayAsk = false, isInBackground = false }: GitStart): boolean {
  if (isInBackground) return true;
  return !mayAsk && (apart === 'all' || (apart === 'local' && !isForRemote));
}

/**
 * Starts native git, without hooks. Its errors come as events of the child.
 * @throws {TooManyOpenFiles} if this process has no files left for the pipes
 */
export function spawnGit(start: GitStart): ChildProcessWithoutNullStreams {
  const { location, env, args, settings = [], variables, cwd, signal } = start;
  const options = [...switchedOff, ...settings].flatMap((setting) => ['-c', setting]);
  const words = limited(['git', ...options, ...args], start);
  const child = spawn(words[0] ?? 'git', words.slice(1), {
    cwd: cwd ?? location.workTree ?? location.gitDir,
    env: {
      ...gitEnvironment(location, env),
      ...(start.isForRemote === true && asInherited(env)),
      ...(start.mayAsk !== true && { GIT_TERMINAL_PROMPT: '0' }),
      ...variables,
    },
    stdio: ['pipe', 'pipe', 'pipe'],
    signal,
    detached: isApart(start),
  });
  assertPiped(child);
  if (start.isInBackground === true) leaveInBackground(child);
  else if (isApart(start)) noteGroup(child);
  return child;
}

/** Node makes no streams where it has no files for them, and tells the error later; their types do not say so. */
export function assertPiped(child: Partial<ChildProcessWithoutNullStreams>): void {
  if (child.stdin && child.stdout && child.stderr) return;
  child.on?.('error', () => {});
  throw new TooManyOpenFiles();
}

function noteGroup(child: ChildProcessWithoutNullStreams): void {
  const { pid } = child;
  if (pid === undefined) return;
  groups.add(pid);
  child.once('close', () => groups.delete(pid));
}

/** A fetched pack can build on promised objects, so these variables are inherited. */
function asInherited({ GIT_ALLOW_PROTOCOL, GIT_NO_LAZY_FETCH }: GitEnvironment): GitEnvironment {
  return { GIT_ALLOW_PROTOCOL, GIT_NO_LAZY_FETCH };
}

function leaveInBackground(child: ChildProcessWithoutNullStreams): void {
  const { pid } = child;
  // An error means that it has ended already.
  if (pid !== undefined) tryTo(() => setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL));
  child.unref();
  // The pipes of a child are sockets.
  for (const pipe of [child.stdin, child.stdout, child.stderr]) if (pipe instanceof Socket) pipe.unref();
}

/**
 * A shell sets the limits and then becomes the program, because Node cannot limit a child. Mapped files do not count as data.
 * Source: getrlimit(2), RLIMIT_DATA and RLIMIT_FSIZE; POSIX leaves `-d` of ulimit to the system, so it may fail.
 */
function limited(words: readonly string[], { maxDataBytes, maxFileBytes }: GitStart): readonly string[] {
  const limits = [
    ...(maxDataBytes === undefined ? [] : [`-d ${Math.floor(maxDataBytes / 1024)}`]),
    ...(maxFileBytes === undefined ? [] : [`-f ${Math.floor(maxFileBytes / 512)}`]),
  ];
  if (limits.length === 0 || process.platform === 'win32') return words;
  const set = limits.map((limit) => `ulimit -S ${limit} 2>/dev/null; `).join('');
  return ['/bin/sh', '-c', `${set}exec "$@"`, 'sh', ...words];
}

/** Variables that name the repository, index or place of the caller, which may be another one. */
const leadingElsewhere = ['GIT_DIR', 'GIT_WORK_TREE', 'GIT_INDEX_FILE', 'GIT_PREFIX', 'GIT_NAMESPACE'];

/**
 * The environment in which git works on this repository only, and writes messages in English. It fetches no missing object,
 * and no transport is allowed: reading must not connect to a host that a repository's configuration names.
 *
 * Both are needed: a git before 2.39.4 does not know the first. No setting of the repository beats the second.
 * Source: git(1), `GIT_NO_LAZY_FETCH`, `GIT_ALLOW_PROTOCOL`.
 */
function gitEnvironment(location: RepositoryLocation, env: GitEnvironment): GitEnvironment {
  const inherited = Object.fromEntries(Object.entries(env).filter(([name]) => !leadingElsewhere.includes(name)));
  const { GIT_COMMON_DIR, GIT_OBJECT_DIRECTORY } = env;
  return {
    ...inherited,
    // Relative paths would start where this git works.
    ...(GIT_COMMON_DIR && { GIT_COMMON_DIR: location.commonDir }),
    ...(GIT_OBJECT_DIRECTORY && { GIT_OBJECT_DIRECTORY: resolve(GIT_OBJECT_DIRECTORY) }),
    GIT_DIR: location.gitDir,
    ...(location.workTree !== undefined && { GIT_WORK_TREE: location.workTree }),
    GIT_OPTIONAL_LOCKS: '0',
    GIT_NO_LAZY_FETCH: '1',
    GIT_ALLOW_PROTOCOL: 'none',
    LC_ALL: 'C',
  };
}

/** A version as major and minor number: `[2, 38]`. */
type GitVersion = readonly [major: number, minor: number];

/** Reads the version of the installed git: `2.39.5`; `undefined` if it tells none. */
export async function readGitVersion(git: GitPlace): Promise<string | undefined> {
  const printed = await runGit({ ...git, args: ['--version'] });
  return /\d+\.\d+(?:\.\d+)?/.exec(printed.toString('utf8'))?.[0];
}

/** Tells whether a version as {@link readGitVersion} returns it is older than another. */
export function isOlderGit(version: string, [major, minor]: GitVersion): boolean {
  const [ownMajor = 0, ownMinor = 0] = version.split('.').map(Number);
  return ownMajor < major || (ownMajor === major && ownMinor < minor);
}
