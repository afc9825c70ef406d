import { endProcessGroup } from '../processes/process-group.ts';
import { OutputTail } from '../processes/program-output.ts';
import { startProgram } from '../processes/start-program.ts';

/** What is kept of a terminal's output where the agent does not say, in bytes. */
const DEFAULT_OUTPUT_BYTES = 1024 * 1024;
/** What an agent may ask to be kept. */
const MAX_OUTPUT_BYTES = 8 * 1024 * 1024;
const MAX_TERMINALS = 32;

/** What is to run in a terminal (`CreateTerminalRequest`). */
type TerminalStart = {
  command: string;
  /** Absent or empty: `command` is a line for the shell, which is what agents mean by it then. */
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  /** Inside of the working folder, links followed. */
  cwd: string;
  outputByteLimit: number | undefined;
};

type TerminalExit = { exitCode: number | null; signal: string | null };

type Terminal = {
  pgid: number;
  output: OutputTail;
  exit: TerminalExit | undefined;
  exited: Promise<TerminalExit>;
};

/** The programs that an agent has run by uwf (`terminal/*`), each in a process group of its own. */
export class Terminals {
  readonly #graceMs: number;
  readonly #onGroup: (pgid: number) => void;
  readonly #terminals = new Map<string, Terminal>();
  /** The programs that are about to run. */
  readonly #starts = new Set<Promise<unknown>>();
  #created = 0;
  #isOver = false;

  /** @param onGroup told of each process group as soon as it runs */
  constructor(graceMs: number, onGroup: (pgid: number) => void) {
    this.#graceMs = graceMs;
    this.#onGroup = onGroup;
  }

  /**
   * Starts a program and gives the terminal's id.
   * @throws {RangeError} when too many are open, or the turn has ended
   * @throws {UwfError} as `startProgram` does
   */
  async create(start: TerminalStart): Promise<string> {
    if (this.#isOver) throw new RangeError('the turn has ended');
    // An agent may ask for many before the first one runs.
    if (this.#terminals.size + this.#starts.size >= MAX_TERMINALS)
      throw new RangeError(`${MAX_TERMINALS} terminals are open; release one first`);
    const started = this.#start(start);
    this.#starts.add(started);
    try {
      return await started;
    } finally {
      this.#starts.delete(started);
    }
  }

  async #start(start: TerminalStart): Promise<string> {
    const argv: [string, ...string[]] =
      start.args.length === 0 ? ['/bin/sh', '-c', start.command] : [start.command, ...start.args];
    const { child, pgid } = await startProgram({ argv, cwd: start.cwd, env: start.env });
    const output = new OutputTail(Math.min(start.outputByteLimit ?? DEFAULT_OUTPUT_BYTES, MAX_OUTPUT_BYTES));
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
    return { output: output.text(), truncated: output.isCut, ...(exit && { exitStatus: exit }) };
  }

  /** What a terminal has written so far; nothing of one that is not there. */
  textOf(id: string): string {
    return this.#terminals.get(id)?.output.text() ?? '';
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

  /** Ends what runs in all of them, and starts no more. */
  async endAll(): Promise<void> {
    this.#isOver = true;
    await Promise.allSettled(this.#starts);
    await Promise.all([...this.#terminals.values()].map(({ pgid }) => endProcessGroup(pgid, this.#graceMs)));
  }

  #get(id: string): Terminal {
    const terminal = this.#terminals.get(id);
    if (terminal === undefined) throw new RangeError(`there is no terminal '${id}'`);
    return terminal;
  }
}
