import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { GitEnded, GitFailed, GitNotFound } from './run-git.ts';
import { spawnGit, type GitStart } from './spawn-git.ts';

/**
 * Reads the answer to one question: yields what it needs next (a line, or a number of bytes), receives it, and returns the
 * answer.
 */
export type AnswerReader<Answer> = Generator<'line' | number, Answer, Buffer>;

/** How much of the end of stderr is kept. */
const MAX_SAID = 8 * 1024;

/**
 * A running git that answers questions in the order in which they are asked. Many questions can wait at the same time.
 *
 * The first question starts it. It ends with this process, because its stdin closes then. While no answer is pending it does
 * not keep this process alive. If it is killed, it is started once more and asked again.
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
   * @param isRepeatable whether it may be asked again when git is killed
   * @throws {GitFailed} if git ends instead of answering
   * @throws {GitEnded} if a signal ends it, twice if the question is repeatable
   * @throws {GitNotFound} if there is no git
   */
  async ask<Answer>(text: string, read: () => AnswerReader<Answer>, isRepeatable = true): Promise<Answer> {
    try {
      return await this.#open().ask(text, read());
    } catch (error) {
      if (!(error instanceof GitEnded) || !isRepeatable) throw error;
      return await this.#open().ask(text, read());
    }
  }

  /** The end of what git has said on stderr so far. */
  async said(): Promise<string> {
    // What git wrote before its answer is in the pipe, and is read in the next round of the event loop at the latest.
    await setImmediate();
    await setImmediate();
    return this.#session?.said ?? '';
  }

  /** Waits for pending answers and for the end of git. The next question starts another git. */
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

/** A pending question: `take` passes bytes on and tells whether the answer is complete. */
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
      (chunk: Buffer) => (this.said = (this.said + chunk.toString('utf8')).slice(-MAX_SAID)),
    );
    // The end of git is reported by its own event, with the reason.
    this.#child.stdin.on('error', () => {});
    this.#closed = new Promise((resolve) => {
      this.#child.on('error', (error: NodeJS.ErrnoException) => {
        this.#fail(error.code === 'ENOENT' ? new GitNotFound(error) : error);
        resolve();
      });
      this.#child.on('close', (_code, signal) => {
        this.#fail(signal === null ? new GitFailed(this.#args, this.said) : new GitEnded(this.#args, signal));
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

  /** Sets whether git keeps this process alive. */
  #holdProcess(isHeld: boolean): void {
    const { stdin, stdout, stderr } = this.#child;
    // The pipes of a child are sockets; their declared types do not say so.
    const sockets = [stdin, stdout, stderr].filter((pipe) => pipe instanceof Socket);
    for (const handle of [this.#child, ...sockets]) {
      if (isHeld) handle.ref();
      else handle.unref();
    }
  }
}

/** Bytes as they arrive, taken off the front by lines and by counts. */
class ByteQueue {
  #chunks: Buffer[] = [];
  #length = 0;

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#length += chunk.byteLength;
  }

  /** The next line without its end; `undefined` until all of it is there. */
  takeLine(): Buffer | undefined {
    let length = 0;
    for (const chunk of this.#chunks) {
      const at = chunk.indexOf('\n');
      if (at !== -1) return this.take(length + at + 1)?.subarray(0, -1);
      length += chunk.byteLength;
    }
    return undefined;
  }

  /** The next bytes, a copy of their own; `undefined` until all of them are there. */
  take(count: number): Buffer | undefined {
    if (count > this.#length) return undefined;
    const taken: Buffer[] = [];
    for (let missing = count; missing > 0;) {
      const [first = Buffer.alloc(0)] = this.#chunks;
      taken.push(first.subarray(0, missing));
      if (first.byteLength <= missing) this.#chunks.shift();
      else this.#chunks[0] = first.subarray(missing);
      missing -= Math.min(missing, first.byteLength);
    }
    this.#length -= count;
    return Buffer.concat(taken, count);
  }
}
