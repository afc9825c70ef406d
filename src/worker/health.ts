import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { EngineEvent } from '../engine/events.ts';
import { UwfError } from '../errors.ts';
import { monotonicMs } from '../time/clock.ts';
import type { TurnVerdict } from './turn-queue.ts';

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
  /** How many threads it works on. */
  atWork = 0;
  /** When a look at the remote last succeeded, in ms since 1970. */
  lastLookMs: number | undefined;
  #lookedMs = monotonicMs();

  /** For how long no look at the remote has succeeded, by the monotonic clock, in ms. */
  get unseenMs(): number {
    return monotonicMs() - this.#lookedMs;
  }

  looked(tookMs: number): void {
    this.counts.looks += 1;
    this.counts.lookSeconds += tookMs / 1000;
    this.lastLookMs = Date.now();
    this.#lookedMs = monotonicMs();
  }

  ended(verdict: TurnVerdict, isLost: boolean): void {
    this.atWork -= 1;
    this.counts.jobs[verdict] += 1;
    if (isLost) this.counts.lost += 1;
  }

  tell({ event }: EngineEvent): void {
    if (event === 'step.started') this.counts.turns += 1;
    if (event === 'step.finished') this.counts.steps += 1;
  }
}

export type HealthAddress = { host: string; port: number };

export type HealthOptions = {
  monitor: WorkerMonitor;
  /** Has the worker look at the remote now. */
  ring: () => void;
  info: WorkerInfo;
  /** The worker is healthy while a look at the remote succeeded within this time. */
  maxUnseenMs: number;
};

export interface HealthServer {
  readonly port: number;
  close(): Promise<void>;
}

const MAX_CONNECTIONS = 32;
const TIMEOUT_MS = 5_000;

/**
 * Serves `GET /healthz`, `GET /metrics` and `POST /hint`, which has the worker look at the remote now. Nothing that it serves is
 * a secret, and no request has a body.
 */
export async function serveHealth({ host, port }: HealthAddress, options: HealthOptions): Promise<HealthServer> {
  const server = createServer({ requestTimeout: TIMEOUT_MS, headersTimeout: TIMEOUT_MS }, (request, response) => {
    // Nothing reads a body, so what comes after one cannot be told apart from it.
    response.setHeader('Connection', 'close');
    answer(request, response, options);
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    throw new UwfError(`the health of the worker cannot be served on ${host}:${port}`, {
      code: 'cannot-listen',
      kind: 'environment',
      hint: 'another process may have that port',
      cause: error,
    });
  }
  // An error after that, such as too many open files when a connection comes, is no reason to end the worker.
  server.on('error', () => {});
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

function answer(request: IncomingMessage, response: ServerResponse, options: HealthOptions): void {
  const { monitor, ring, info, maxUnseenMs } = options;
  const reply = (status: number, text: string, type = 'text/plain; charset=utf-8'): void => {
    response.writeHead(status, { 'Content-Type': type, 'Cache-Control': 'no-store' });
    response.end(request.method === 'HEAD' ? '' : text);
  };
  const path = (request.url ?? '').split('?', 1)[0];
  const isReading = request.method === 'GET' || request.method === 'HEAD';
  if (path === '/healthz' && isReading) {
    const { unseenMs } = monitor;
    const seconds = Math.round(unseenMs / 1000);
    if (unseenMs <= maxUnseenMs) reply(200, 'ok\n');
    else reply(503, `no look at ${info.remote} has succeeded for ${seconds} s\n`);
  } else if (path === '/metrics' && isReading) {
    reply(200, formatMetrics(monitor, info), METRICS_TYPE);
  } else if (path === '/hint' && request.method === 'POST') {
    // A page in a browser on this machine could send it, too; webhooks have no origin.
    if (request.headers.origin !== undefined) return reply(403, 'not from a browser\n');
    ring();
    reply(202, 'the worker looks at the remote\n');
  } else if (path === '/healthz' || path === '/metrics' || path === '/hint') {
    reply(405, 'GET /healthz, GET /metrics, POST /hint\n');
  } else reply(404, 'GET /healthz, GET /metrics, POST /hint\n');
}

/** What the metrics say of a worker beside its counts. */
export type WorkerInfo = { version: string; worker: string; remote: string };

const METRICS_TYPE = 'application/openmetrics-text; version=1.0.0; charset=utf-8';

type Sample = { labels?: Record<string, string>; suffix?: string; value: number };

/** Writes what a worker has counted in the text format of OpenMetrics. Source: the OpenMetrics specification 1.0. */
function formatMetrics(monitor: WorkerMonitor, info: WorkerInfo): string {
  const { counts, lastLookMs, startedMs } = monitor;
  const total = (value: number): Sample[] => [{ suffix: '_total', value }];
  const families = [
    family('uwf_worker', 'info', 'The worker and its version.', [{ suffix: '_info', labels: info, value: 1 }]),
    family('uwf_worker_start_time_seconds', 'gauge', 'When the worker started.', [{ value: startedMs / 1000 }]),
    family('uwf_worker_at_work', 'gauge', 'Threads that the worker works on now.', [{ value: monitor.atWork }]),
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
