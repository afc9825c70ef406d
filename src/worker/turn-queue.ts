import { UwfError } from '../errors.ts';
import type { ObjectId } from '../git/format/object-id.ts';
import type { PushFence } from '../sync/push-threads.ts';
import type { ThreadId } from '../thread/thread-id.ts';

/** A thread of a remote that can go on. */
export type TurnJob = {
  /** The remote's name in git's configuration, or its URL. */
  remote: string;
  thread: ThreadId;
  /** Its head at the remote when it was offered. */
  head: ObjectId;
  /** The role whose turn it is, for people; absent where the thread is only to be ended. */
  role?: string;
  /** What a machine must have for its next turn: the `needs` of its role, sorted. */
  needs: readonly string[];
};

/** Tells whether a machine with these labels has all that a job needs. */
export function isCovered({ needs }: Pick<TurnJob, 'needs'>, labels: readonly string[]): boolean {
  return needs.every((need) => labels.includes(need));
}

/**
 * What came of a job. `done`: a turn was published. `again`: it could not be tried now; offer it later. `stale`: the thread
 * has moved, or cannot go on; drop it.
 */
export type TurnVerdict = 'done' | 'again' | 'stale';

/** A push that a fence goes with. */
export type FencedPush = {
  /** The commit that the thread is at after it; `undefined` if it is over. */
  head: ObjectId | undefined;
  /** Whether the worker gives the thread back with it. */
  isLast: boolean;
};

/** Edits of a queue that have to go with the push of a step, so that a worker which lost its job publishes nothing. */
export interface Fence {
  /**
   * Makes a push with the edits of this job; no other push of the queue is made meanwhile.
   * @throws what `send` throws; whether the edits were made is found out before the next push
   */
  push<T>(push: FencedPush, send: (fence: PushFence) => Promise<T>): Promise<T>;
  /** Keeps the job although it cannot be published now: another worker would pay for the turn again. */
  hold(reason: string): void;
}

/** A worker's right to a job. */
export type TurnLock = {
  /** Aborted when the right is lost, or when the worker gives its jobs back: the agent must stop. */
  signal: AbortSignal;
  /** What became of the turns of the job that left nothing, as far as the queue knows: most of their workers fell silent. */
  losses: readonly string[];
  /**
   * Notes that the turn has left nothing, for the worker that gets the job next. It has to end as `again` then. What a worker that
   * gives its jobs back cuts off is not lost.
   */
  lose: (what: string) => void;
  /** Where there is one, the worker may go on with further turns of the thread: the right is kept with each push. */
  fence?: Fence | undefined;
};

/** Does a turn of a thread and publishes it. It never rejects: what fails is told, and the verdict is `again`. */
export type TakeTurn = (job: TurnJob, lock: TurnLock) => Promise<TurnVerdict>;

/** Is told what went wrong: an error, or a text. @param thread the thread whose turn it ended */
export type TellTrouble = (trouble: unknown, thread?: ThreadId) => void;

export type WorkOptions = {
  atOnce: number;
  /** What this machine has: it takes jobs whose needs are all among these. */
  labels: readonly string[];
  /** Is told what goes wrong, without passwords. */
  onTrouble: TellTrouble;
};

/** A queue has lost the connection to its server. While it has a worker, it tells that itself, once. */
export class QueueLost extends UwfError {}

/** Work that goes on until it is stopped. */
export interface Work {
  /** Takes no more jobs, and resolves when those at work are done. */
  finish(): Promise<void>;
  /** Aborts the jobs at work, gives them back, and resolves when that is done. */
  giveBack(): Promise<void>;
}

/**
 * Says which worker should try which thread. It is a hint, never the truth: a step counts when the thread's ref was moved
 * under its expected value, so a queue may lose jobs or give one out twice.
 *
 * Each implementation passes `test/contracts/turn-queue.ts`.
 */
export interface TurnQueue {
  /** Offers threads; one that was offered before with the same head is offered once. Throws `QueueLost`. */
  offer(jobs: readonly TurnJob[]): Promise<void>;
  /** Takes jobs, in any order. A queue has at most one worker. */
  work(take: TakeTurn, options: WorkOptions): Promise<Work>;
  /** Ends the connection. Call it after the work has ended. */
  close(): Promise<void>;
}
