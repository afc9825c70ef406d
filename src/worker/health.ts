import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { UwfError } from '../errors.ts';
import type { Bell } from './bell.ts';
import { formatMetrics, METRICS_TYPE, type WorkerInfo, type WorkerMonitor } from './monitor.ts';

/** Where the health of a worker is served. */
export type HealthAddress = { host: string; port: number };

export type HealthOptions = {
  monitor: WorkerMonitor;
  bell: Bell;
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
 * @throws {UwfError} `cannot-listen`
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
  const { monitor, bell, info, maxUnseenMs } = options;
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
    bell.ring();
    reply(202, 'the worker looks at the remote\n');
  } else if (path === '/healthz' || path === '/metrics' || path === '/hint') {
    reply(405, 'GET /healthz, GET /metrics, POST /hint\n');
  } else reply(404, 'GET /healthz, GET /metrics, POST /hint\n');
}
