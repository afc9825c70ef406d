import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { Socket } from 'node:net';
import { GitEnded, GitFailed, GitNotFound } from './run-git.ts';
import { spawnGit, type GitStart } from './spawn-git.ts';

/** How much of the end of stderr is kept. */
const MAX_SAID = 8 * 1024;

/** A running git, and what waits for it. */
type Session = {
  child: ChildProcessWithoutNullStreams;
  closed: Promise<void>;
  waiting?: { end: string; resolve: () => void; reject: (error: unknown) => void } | undefined;
  hasEnded?: boolean;
};

/**
 * A running git that does one task after the other.
 *
 * The first task starts it. It ends with this process, because its stdin closes then. While no task is pending it does not keep
 * this process alive. If it has ended, the next task starts another one.
 */
export class LongLivedGit {
  readonly #start: GitStart;
  #session: Session | undefined;

  constructor(start: GitStart) {
    this.#start = start;
  }

  /**
   * Gives git a task, once the one before has ended.
   *
   * @param text as git reads it, line ends included
   * @param end the line with which git says that it is done
   * @throws {GitFailed} if git ends instead
   * @throws {GitEnded} if a signal ends it
   * @throws {GitNotFound} if there is no git
   */
  ask(text: string, end: string): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#session === undefined || this.#session.hasEnded) this.#session = open(this.#start);
      this.#session.waiting = { end, resolve, reject };
      holdProcess(this.#session.child, true);
      this.#session.child.stdin.write(text);
    });
  }

  /** Waits for the pending task and for the end of git. */
  async close(): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    if (session === undefined) return;
    holdProcess(session.child, true);
    session.child.stdin.end();
    await session.closed;
  }
}

function open(start: GitStart): Session {
  const child = spawnGit(start);
  let printed = '';
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => {
    printed += chunk.toString('latin1');
    const { waiting } = session;
    if (waiting === undefined || !printed.split('\n').includes(waiting.end)) return;
    printed = '';
    session.waiting = undefined;
    holdProcess(child, false);
    waiting.resolve();
  });
  child.stderr.on('data', (chunk: Buffer) => (said = (said + chunk.toString('utf8')).slice(-MAX_SAID)));
  // The end of git is reported by its own event, with the reason.
  child.stdin.on('error', () => {});
  const closed = new Promise<void>((resolve) => {
    const end = (error: Error): void => {
      session.hasEnded = true;
      session.waiting?.reject(error);
      resolve();
    };
    child.on('error', (error: NodeJS.ErrnoException) => end(error.code === 'ENOENT' ? new GitNotFound(error) : error));
    child.on('close', (_, signal) =>
      end(signal === null ? new GitFailed(start.args, said) : new GitEnded(start.args, signal)),
    );
  });
  const session: Session = { child, closed };
  return session;
}

/** Sets whether git keeps this process alive. */
function holdProcess(child: ChildProcessWithoutNullStreams, isHeld: boolean): void {
  const { stdin, stdout, stderr } = child;
  // The pipes of a child are sockets; their declared types do not say so.
  const sockets = [stdin, stdout, stderr].filter((pipe) => pipe instanceof Socket);
  for (const handle of [child, ...sockets]) {
    if (isHeld) handle.ref();
    else handle.unref();
  }
}
