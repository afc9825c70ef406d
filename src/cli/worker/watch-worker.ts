import type { EngineEvent } from '../../engine/events.ts';
import { type HealthAddress, serveHealth, type WorkerInfo, WorkerMonitor } from '../../worker/health.ts';
import { Bell } from '../../worker/worker.ts';
import { parsePort } from '../command-line/parse-value.ts';
import { UsageError } from '../errors/usage-error.ts';
import { logLine } from '../follow/print-events.ts';
import type { Output } from '../output/output.ts';
import { harmless, harmlessJson } from '../output/width.ts';
import type { CliEnvironment } from '../process/cli-environment.ts';

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

/** What a worker tells while it works, on stderr. */
export interface WorkerLog {
  /** It begins, or ends. */
  tell(event: 'worker.started' | 'worker.ended', facts?: Record<string, string | number>): void;
  step(event: EngineEvent): void;
  trouble(text: string): void;
}

/** A log for people: a line for each turn that begins or ends, and for what goes wrong. */
export function textLog(cli: CliEnvironment, out: Output): WorkerLog {
  return {
    tell(event, { health } = {}) {
      if (event === 'worker.started' && health !== undefined) out.note(`health on ${health}`);
    },
    step(event) {
      const line = logLine(event);
      if (line !== undefined) out.note(line);
    },
    trouble: (text) => cli.stderr.write(`uwf: ${harmless(text)}\n`),
  };
}

/** A log for programs: a JSON object on each line, with `time`, `event` and `worker`. */
export function jsonLog(cli: CliEnvironment, worker: string): WorkerLog {
  const write = (event: string, facts: object): void => {
    const time = new Date(cli.now()).toISOString();
    cli.stderr.write(`${harmlessJson(JSON.stringify({ time, event, worker, ...facts }))}\n`);
  };
  return {
    tell: (event, facts = {}) => write(event, facts),
    step(event) {
      if (event.event === 'step.started') {
        const { thread, role, agent, number } = event;
        write(event.event, { thread, role, agent, number });
      }
      if (event.event === 'step.finished') {
        const { thread, role, step, number, outcome, durationMs, usage } = event;
        write(event.event, { thread, role, step, number, outcome, durationMs, usage });
      }
    },
    trouble: (message) => write('trouble', { message }),
  };
}
