import { ThreadsPoolWorker } from 'vitest/node';
import type { PoolOptions, PoolRunnerInitializer, PoolWorker, WorkerRequest } from 'vitest/node';

/** After so many runs a thread is replaced, because each run leaves a few listeners behind. */
const MAX_RUNS = 100;

/** The thread that waits for the next run, and how many it had. */
let idle: { thread: ThreadsPoolWorker; runs: number } | undefined;

/**
 * A thread that is used again in the next run.
 *
 * Each mutant is a run of its own, and a new thread takes most of its time: it loads vitest and the packages. What the tests and the
 * source keep in modules is dropped all the same: see `fresh-modules.ts`.
 */
class WarmWorker implements PoolWorker {
  readonly name = 'warm';
  readonly #options: PoolOptions;
  readonly #listeners: [event: string, callback: (value: unknown) => void][] = [];
  #thread: ThreadsPoolWorker | undefined;
  #runs = 0;
  #isStopped = false;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  get #started(): ThreadsPoolWorker {
    if (this.#thread === undefined) throw new Error('the thread has not started');
    return this.#thread;
  }

  async start(): Promise<void> {
    if (this.#thread !== undefined) return;
    this.#thread = idle?.thread ?? new ThreadsPoolWorker(this.#options);
    this.#runs = idle?.runs ?? 0;
    if (idle === undefined) await this.#thread.start();
    idle = undefined;
  }

  on(event: string, callback: (value: unknown) => void): void {
    this.#listeners.push([event, callback]);
    this.#started.on(event, callback);
  }

  off(event: string, callback: (value: unknown) => void): void {
    this.#started.off(event, callback);
  }

  send(message: WorkerRequest): void {
    // A thread that is told to stop cannot start again, so it is not told.
    if (message.type === 'stop') {
      this.#isStopped = true;
      const answer = { type: 'stopped', __vitest_worker_response__: true };
      for (const [event, callback] of this.#listeners) if (event === 'message') callback(answer);
    } else this.#started.send(message);
  }

  async stop(): Promise<void> {
    const thread = this.#started;
    for (const [event, callback] of this.#listeners) thread.off(event, callback);
    this.#thread = undefined;
    // A run that is cut off leaves a thread that still works.
    if (this.#isStopped && this.#runs < MAX_RUNS && idle === undefined) idle = { thread, runs: this.#runs + 1 };
    else await thread.stop();
  }

  deserialize(data: unknown): unknown {
    return data;
  }
}

export const warmPool: PoolRunnerInitializer = {
  name: 'warm',
  createPoolWorker: (options) => new WarmWorker(options),
};

/** Ends the thread that waits. */
export async function closeWarmPool(): Promise<void> {
  await idle?.thread.stop();
  idle = undefined;
}
