import { setTimeout as sleep } from 'node:timers/promises';
import type { AnyMessage, Stream } from '@agentclientprotocol/sdk/unstable';
import { isJsonObject, type JsonObject, parseJson } from '../../json.ts';
import { endProcessGroup, endStrays, findStrays } from '../processes/process-group.ts';
import { OutputFlood, OutputTail, readOutputLines } from '../processes/program-output.ts';
import { describeEnd, notEnded, whenExited } from '../processes/run-program.ts';
import {
  closeStreams,
  type ProgramStart,
  scrubbedEnvironment,
  type StartedProgram,
  startProgram,
} from '../processes/start-program.ts';

/** What is kept for messages of what an agent prints beside the protocol. */
const MAX_TAIL_BYTES = 4096;
const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;

type AgentProcessStart = ProgramStart & {
  graceMs: number;
  /** The folder of the step, by which its processes are known. */
  stepDir: string;
  /** Of standard output, until the next {@link AgentProcess.renewBudget}. */
  maxOutputBytes: number;
};

/** An agent's program: its messages, what else it says, and its end. */
export class AgentProcess {
  readonly pgid: number;
  readonly stream: Stream;
  /** Told of each `session/update`, in the order of arrival, before any later message is answered. */
  onUpdate: (params: JsonObject) => void = () => {};
  /** How it ended, in words, once it has. */
  outcome: string | undefined;
  readonly #child: StartedProgram['child'];
  readonly #exited: Promise<void>;
  readonly #start: AgentProcessStart;
  readonly #tail = new OutputTail(MAX_TAIL_BYTES);
  #bytesLeft: number;
  #ending: Promise<boolean> | undefined;

  private constructor({ child, pgid }: StartedProgram, start: AgentProcessStart) {
    this.pgid = pgid;
    this.#child = child;
    this.#start = start;
    this.#bytesLeft = start.maxOutputBytes;
    this.#exited = whenExited(child).then((exit) => void (this.outcome = describeEnd(exit)));
    child.stderr.on('data', (chunk: Buffer) => this.#tail.add(chunk));
    this.stream = this.#messages();
  }

  /** @throws {AgentMissing} / {WorkingFolderMissing} / {AgentBroken} as `startProgram` does */
  static async start(start: AgentProcessStart): Promise<AgentProcess> {
    return new AgentProcess(await startProgram(start), start);
  }

  /** How it ended; undefined if it has not within `waitMs`. */
  async whenExited(waitMs: number): Promise<string | undefined> {
    const timer = new AbortController();
    await Promise.race([this.#exited, sleep(waitMs, undefined, { signal: timer.signal }).catch(() => {})]);
    timer.abort();
    return this.outcome;
  }

  /** Lets it write as much again: a new try has begun. */
  renewBudget(): void {
    this.#bytesLeft = this.#start.maxOutputBytes;
  }

  /** Adds to a message what the agent printed last, if anything. */
  explain(message: string): string {
    const said = this.#tail.words();
    return said === '' ? message : `${message}; it said: ${said}`;
  }

  /**
   * Ends its whole process group, and what it has started outside of it: SIGTERM, after the grace time SIGKILL. Asked
   * again, it waits for the same end.
   * @throws {AgentBroken} when something is still there after that
   */
  async end(): Promise<void> {
    this.#ending ??= this.#endAll();
    const isGone = await this.#ending;
    closeStreams(this.#child);
    if (!isGone) throw notEnded(`the agent '${this.#start.argv[0]}'`, this.pgid);
  }

  async #endAll(): Promise<boolean> {
    // Children are found by their parent only while it runs; orphans are found afterwards too.
    const { graceMs, stepDir } = this.#start;
    const children = findStrays(this.pgid, stepDir);
    const isGone = await endProcessGroup(this.pgid, graceMs);
    await endStrays([...children, ...findStrays(this.pgid, stepDir)], this.pgid, stepDir, graceMs);
    return isGone;
  }

  #take(count: number): void {
    this.#bytesLeft -= count;
    if (this.#bytesLeft < 0) throw new OutputFlood(`more than 'maxOutputBytes' allows (${this.#start.maxOutputBytes})`);
  }

  /**
   * Makes a stream of messages of the program's standard input and output, one message in a line (ACP, "transports").
   *
   * It reads only as fast as messages are dealt with, and keeps no more than one of them. Lines that are not JSON objects
   * are left out, and so are answers to what was not asked: neither is worth ending a turn for. Updates of the session do
   * not go through the SDK, which would refuse those that a newer agent writes otherwise.
   */
  #messages(): Stream {
    const { stdin, stdout } = this.#child;
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
    const maxBytes = Math.min(MAX_MESSAGE_BYTES, this.#start.maxOutputBytes);
    for await (const line of readOutputLines(this.#child.stdout, maxBytes, (count) => this.#take(count))) {
      const value = parseJson(line.toString('utf8'));
      if (!isJsonObject(value)) {
        this.#tail.add(Buffer.concat([line, Buffer.from('\n')]));
      } else if (value['method'] === 'session/update') {
        if (isJsonObject(value['params'])) this.onUpdate(value['params']);
      } else if ('method' in value || asked.delete(value['id'])) {
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The SDK looks at each message itself, and answers those that are none of the protocol.
        yield value as AnyMessage;
      }
    }
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
 * @param names further variables to pass on
 * @param added goes over everything else
 */
export function acpEnvironment(
  env: Readonly<Record<string, string>>,
  names: readonly string[] = [],
  added: Readonly<Record<string, string>> = {},
): Record<string, string> {
  return { ...scrubbedEnvironment(env, [...NETWORK, ...names]), ...added };
}
