import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { setImmediate } from 'node:timers/promises';
import { ByteQueue } from './byte-queue.ts';
import { GitFailed, GitNotFound } from './run-git.ts';
import { spawnGit, type GitStart } from './spawn-git.ts';

/**
 * How the answer to one question is read: yields what it needs next (a line without its end, or a number of bytes), is
 * given that, and returns the answer.
 */
export type AnswerReader<Answer> = Generator<'line' | number, Answer, Buffer>;

/** Kept of what git says on stderr. */
const maxSaid = 8 * 1024;

/**
 * A git that goes on running and answers questions one after the other, in the order in which they are asked; many may
 * wait at the same time.
 *
 * It is started by the first question and ends with this process, however that ends: its stdin is closed then. While no
 * answer is waited for it keeps nobody from ending. If somebody kills it, it is started once more and asked again.
 */
export class LongLivedGit {
  readonly #start: GitStart;
  #session: Session | undefined;

  constructor(start: GitStart) {
    this.#start = start;
  }

  /**
   * Asks a question.
   *
   * @param text as git reads it, line ends included
   * @param isRepeatable whether it may be asked again of another git; else a kill fails it
   * @throws {GitFailed} if git ends instead of answering
   * @throws {GitNotFound} if there is no git
   */
  async ask<Answer>(text: string, read: () => AnswerReader<Answer>, isRepeatable = true): Promise<Answer> {
    try {
      return await this.#open().ask(text, read());
    } catch (error) {
      if (!(error instanceof GitKilled)) throw error;
      if (!isRepeatable) throw error.failure;
    }
    try {
      return await this.#open().ask(text, read());
    } catch (error) {
      throw error instanceof GitKilled ? error.failure : error;
    }
  }

  /** What git has said on stderr in answer to what was asked until now, the last of it. */
  async said(): Promise<string> {
    // What it wrote there before its answer lies ready, and is read in the next round of the event loop at the latest.
    await setImmediate();
    await setImmediate();
    return this.#session?.said ?? '';
  }

  /** Waits for the answers that are due, and for the end of git. The next question starts another one. */
  async close(): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    await session?.end();
  }

  #open(): Session {
    if (this.#session === undefined || this.#session.hasEnded) this.#session = new Session(this.#start);
    return this.#session;
  }
}

/** git was ended by a signal, which says nothing about what it was asked. */
class GitKilled extends Error {
  readonly failure: GitFailed;
  constructor(failure: GitFailed) {
    super(failure.message);
    this.failure = failure;
  }
}

/** Somebody who waits: `take` gives the bytes on, and tells whether the answer is complete. */
type Waiting = { need: 'line' | number; take: (bytes: Buffer) => boolean; reject: (error: unknown) => void };

/** One process, from its start to its end. */
class Session {
  said = '';
  hasEnded = false;
  readonly #args: readonly string[];
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #bytes = new ByteQueue();
  readonly #waiting: Waiting[] = [];
  readonly #closed: Promise<void>;

  constructor(start: GitStart) {
    this.#args = start.args;
    this.#child = spawnGit(start);
    this.#child.stdout.on('data', (chunk: Buffer) => {
      this.#bytes.push(chunk);
      this.#answer();
    });
    this.#child.stderr.on(
      'data',
      (chunk: Buffer) => (this.said = (this.said + chunk.toString('utf8')).slice(-maxSaid)),
    );
    // That it has ended is told by its own event, with the reason.
    this.#child.stdin.on('error', () => {});
    this.#closed = new Promise((resolve) => {
      this.#child.on('error', (error: NodeJS.ErrnoException) => {
        this.#fail(error.code === 'ENOENT' ? new GitNotFound(error) : error);
        resolve();
      });
      this.#child.on('close', (_code, signal) => {
        const failure = new GitFailed(this.#args, this.said);
        this.#fail(signal === null ? failure : new GitKilled(failure));
        resolve();
      });
    });
    this.#holdProcess(false);
  }

  ask<Answer>(text: string, reader: AnswerReader<Answer>): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const first = reader.next();
      if (first.done === true) return resolve(first.value);
      const waiting: Waiting = {
        need: first.value,
        take: (bytes) => {
          const next = reader.next(bytes);
          if (next.done === true) resolve(next.value);
          else waiting.need = next.value;
          return next.done === true;
        },
        reject,
      };
      this.#waiting.push(waiting);
      this.#holdProcess(true);
      this.#child.stdin.write(text);
    });
  }

  end(): Promise<void> {
    this.#holdProcess(true);
    this.#child.stdin.end();
    return this.#closed;
  }

  #answer(): void {
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      const bytes = first.need === 'line' ? this.#bytes.takeLine() : this.#bytes.take(first.need);
      if (bytes === undefined) return;
      if (first.take(bytes)) this.#waiting.shift();
    }
    this.#holdProcess(false);
  }

  #fail(error: unknown): void {
    this.hasEnded = true;
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }

  /** Whether this process stays for git's sake when it has nothing else to do. */
  #holdProcess(isHeld: boolean): void {
    const { stdin, stdout, stderr } = this.#child;
    for (const handle of [this.#child, stdin, stdout, stderr]) {
      // The pipes of a child are sockets, which can be let go of; their declared types do not say so.
      const socket = handle as ChildProcessWithoutNullStreams;
      if (isHeld) socket.ref();
      else socket.unref();
    }
  }
}
