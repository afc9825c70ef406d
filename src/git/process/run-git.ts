import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { UwfError } from '../../errors.ts';
import { HINT_OF_MISSING, notInRepository } from '../format/object-errors.ts';
import { spawnGit, type GitStart } from './spawn-git.ts';

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

/** git ended with an error. */
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

/** One run of git. */
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
 *
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
