import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type * as Sdk from '@agentclientprotocol/sdk/unstable';
import type {
  AnyMessage,
  ClientConnection,
  ClientContext,
  RequestPermissionOutcome,
  RequestPermissionRequest,
  Stream,
} from '@agentclientprotocol/sdk/unstable';
import { isJsonObject, type JsonObject, parseJson } from '../../json.ts';
import { endProcessGroup, endStrays, findStrays } from '../processes/process-group.ts';
import {
  closeStreams,
  headAndTail,
  MAX_SAID_CHARACTERS,
  OutputFlood,
  OutputTail,
  type ProgramStart,
  readOutputLines,
  scrubbedEnvironment,
  startProgram,
} from '../processes/start-program.ts';
import { describeEnd, notEnded, whenExited } from '../processes/run-program.ts';

/** What is kept for messages of what an agent prints beside the protocol. */
const MAX_TAIL_BYTES = 4096;
const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;
/** The longest time from the end of a process's output to the end of the process. */
const EXIT_WAIT_MS = 500;

/** An agent's program: how it is spoken to, and how it ends. Tests speak to an agent in their own process. */
export type AgentProgram = {
  pgid: number;
  stdin: Writable;
  stdout: Readable;
  stderr: Readable;
  /** How it ended, in words. */
  exited: Promise<string>;
  /**
   * Ends it, and all that it has started.
   * @throws {AgentBroken} when something is still there after that
   */
  end(): Promise<void>;
};

export type AgentStart = ProgramStart & {
  graceMs: number;
  /** The folder of the step, by which its processes are known. */
  stepDir: string;
};

/**
 * Starts an agent's program. Its end is that of its whole process group, and of what it has started outside of it: SIGTERM, after
 * the grace time SIGKILL.
 */
export async function startAgent(start: AgentStart): Promise<AgentProgram> {
  const { child, pgid } = await startProgram(start);
  const { graceMs, stepDir } = start;
  const endAll = async (): Promise<boolean> => {
    // Children are found by their parent only while it runs; orphans are found afterwards too.
    const children = findStrays(pgid, stepDir);
    const isGone = await endProcessGroup(pgid, graceMs);
    await endStrays([...children, ...findStrays(pgid, stepDir)], pgid, stepDir, graceMs);
    return isGone;
  };
  let ending: Promise<boolean> | undefined;
  return {
    pgid,
    stdin: child.stdin,
    stdout: child.stdout,
    stderr: child.stderr,
    exited: whenExited(child).then(describeEnd),
    end: async () => {
      ending ??= endAll();
      const isGone = await ending;
      closeStreams(child);
      if (!isGone) throw notEnded(`the agent '${start.argv[0]}'`, pgid);
    },
  };
}

export type AgentClient = {
  /** Told of each `session/update`, in the order of arrival, before any later message is answered. */
  onUpdate(params: JsonObject): void;
  /** @returns undefined where no turn is going on */
  onPermission(params: RequestPermissionRequest): Promise<RequestPermissionOutcome> | undefined;
};

/** The way to an agent that runs: requests to it, its messages, what else it says, and its end. */
export class AcpConnection {
  readonly agent: ClientContext;
  readonly #connection: ClientConnection;
  readonly #name: string;
  readonly #program: AgentProgram;
  readonly #client: AgentClient;
  readonly #maxOutputBytes: number;
  readonly #tail = new OutputTail(MAX_TAIL_BYTES);
  #bytesLeft: number;
  /** How it ended, in words, once it has. */
  #outcome: string | undefined;

