import type { ChildProcess } from 'node:child_process';
import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { UwfError } from '../../errors.ts';
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

/** git did not do what it was asked to. */
export class GitFailed extends UwfError {
  /** What it was asked: `['worktree', 'add', …]`. */
  readonly args: readonly string[];
  /** What it said on stderr. */
  readonly said: string;
  /** What it had printed on stdout until then. */
  readonly printed: string;
  constructor(args: readonly string[], said: string, printed = '') {
    super(`git ${commandIn(args)} failed: ${said.trim().replace(/^(?:fatal|error): /, '') || 'it said nothing'}`, {
      code: 'git-failed',
      kind: 'environment',
    });
    this.args = args;
    this.said = said;
    this.printed = printed;
  }
}

/** What git is to do, behind what it is configured to. */
function commandIn(args: readonly string[]): string {
  return args.find((arg, at) => !arg.startsWith('-') && args[at - 1] !== '-c') ?? '';
}

/** One run of git. */
export type GitRun = GitStart & {
  /** What it gets on stdin; default: nothing. */
  input?: string | Uint8Array;
  /** Told what it says on stderr, a line at a time. */
  onProgress?: (line: string) => void;
  /** Ends it if it prints and says more, together. */
  maxOutputBytes?: number;
  /** Ends it if it has neither said nor printed anything for so long after its start: it may be waiting for ever. */
  speaksWithinMs?: number;
};

const mostSaidBytes = 256 * 1024;
const longestLine = 64 * 1024;

/**
 * Runs native git, without hooks, and gives what it prints.
 *
 * @throws {GitNotFound} if there is no git
 * @throws {GitFailed} if it ends with anything but 0
 * @throws the signal's reason when that is aborted
 */
export function runGit(run: GitRun): Promise<Buffer> {
  const { args, input, signal } = run;
  const child = spawnGit(run);
  return new Promise((resolve, reject) => {
    const printed: Buffer[] = [];
    const said = new LastBytes(mostSaidBytes);
    let room = run.maxOutputBytes ?? Number.POSITIVE_INFINITY;
    const take = (chunk: Buffer, keep: (chunk: Buffer) => unknown): void => {
      room -= chunk.length;
      if (room >= 0) keep(chunk);
      else end(child);
    };
    child.stdout.on('data', (chunk: Buffer) => take(chunk, () => printed.push(chunk)));
    child.stderr.on('data', (chunk: Buffer) => take(chunk, () => said.add(chunk)));
    if (run.onProgress !== undefined) eachLine(child.stderr, run.onProgress);
    const silence = endIfSilent(child, run.speaksWithinMs);
    child.on('error', (error: NodeJS.ErrnoException) => {
      if (signal?.aborted) reject(reasonOf(signal));
      else reject(error.code === 'ENOENT' ? new GitNotFound(error) : error);
    });
    child.on('close', (code) => {
      if (room < 0) said.add(Buffer.from('\nfatal: it tells of more than is to be held'));
      if (silence?.wasTooLong() === true)
        said.add(Buffer.from(`\nfatal: nothing came in ${Number(run.speaksWithinMs) / 1000} s`));
      if (code === 0) resolve(Buffer.concat(printed));
      else if (signal?.aborted) reject(reasonOf(signal));
      else reject(new GitFailed(args, said.text(), Buffer.concat(printed).toString('utf8')));
    });
    // One that ends before it has read everything says why itself.
    child.stdin.on('error', () => {});
    child.stdin.end(input ?? '');
  });
}

/** Also what it has started, which may hold the pipes, then writes to nobody. */
function end(child: ChildProcess): void {
  child.kill();
  for (const stream of [child.stdout, child.stderr]) stream?.destroy();
}

function endIfSilent(child: ChildProcess, ms: number | undefined): { wasTooLong(): boolean } | undefined {
  if (ms === undefined) return undefined;
  let isOver = false;
  const timer = setTimeout(() => {
    isOver = true;
    end(child);
  }, ms);
  for (const stream of [child.stdout, child.stderr]) stream?.once('data', () => clearTimeout(timer));
  child.once('close', () => clearTimeout(timer));
  return { wasTooLong: () => isOver };
}

/** The end of what may go on for ever: a remote decides how much is said on stderr. */
class LastBytes {
  readonly #most: number;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(most: number) {
    this.#most = most;
  }

  add(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    while (this.#bytes - (this.#chunks[0]?.length ?? 0) > this.#most) this.#bytes -= this.#chunks.shift()?.length ?? 0;
  }

  text(): string {
    return Buffer.concat(this.#chunks).toString('utf8');
  }
}

/** Progress is written over itself: a carriage return ends a line too. */
function eachLine(stream: Readable, tell: (line: string) => void): void {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  stream.on('data', (chunk: Buffer) => {
    const lines = (rest + decoder.write(chunk)).split(/[\r\n]+/);
    rest = (lines.pop() ?? '').slice(-longestLine);
    for (const line of lines) if (line !== '') tell(line);
  });
  stream.on('end', () => rest !== '' && tell(rest));
}

/** Why a signal was aborted; whoever aborts may give anything for a reason. */
function reasonOf(signal: AbortSignal): Error {
  const reason: unknown = signal.reason;
  return reason instanceof Error ? reason : new Error(String(reason));
}
