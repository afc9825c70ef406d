import type { EngineEvent } from '../../engine/events.ts';
import type { Output } from '../output/output.ts';
import { harmless, harmlessJson } from '../output/width.ts';
import type { CliEnvironment } from '../process/cli-environment.ts';

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
      if (event.event === 'step.started') out.note(`${event.thread} ${event.role}`);
      if (event.event === 'step.finished') out.note(`${event.thread} ${event.role}: ${event.outcome ?? 'done'}`);
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