  /** @param maxOutputBytes of standard output, until the next {@link renewBudget} */
  constructor(sdk: typeof Sdk, program: AgentProgram, client: AgentClient, name: string, maxOutputBytes: number) {
    this.#name = name;
    this.#program = program;
    this.#client = client;
    this.#maxOutputBytes = maxOutputBytes;
    this.#bytesLeft = maxOutputBytes;
    void program.exited.then((outcome) => (this.#outcome = outcome));
    program.stderr.on('data', (chunk: Buffer) => this.#tail.add(chunk));
    const app = sdk.client({ name: 'uwf' }).onRequest('session/request_permission', async ({ params }) => {
      const answer = client.onPermission(params);
      if (answer === undefined) throw sdk.RequestError.invalidRequest(undefined, 'no turn is going on');
      return { outcome: await answer };
    });
    this.#connection = app.connect(this.#messages());
    this.agent = this.#connection.agent;
  }

  /** True while the agent runs and is connected. */
  get isAlive(): boolean {
    return !this.#connection.signal.aborted && this.#outcome === undefined;
  }

  /** Lets it write as much again: a new try has begun. */
  renewBudget(): void {
    this.#bytesLeft = this.#maxOutputBytes;
  }

  /** Adds to a message what the agent printed last, if anything. */
  withOutput(message: string): string {
    const said = this.#tail.words();
    return said === '' ? message : `${message}; it said: ${said}`;
  }

  /** Says of a failure what is known of its cause: how the process ended, what it printed. */
  async explain(error: unknown): Promise<Error> {
    const told = (what: string): Error => new Error(this.withOutput(`'${this.#name}' ${what}`), { cause: error });
    if (error instanceof OutputFlood) {
      return new Error(`'${this.#name}' wrote ${error.message} and was ended`, { cause: error });
    }
    // The connection closes before the system reports the end of the process.
    const isClosed = this.#connection.signal.aborted;
    if (isClosed) await this.#untilExited();
    if (this.#outcome !== undefined) return told(this.#outcome);
    if (isClosed) return told('closed its output');
    if (!(error instanceof Error)) return new Error(String(error));
    if (!('code' in error) || typeof error.code !== 'number') return error;
    const data = 'data' in error && error.data !== undefined ? `: ${JSON.stringify(error.data)}` : '';
    return told(`failed: ${headAndTail(`${error.message}${data}`, MAX_SAID_CHARACTERS)}`);
  }

  /** Ends the agent. Asked again, it waits for the same end. */
  async end(): Promise<void> {
    this.#connection.close();
    await this.#program.end();
  }

  async #untilExited(): Promise<void> {
    const timer = new AbortController();
    await Promise.race([
      this.#program.exited,
      sleep(EXIT_WAIT_MS, undefined, { signal: timer.signal }).catch(() => {}),
    ]);
    timer.abort();
  }

  /**
   * Makes a stream of messages of the program's standard input and output, one message in a line (ACP, "transports").
   *
   * It reads only as fast as messages are dealt with, and keeps no more than one of them. Lines that are not JSON objects
   * are left out, and so are answers to what was not asked: neither is worth ending a turn for. Updates of the session do
   * not go through the SDK, which would refuse those that a newer agent writes otherwise.
   */
  #messages(): Stream {
    const { stdin, stdout } = this.#program;
    const asked = new Set<unknown>();
    const messages = this.#read(asked);
    return {
      readable: new ReadableStream<AnyMessage>({
        async pull(controller) {
          const { value, done } = await messages.next();
          if (done) controller.close();
          else controller.enqueue(value);
        },
        async cancel() {
          stdout.destroy();
        },
      }),
      writable: new WritableStream<AnyMessage>({
        write: (message) => {
          if ('method' in message && 'id' in message) asked.add(message.id);
          return new Promise((resolve, reject) => {
            // Called once the system took it: a program that does not read holds its writer up, and no memory.
            stdin.write(`${JSON.stringify(message)}\n`, (error) => (error ? reject(error) : resolve()));
          });
        },
      }),
    };
  }

  async *#read(asked: Set<unknown>): AsyncGenerator<AnyMessage, void> {
    const maxBytes = Math.min(MAX_MESSAGE_BYTES, this.#maxOutputBytes);
    for await (const line of readOutputLines(this.#program.stdout, maxBytes, (count) => this.#take(count))) {
      const value = parseJson(line.toString('utf8'));
      if (!isJsonObject(value)) {
        this.#tail.add(Buffer.concat([line, Buffer.from('\n')]));
      } else if (value['method'] === 'session/update') {
        if (isJsonObject(value['params'])) this.#client.onUpdate(value['params']);
      } else if ('method' in value || asked.delete(value['id'])) {
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The SDK looks at each message itself, and answers those that are none of the protocol.
        yield value as AnyMessage;
      }
    }
  }

  #take(count: number): void {
    this.#bytesLeft -= count;
    if (this.#bytesLeft < 0) throw new OutputFlood(`more than 'maxOutputBytes' allows (${this.#maxOutputBytes})`);
  }
}

/** How the network is reached from here. */
const NETWORK = [
  'HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy',
  'NODE_EXTRA_CA_CERTS SSL_CERT_FILE SSL_CERT_DIR',
].flatMap((names) => names.split(' '));

/**
 * The environment of a coding agent: what programs need, the way to the network, what was named, and what was given.
 * `GITHUB_TOKEN`, say, is not passed on unless the configuration names it.
 * @param added goes over everything else
 */
export function acpEnvironment(
  env: Readonly<Record<string, string>>,
  names: readonly string[] = [],
  added: Readonly<Record<string, string>> = {},
): Record<string, string> {
  return { ...scrubbedEnvironment(env, [...NETWORK, ...names]), ...added };
}
