import { StringDecoder } from 'node:string_decoder';

import { endProcessGroup } from '../process-group.ts';
import { startProgram } from '../command/start-program.ts';
import type { WorkingFolder } from './working-folder.ts';

/** What is kept of a terminal's output where the agent does not say, in bytes. */
const DEFAULT_OUTPUT_BYTES = 1024 * 1024;
/** What an agent may ask to be kept. */
const MAX_OUTPUT_BYTES = 8 * 1024 * 1024;
const MAX_TERMINALS = 32;

/** What is to run in a terminal (`CreateTerminalRequest`). */
export type TerminalStart = {
  command: string;
  /** Absent or empty: `command` is a line for the shell, which is what agents mean by it then. */
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  cwd: string | undefined;
  outputByteLimit: number | undefined;
};

export type TerminalExit = { exitCode: number | null; signal: string | null };

type Terminal = {
  pgid: number;
  output: KeptOutput;
  exit: TerminalExit | undefined;
  exited: Promise<TerminalExit>;
};

/** The programs that an agent has run by uwf (`terminal/*`), each in a process group of its own. */
export class Terminals {
  readonly #folder: WorkingFolder;
  readonly #graceMs: number;
  readonly #onGroup: (pgid: number) => void;
  readonly #terminals = new Map<string, Terminal>();
  #created = 0;

  /** @param onGroup told of each process group as soon as it runs */
  constructor(folder: WorkingFolder, graceMs: number, onGroup: (pgid: number) => void) {
    this.#folder = folder;
    this.#graceMs = graceMs;
    this.#onGroup = onGroup;
  }

  /**
   * Starts a program and gives the terminal's id.
   * @throws {OutsideFolder} when it is to run elsewhere than in the working folder
   * @throws {UwfError} as `startProgram` does
   */
  async create(start: TerminalStart): Promise<string> {
    if (this.#terminals.size >= MAX_TERMINALS)
      throw new RangeError(`${MAX_TERMINALS} terminals are open; release one first`);
    const cwd = await this.#folder.resolveInside(start.cwd ?? '.');
    const argv: [string, ...string[]] =
      start.args.length === 0 ? ['/bin/sh', '-c', start.command] : [start.command, ...start.args];
    const { child, pgid } = await startProgram({ argv, cwd, env: start.env });
    const output = new KeptOutput(Math.min(start.outputByteLimit ?? DEFAULT_OUTPUT_BYTES, MAX_OUTPUT_BYTES));
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => output.add(chunk));
    const exited = new Promise<TerminalExit>((resolve) => {
      // Closed, not only exited: what it wrote last has been read then. An orphan may hold the output open for ever.
      child.once('exit', (exitCode, signal) => {
        const timer = setTimeout(() => resolve({ exitCode, signal }), 500);
        child.once('close', () => {
          clearTimeout(timer);
          resolve({ exitCode, signal });
        });
      });
    });
    const terminal: Terminal = { pgid, output, exit: undefined, exited };
    void exited.then((exit) => (terminal.exit = exit));
    child.stdin.on('error', () => {});
    child.stdin.end();
    this.#created += 1;
    const id = `terminal-${this.#created}`;
    this.#terminals.set(id, terminal);
    this.#onGroup(pgid);
    return id;
  }

  /** @throws {RangeError} when there is no such terminal */
  output(id: string): { output: string; truncated: boolean; exitStatus?: TerminalExit } {
    const { output, exit } = this.#get(id);
    return { output: output.text, truncated: output.isCut, ...(exit && { exitStatus: exit }) };
  }

  /** What a terminal has written so far; nothing of one that is not there. */
  textOf(id: string): string {
    return this.#terminals.get(id)?.output.text ?? '';
  }

  /** @throws {RangeError} when there is no such terminal */
  async waitForExit(id: string): Promise<TerminalExit> {
    return this.#get(id).exited;
  }

  /** Ends what runs in a terminal; its output stays. */
  async kill(id: string): Promise<void> {
    await endProcessGroup(this.#get(id).pgid, this.#graceMs);
  }

  /** Ends what runs in a terminal and forgets it. */
  async release(id: string): Promise<void> {
    await this.kill(id);
    this.#terminals.delete(id);
  }

  /** Ends what runs in all of them. */
  async endAll(): Promise<void> {
    await Promise.all([...this.#terminals.values()].map(({ pgid }) => endProcessGroup(pgid, this.#graceMs)));
  }

  #get(id: string): Terminal {
    const terminal = this.#terminals.get(id);
    if (terminal === undefined) throw new RangeError(`there is no terminal '${id}'`);
    return terminal;
  }
}

/** The last bytes of an output, cut at a character's boundary. */
class KeptOutput {
  readonly #maxBytes: number;
  #chunks: Buffer[] = [];
  #bytes = 0;
  isCut = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  add(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    // Cutting now and then, not at each chunk, keeps the work in proportion to what is written.
    if (this.#bytes > 2 * this.#maxBytes + 65_536) this.#cut();
  }

  get text(): string {
    this.#cut();
    const all = Buffer.concat(this.#chunks);
    const start = this.isCut ? all.findIndex((byte) => (byte & 0xc0) !== 0x80) : 0;
    return new StringDecoder('utf8').write(all.subarray(Math.max(start, 0)));
  }

  #cut(): void {
    if (this.#bytes <= this.#maxBytes) return;
    const kept = Buffer.concat(this.#chunks).subarray(this.#bytes - this.#maxBytes);
    this.#chunks = [Buffer.from(kept)];
    this.#bytes = kept.length;
    this.isCut = true;
  }
}
