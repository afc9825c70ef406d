import type { JobsOptions } from 'bullmq';
import { isObjectId } from '../../git/format/object-id.ts';
import { arrayOf, isString, objectOf, stringThat } from '../../shape.ts';
import { isThreadId } from '../../thread/thread-id.ts';
import type { TurnJob } from '../turn-queue.ts';

/** A job as BullMQ takes it. */
export type StoredJob = { name: string; data: StoredTurn; opts: JobsOptions };

/** The data of a job: the turn, and what became of those that left nothing and whose workers went on. */
export type StoredTurn = TurnJob & { losses?: string[] };

const isStoredTurn = objectOf<StoredTurn>({
  remote: isString,
  thread: stringThat(isThreadId),
  head: stringThat(isObjectId),
  role: { mayBe: isString },
  needs: arrayOf(isString),
  losses: { mayBe: arrayOf(isString) },
});

/**
 * The id under which a job is offered once: the thread and its head. BullMQ reserves ':' for its keys.
 */
export function jobIdOf({ thread, head }: Pick<TurnJob, 'thread' | 'head'>): string {
  return `${thread}-${head}`;
}

/** A job goes when it ends: a kept one would silently swallow the next offer of the same head. */
export function storedJob({ remote, thread, head, role, needs }: TurnJob): StoredJob {
  return {
    name: 'turn',
    data: { remote, thread, head, ...(role !== undefined && { role }), needs },
    opts: { jobId: jobIdOf({ thread, head }), removeOnComplete: true, removeOnFail: true },
  };
}

/** Reads a job that any client of the server can have written; `undefined` if it is none. */
export function readStoredJob(data: unknown): StoredTurn | undefined {
  return isStoredTurn(data) ? data : undefined;
}
