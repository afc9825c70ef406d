import { UwfError } from '../errors.ts';
import { plural } from '../format-time.ts';
import type { ObjectId } from '../git/format/object-id.ts';
import { monotonicMs } from '../monotonic-ms.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import { isCovered, type TurnJob } from './turn-queue.ts';

/** What this worker cannot do may be about to be done by others, which brings more to do: it waits for this time; ms. */
const OTHERS_MS = 30_000;

/** Tells when nothing is left at a remote that a worker can do: others may have labels or agents that it has not. */
export class Drain {
  readonly #remote: string;
  readonly #labels: readonly string[];
  readonly #unable = new Map<ThreadId, { head: ObjectId; error: UwfError }>();
  /** When there was last something to do. */
  #busyMs = monotonicMs();
  #left: readonly TurnJob[] = [];

  /** @param remote its name */
  constructor(remote: string, labels: readonly string[]) {
    this.#remote = remote;
    this.#labels = labels;
  }

  /** Is told of a job that failed in a way that repeating it does not change. */
  tellUnable({ thread, head }: TurnJob, error: UwfError): void {
    this.#unable.set(thread, { head, error });
  }

  /**
   * Tells whether the worker can end.
   * @param jobs what can go on at the remote
   * @param isAlone whether this worker and those that it sees have nothing at work
   */
  isOver(jobs: readonly TurnJob[], isAlone: boolean): boolean {
    this.#left = jobs;
    if (!isAlone || jobs.some((job) => this.#isAble(job))) this.#busyMs = monotonicMs();
    else return jobs.length === 0 || monotonicMs() - this.#busyMs >= OTHERS_MS;
    return false;
  }

  /**
   * Says what stays at the remote for workers with other labels.
   * @throws {UwfError} `turns-left` if turns failed here
   */
  tellLeft(onTrouble: (text: string) => void): void {
    const errors = this.#left.flatMap((job) => this.#errorOf(job) ?? []);
    const others = this.#left.filter((job) => this.#errorOf(job) === undefined);
    if (others.length > 0) {
      const needs = [...new Set(others.flatMap((job) => job.needs))].join(', ');
      onTrouble(`${plural(others.length, 'thread')} left at ${this.#remote} for workers with these labels: ${needs}`);
    }
    if (errors.length === 0) return;
    throw new UwfError(`${plural(errors.length, 'thread')} at ${this.#remote} could not go on here`, {
      code: 'turns-left',
      kind: errors.some(({ kind }) => kind === 'agent') ? 'agent' : 'data',
      hint: 'the messages before say why',
    });
  }

  #isAble(job: TurnJob): boolean {
    return this.#errorOf(job) === undefined && isCovered(job, this.#labels);
  }

  #errorOf({ thread, head }: TurnJob): UwfError | undefined {
    const known = this.#unable.get(thread);
    return known?.head === head ? known.error : undefined;
  }
}
