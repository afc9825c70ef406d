import { setTimeout as sleep } from 'node:timers/promises';
import type { Stream } from '@agentclientprotocol/sdk/unstable';

import type { JsonObject } from '../../json.ts';
import { AgentBroken } from '../agent-errors.ts';
import { OutputTail } from '../command/output-buffer.ts';
import { startProgram } from '../command/start-program.ts';
import type { ProgramStart, StartedProgram } from '../command/start-program.ts';
import { endProcessGroup } from '../process-group.ts';
import { endStrays, findStrays } from '../stray-processes.ts';
import { messageStream, OutputFlood } from './message-stream.ts';

/** What is kept for messages of what an agent prints beside the protocol. */
const TAIL_BYTES = 4096;
const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;

export type AgentProcessStart = ProgramStart & {
  graceMs: number;
  /** The folder of the step, by which its processes are known. */
  stepDir: string;
  /** Of standard output, until the next {@link AgentProcess.renewBudget}. */
  maxOutputBytes: number;
  onUpdate(params: JsonObject): void;
};

/** An agent's program: its messages, what else it says, and its end. */
export class AgentProcess {
  readonly pgid: number;
  readonly stream: Stream;
  /** How it ended, in words, once it has. */
  outcome: string | undefined;
  readonly #child: StartedProgram['child'];
  readonly #exited: Promise<void>;
  readonly #graceMs: number;
  readonly #stepDir: string;
  readonly #program: string;
  readonly #maxOutputBytes: number;
  readonly #tail = new OutputTail(TAIL_BYTES);
  #bytesLeft: number;
  #ending: Promise<boolean> | undefined;

  private constructor({ child, pgid }: StartedProgram, start: AgentProcessStart) {
    this.pgid = pgid;
    this.#child = child;
    this.#graceMs = start.graceMs;
    this.#stepDir = start.stepDir;
    [this.#program] = start.argv;
    this.#maxOutputBytes = start.maxOutputBytes;
    this.#bytesLeft = start.maxOutputBytes;
    this.#exited = new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        this.outcome = signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`;
        resolve();
      });
    });
    // An agent that ends before it has read all: its exit says more.
    child.stdin.on('error', () => {});
    child.stderr.on('data', (chunk: Buffer) => this.#tail.add(chunk));
    this.stream = messageStream({
      stdin: child.stdin,
      stdout: child.stdout,
      maxMessageBytes: Math.min(MAX_MESSAGE_BYTES, start.maxOutputBytes),
      onBytes: (count) => this.#take(count),
      onUpdate: (params) => start.onUpdate(params),
      onOtherLine: (line) => this.#tail.add(Buffer.concat([line, Buffer.from('\n')])),
    });
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
    this.#bytesLeft = this.#maxOutputBytes;
  }

  /** Adds to a message what the agent printed last, if anything. */
  explain(message: string): string {
    const said = this.#tail.text();
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
    for (const stream of [this.#child.stdin, this.#child.stdout, this.#child.stderr]) stream.destroy();
    if (isGone) return;
    throw new AgentBroken(`the agent '${this.#program}' does not end, not even by SIGKILL`, {
      hint: `look at its processes: ps -o pid,stat,wchan:20,args -g ${this.pgid}`,
    });
  }

  async #endAll(): Promise<boolean> {
    // Who its children are is known as long as it is there; whom it has orphaned, afterwards too.
    const children = findStrays(this.pgid, this.#stepDir);
    const isGone = await endProcessGroup(this.pgid, this.#graceMs);
    const strays = [...children, ...findStrays(this.pgid, this.#stepDir)];
    await endStrays(strays, this.pgid, this.#stepDir, this.#graceMs);
    return isGone;
  }

  #take(count: number): void {
    this.#bytesLeft -= count;
    if (this.#bytesLeft < 0) throw new OutputFlood(`more than 'maxOutputBytes' allows (${this.#maxOutputBytes})`);
  }
}
