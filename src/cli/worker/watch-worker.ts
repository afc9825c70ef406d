import { type HealthAddress, serveHealth, type WorkerInfo, WorkerMonitor } from '../../worker/health.ts';
import { Bell } from '../../worker/worker.ts';
import { parsePort } from '../command-line/parse-value.ts';
import { UsageError } from '../errors/usage-error.ts';

const LOOPBACK = '127.0.0.1';

/** Reads `<port>` or `<address>:<port>`; an IPv6 address is in brackets. */
export function parseHealthAddress(text: string): HealthAddress {
  const { host, port = text } = /^(?:\[(?<six>[^\]]+)\]|(?<host>[^:[\]]+)):(?<port>[^:]+)$/.exec(text)?.groups ?? {};
  const six = /^\[(?<six>[^\]]+)\]:/.exec(text)?.groups?.['six'];
  if (host === undefined && six === undefined && text.includes(':')) {
    throw new UsageError(
      `needs a port or an address and a port, not '${text}'`,
      'write 9464, 0.0.0.0:9464 or [::]:9464',
    );
  }
  return { host: six ?? host ?? LOOPBACK, port: parsePort(port) };
}

/** What watches a worker, and where it tells. */
export type WorkerWatch = {
  monitor: WorkerMonitor;
  bell: Bell;
  /** What the log says of it at the start. */
  told: { health?: string };
  end(): Promise<void>;
};

/**
 * Watches a worker of this process: serves its health if that is asked for, and has it look at the remote at SIGUSR1.
 */
export async function watchWorker(options: {
  info: WorkerInfo;
  health: HealthAddress | undefined;
  maxUnseenMs: number;
}): Promise<WorkerWatch> {
  const { info, health, maxUnseenMs } = options;
  const [monitor, bell] = [new WorkerMonitor(), new Bell()];
  const ring = (): void => bell.ring();
  const server = health && (await serveHealth(health, { monitor, ring, info, maxUnseenMs }));
  process.on('SIGUSR1', ring);
  return {
    monitor,
    bell,
    told: server === undefined ? {} : { health: `http://${written(health?.host ?? LOOPBACK)}:${server.port}` },
    async end() {
      process.off('SIGUSR1', ring);
      await server?.close();
    },
  };
}

function written(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
