import type { EngineEvent } from '../engine/events.ts';
import { monotonicMs } from '../monotonic-ms.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import type { TurnJob, TurnVerdict } from './turn-queue.ts';

/** A thread that a worker works on. */
type AtWork = { thread: ThreadId; role: string | null; sinceMs: number };

/** What a worker has counted since it started. */
type WorkerCounts = {
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

/** What the metrics say of a worker beside its counts. */
export type WorkerInfo = { version: string; worker: string; remote: string };

export const METRICS_TYPE = 'application/openmetrics-text; version=1.0.0; charset=utf-8';

type Sample = { labels?: Record<string, string>; suffix?: string; value: number };

/**
 * Writes what a worker has counted in the text format of OpenMetrics.
 * Source: the OpenMetrics specification 1.0.
 */
export function formatMetrics(monitor: WorkerMonitor, info: WorkerInfo): string {
  const { counts, atWork, lastLookMs, startedMs } = monitor;
  const total = (value: number): Sample[] => [{ suffix: '_total', value }];
  const families = [
    family('uwf_worker', 'info', 'The worker and its version.', [{ suffix: '_info', labels: info, value: 1 }]),
    family('uwf_worker_start_time_seconds', 'gauge', 'When the worker started.', [{ value: startedMs / 1000 }]),
    family('uwf_worker_at_work', 'gauge', 'Threads that the worker works on now.', [{ value: atWork.length }]),
    family('uwf_worker_turns', 'counter', 'Turns that were begun.', total(counts.turns)),
    family('uwf_worker_steps', 'counter', 'Steps that were stored.', total(counts.steps)),
    family(
      'uwf_worker_jobs',
      'counter',
      'Jobs that are over, by verdict: done, again (failed, or given back), stale.',
      Object.entries(counts.jobs).map(([verdict, value]) => ({ suffix: '_total', labels: { verdict }, value })),
    ),
    family('uwf_worker_lost', 'counter', 'Jobs that another worker, or a person, took away.', total(counts.lost)),
    family('uwf_worker_look_seconds', 'summary', 'Looks at the remote that succeeded, and how long they took.', [
      { suffix: '_count', value: counts.looks },
      { suffix: '_sum', value: counts.lookSeconds },
    ]),
    family('uwf_worker_failed_looks', 'counter', 'Looks at the remote that failed.', total(counts.failedLooks)),
    family(
      'uwf_worker_last_look_timestamp_seconds',
      'gauge',
      'When a look at the remote last succeeded.',
      lastLookMs === undefined ? [] : [{ value: lastLookMs / 1000 }],
    ),
  ];
  return `${families.join('')}# EOF\n`;
}

function family(name: string, type: string, help: string, samples: readonly Sample[]): string {
  const lines = samples.map(({ suffix = '', labels = {}, value }) => {
    const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
    return `${name}${suffix}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}\n`;
  });
  return `# TYPE ${name} ${type}\n# HELP ${name} ${help}\n${lines.join('')}`;
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
