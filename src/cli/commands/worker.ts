import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { createEngineContext } from '../../engine/engine-context.ts';
import type { EngineEvent } from '../../engine/events.ts';
import { CLAIM_DEADLINES } from '../../sync/claims.ts';
import { type HealthAddress, serveHealth, type WorkerInfo, WorkerMonitor } from '../../worker/health.ts';
import { Bell, runWorker } from '../../worker/worker.ts';
import { listVersions } from '../../workflow/registry/find-workflow.ts';
import { type Command, defineCommand, parseCount, parseDuration, parsePort } from '../command-line/command.ts';
import { UsageError } from '../errors/exit-code.ts';
import { logLine } from '../follow/print-events.ts';
import { readVersion } from '../version.ts';
import { foldGathered, scanningRedactor } from '../open/open-config.ts';
import { engineOptions } from '../open/open-engine.ts';
import { openRemoteHere } from '../open/open-remote.ts';
import { openForWriting } from '../open/open-repository.ts';
import type { Output } from '../output/output.ts';
import { harmless, harmlessJson } from '../output/text.ts';
import { type CliEnvironment, onSignalsInTurn, rootWatched } from '../process/cli-environment.ts';
import { saveMemory, saveTime } from '../process/save-memory.ts';
import { trustGate } from '../trust/gate.ts';

const DEFAULT_DEADLINE_MS = 60_000;
/** So many versions of a workflow are looked through for `--registered`. */
const MAX_VERSIONS = 1_000;
/** With a queue, looks are rare: those while turns are at work also see whether a person has stopped one. */
const SWEEP = { minMs: 20_000, maxMs: 60_000 };
/** A look at the remote takes about as long. */
const MIN_POLL_MS = 100;
const DEFAULT_POLL = { minMs: 1_000, maxMs: 30_000 };

const names = (summary: string, value: string): { summary: string; value: string; isRepeatable: true } => ({
  summary,
  value,
  isRepeatable: true,
});

