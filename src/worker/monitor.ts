import type { EngineEvent } from '../engine/events.ts';
import { monotonicMs } from '../monotonic-ms.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import type { TurnJob, TurnVerdict } from './turn-queue.ts';

/** A thread that a worker works on. */
export type AtWork = { thread: ThreadId; role: string | null; sinceMs: number };

/** What a worker has counted since it started. */
export type WorkerCounts = {
  /** Turns that were begun, those of child threads too. */
  turns: number;
  /** Steps that were stored. */
  steps: number;
  /** Jobs that are over, by how they came out. */
  jobs: Record<TurnVerdict, number>;
  /** Jobs that another worker, or a person, took away. */
  lost: number;
  looks: number;
  failedLooks: number;
  lookSeconds: number;
};

/** Counts what a worker does, and tells how it stands. */
export class WorkerMonitor {
  readonly startedMs: number = Date.now();
  readonly counts: WorkerCounts = {
    turns: 0,
    steps: 0,
    jobs: { done: 0, again: 0, stale: 0 },
    lost: 0,
    looks: 0,
    failedLooks: 0,
    lookSeconds: 0,
  };
  /** When a look at the remote last succeeded, in ms since 1970. */
  lastLookMs: number | undefined;
  readonly #atWork = new Map<ThreadId, AtWork>();
  readonly #begunMs = monotonicMs();
  #lookedMs: number | undefined;
  #changed: () => void = () => {};

  /** Has a function called when something has changed. */
  onChange(changed: () => void): void {
    this.#changed = changed;
  }

  get atWork(): AtWork[] {
    return [...this.#atWork.values()];
  }

  /** For how long no look at the remote has succeeded, by the monotonic clock, in ms. */
  get unseenMs(): number {
    return monotonicMs() - (this.#lookedMs ?? this.#begunMs);
  }

  looked(tookMs: number): void {
    this.counts.looks += 1;
    this.counts.lookSeconds += tookMs / 1000;
    this.lastLookMs = Date.now();
    this.#lookedMs = monotonicMs();
    this.#changed();
  }

  lookFailed(): void {
    this.counts.failedLooks += 1;
    this.#changed();
  }

  began({ thread, role }: TurnJob): void {
    this.#atWork.set(thread, { thread, role: role ?? null, sinceMs: Date.now() });
    this.#changed();
  }

  ended({ thread }: TurnJob, verdict: TurnVerdict, isLost: boolean): void {
    this.#atWork.delete(thread);
    this.counts.jobs[verdict] += 1;
    if (isLost) this.counts.lost += 1;
    this.#changed();
  }

  tell(event: EngineEvent): void {
    if (event.event === 'step.finished') this.counts.steps += 1;
    if (event.event !== 'step.started') return;
    this.counts.turns += 1;
    const work = this.#atWork.get(event.thread);
    if (work !== undefined) work.role = event.role;
    this.#changed();
  }
}
