import type { WorkerMonitor } from './monitor.ts';

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