export const workerCommand: Command = defineCommand({
  description: `Takes turns of the threads of a remote until it is stopped: it looks for threads that can go on, claims one, runs
its next turn with this machine's agents, publishes the step, and goes on. Any number of workers share the work; a step is
published only by the worker that still has the claim.

Threads run in work trees of their own. Commits that agents make there are published with the step. Everyone who can push to
the remote can have this machine's agents run a prompt: --registered, --workflow and --author limit what is taken.

The first SIGTERM or Ctrl-C lets the turns at work end, the second gives them back. SIGUSR1 has it look at the remote now.

--health serves GET /healthz (200 while a look at the remote succeeded within three poll intervals, else 503), GET /metrics
(OpenMetrics) and POST /hint, which has it look now.`,
  options: {
    remote: {
      value: '<name>',
      summary: 'the remote, by its name in git; default: the one that git would choose',
      candidates: 'remote',
    },
    role: names('only turns of this role', '<role>'),
    workflow: { ...names('only threads of this workflow', '<name>'), candidates: 'workflow' },
    author: names('only threads that were started under this email address', '<email>'),
    registered: { summary: 'only threads whose workflow is a version that is registered here' },
    queue: {
      value: '<url>',
      summary:
        'be told of turns over Redis (redis:// or rediss://); UWF_QUEUE keeps a password out of the process list',
    },
    label: names('what this machine has; turns that need something else are left to others', '<label>'),
    'at-once': { value: '<n>', summary: 'how many turns are taken at once; default: 1', parse: parseCount },
    poll: { value: '<time>', summary: 'look at the remote this often; default: every 1s to 30s', parse: parseDuration },
    deadline: {
      value: '<time>',
      summary: 'how long a claim counts if this worker falls silent; default: 60s',
      parse: parseDuration,
    },
    name: { value: '<name>', summary: "this worker's name; default: the machine's name and the process id" },
    drain: { summary: 'end when nothing is left that this worker can do' },
    once: { summary: 'end after one turn' },
    health: {
      value: '<port>',
      summary: 'serve health and metrics on this port of the loopback interface, or on <address>:<port>',
      parse: parseHealthAddress,
    },
    log: {
      value: '<form>',
      summary: 'json: a JSON object on each line of stderr; default: text',
      candidates: ['text', 'json'],
    },
  },
  examples: [
    { command: 'uwf worker --health 9464 --log json', comment: 'for a service manager and a metrics server' },
    { command: 'uwf worker --remote origin --at-once 4', comment: 'work until stopped' },
    { command: 'uwf worker --label gpu --role trainer', comment: 'a machine with a GPU, for one role' },
    { command: 'uwf worker --drain', comment: 'in a CI job: do what there is, and end' },
  ],
  async run({ options, cli, out }) {
    const deadlineMs = options.deadline ?? DEFAULT_DEADLINE_MS;
    if (deadlineMs < CLAIM_DEADLINES.min || deadlineMs > CLAIM_DEADLINES.max) {
      throw new UsageError('--deadline needs a time from 1s to 1h');
    }
    // Without a pause it would start one git after the other, also where the remote is away.
    if (options.poll !== undefined && options.poll < MIN_POLL_MS)
      throw new UsageError('--poll needs a time from 100ms on');
    const queue = options.queue ?? (cli.env['UWF_QUEUE'] || undefined);
    saveMemory(false);
    const repository = await openForWriting(cli);
    const stop = onSignalsInTurn(cli.env);
    await rootWatched();
    const engine = await engineOptions(cli, repository);
    const name = options.name ?? `${hostname()}-${process.pid}`;
    const log = options.log === 'json' ? jsonLog(cli, name) : textLog(cli, out);
    const onTrouble = (text: string): void => log.trouble(text);
    // Ctrl-C must not end a git at work, so git has no terminal; and nobody watches a worker to answer.
    const choice = { name: options.remote, direction: 'push', mayAsk: false, onTrouble } as const;
    const remote = await openRemoteHere(cli, repository, choice);
    if (!remote.isConfigured) {
      throw new UsageError(`a worker needs a remote with a name: git remote add <name> ${remote.url}`);
    }
    const poll = pollTimes(options.poll, queue);
    const watch = await watchWorker({
      info: { version: readVersion(), worker: name, remote: remote.name },
      health: options.health,
      maxUnseenMs: 3 * poll.maxMs,
    });
    log.tell('worker.started', { remote: remote.name, pid: process.pid, ...watch.told });
    const worked = runWorker({
      ...watch,
      repository,
      remote,
      identity: { worker: name, host: hostname(), session: randomBytes(8).toString('hex'), deadlineMs },
      context: createEngineContext({ ...engine, signal: stop.first, sharesTurns: true }),
      openEngine: async (given) => {
        saveTime();
        const { createEngine } = await import('../../engine/engine.ts');
        // A gate for each turn: since the last one, others may have pushed other scripts under the names that were agreed to.
        const admit = trustGate(cli, repository, engine.config);
        return createEngine({ ...engine, admit, ...given, sharesTurns: true });
      },
      // The commits of code that the remote does not have are those that agents make in the work trees of threads.
      sync: { env: cli.env, remoteWins: true, withCommits: true, redactor: await scanningRedactor(cli, repository) },
      filter: {
        roles: options.role,
        workflows: options.workflow,
        authors: options.author,
        ...(options.registered && {
          isRegistered: async (workflow, hash) =>
            (await listVersions(repository, workflow, MAX_VERSIONS)).some((version) => version.hash === hash),
        }),
      },
      atOnce: options['at-once'] ?? 1,
      labels: options.label,
      poll,
      ...(queue !== undefined && {
        openQueue: async () => {
          const { openBullQueue } = await import('../../worker/bullmq/bull-queue.ts');
          return openBullQueue(queue, deadlineMs);
        },
      }),
      drain: options.drain,
      once: options.once,
      finish: stop.first,
      giveBack: stop.second,
      onEvent: (event) => log.step(event),
      onIdle: () => {
        saveMemory(true);
        // Each look that brings something leaves a pack, also if no turn follows.
        void foldGathered(cli, repository);
      },
      onTrouble,
    });
    try {
      await worked;
    } finally {
      await watch.end();
    }
    log.tell('worker.ended');
    await repository.close();
  },
});

/** A queue on Redis may be wiped at any moment, so a worker that uses one offers every thread that can go on now and then. */
function pollTimes(
  poll: number | undefined,
  queue: string | undefined,
): {
  minMs: number;
  maxMs: number;
} {
  if (poll !== undefined) return { minMs: poll, maxMs: poll };
  return queue === undefined ? DEFAULT_POLL : SWEEP;
}

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

type WorkerWatch = {
  monitor: WorkerMonitor;
  bell: Bell;
  /** What the log says of it at the start. */
  told: { health?: string };
  end(): Promise<void>;
};

/** Watches a worker of this process: serves its health if that is asked for, and has it look at the remote at SIGUSR1. */
async function watchWorker(options: {
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
interface WorkerLog {
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
