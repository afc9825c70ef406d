import { isUtf8 } from 'node:buffer';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs } from '../../time/clock.ts';
import { AgentBroken } from '../agent-errors.ts';
import { endProcessGroup, endStrays, findStrays } from './process-group.ts';
import {
  closeStreams,
  HeadAndTail,
  OutputTail,
  type ProgramStart,
  type StartedProgram,
  startProgram,
} from './start-program.ts';
import { whenAborted } from './within.ts';

/** After the program has ended, an output that another process holds open is read until it was quiet for so long. */
const QUIET_MS = 200;
/** … and no longer than this, however much it says. */
const MAX_DRAIN_MS = 5_000;
/** What is kept of standard error for messages. */
const MAX_ERROR_TAIL_BYTES = 4096;
/** What is kept of the stream that is not the output, half of it from the beginning and half from the end. */
const MAX_ASIDE_CHARACTERS = 200_000;

export type ProgramRun = ProgramStart & {
  /** Goes to standard input. A program that does not read it does no harm. */
  input: string;
  /** Which stream is the output; standard output by default. The other one is what it says aside. */
  output?: 'stdout' | 'stderr';
  /** Of the output; a program that writes more is ended. Of the other stream as much is passed on, the rest dropped. */
  maxOutputBytes: number;
  /** From SIGTERM to SIGKILL. */
  graceMs: number;
  signal: AbortSignal;
  /** Told once, as soon as the process runs. */
  onStart(pgid: number): void;
  onOutput(text: string): void;
  onAside(text: string): void;
};

/** How a program ended: its exit code, or the signal that ended it. */
type ProgramExit = number | NodeJS.Signals;

/** How a program ended, and what it said. */
export type ProgramResult = {
  exit: ProgramExit;
  /** The output as UTF-8; what is not UTF-8 is replaced by U+FFFD. */
  output: string;
  /** Whether the output is UTF-8, but for a character that the bound cut. */
  isUtf8: boolean;
  /** The other stream: its beginning and its end. */
  aside: string;
  /** The last 4 KiB of standard error. */
  errorTail: string;
  /** True where the program wrote more than it may and was ended for it. */
  isCut: boolean;
};

type Child = StartedProgram['child'];

/**
 * Runs a program in a process group of its own and waits until the whole group is gone.
 *
 * What the program leaves running in its group is ended too: a turn that is over has no processes. An aborted run ends
 * the group (SIGTERM, after `graceMs` SIGKILL) and rejects with the signal's reason; a program that had ended before
 * the abort keeps its result.
 * @throws {AgentBroken} when it cannot be started for another reason, or cannot be ended
 */
export async function runProgram(run: ProgramRun): Promise<ProgramResult> {
  run.signal.throwIfAborted();
  const { child, pgid } = await startProgram(run);
  const exited = whenExited(child);
  const closed = new Promise<true>((resolve) => child.once('close', () => resolve(true)));

  let isAborted = false;
  let reportStuck = (): void => {};
  const stuck = new Promise<undefined>((resolve) => (reportStuck = () => resolve(undefined)));
  let ending: Promise<void> | undefined;
  const endGroup = async (): Promise<void> => {
    ending ??= endProgram(run, pgid, isAborted).then((isGone) => (isGone ? undefined : reportStuck()));
    await ending;
  };
  const abort = (): void => {
    isAborted = true;
    void endGroup();
  };

  const streams = readStreams(child, run, () => void endGroup());
  run.onStart(pgid);
  child.stdin.end(run.input);
  const forget = whenAborted(run.signal, abort);

  const exit = await Promise.race([exited, stuck]);
  forget();
  if (!isAborted) await untilQuiet(closed, streams);
  await endGroup();
  await untilQuiet(closed, streams);
  closeStreams(child);

  if (isAborted) throw run.signal.reason;
  if (exit === undefined) throw notEnded(`the program '${run.argv[0]}'`, pgid);
  const { output, aside, errors } = streams;
  // A byte order mark is kept.
  const bytes = Buffer.concat(output);
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
  const isCut = streams.bytesLeft < 0;
  return { exit, output: text, isUtf8: isCut || isUtf8(bytes), aside: aside.text(), errorTail: errors.words(), isCut };
}

/**
 * Ends the group of a program, and where it is not done, what it has started in other groups, too: a uwf among it is killed before
 * it has ended its own agents, if these take too long.
 */
async function endProgram({ env, graceMs }: ProgramRun, pgid: number, isAborted: boolean): Promise<boolean> {
  const stepDir = env['UWF_STEP_DIR'];
  if (!isAborted || stepDir === undefined) return endProcessGroup(pgid, graceMs);
  const strays = findStrays(pgid, stepDir);
  const isGone = await endProcessGroup(pgid, graceMs);
  await endStrays(strays, pgid, stepDir, graceMs);
  return isGone;
}

/** `bytesLeft` of the output; negative once more was written than may be. */
type Streams = { output: Buffer[]; aside: HeadAndTail; errors: OutputTail; bytesRead: number; bytesLeft: number };

function readStreams(child: Child, run: ProgramRun, onFull: () => void): Streams {
  const streams: Streams = {
    output: [],
    aside: new HeadAndTail(MAX_ASIDE_CHARACTERS),
    errors: new OutputTail(MAX_ERROR_TAIL_BYTES),
    bytesRead: 0,
    bytesLeft: run.maxOutputBytes,
  };
  const [output, aside] = run.output === 'stderr' ? [child.stderr, child.stdout] : [child.stdout, child.stderr];
  const outputText = new StringDecoder('utf8');
  output.on('data', (chunk: Buffer) => {
    streams.bytesRead += chunk.length;
    if (streams.bytesLeft >= 0) streams.output.push(chunk.subarray(0, streams.bytesLeft));
    streams.bytesLeft -= chunk.length;
    if (streams.bytesLeft >= 0) {
      run.onOutput(outputText.write(chunk));
    } else {
      output.destroy();
      onFull();
    }
  });
  const asideText = new StringDecoder('utf8');
  let asideBytes = 0;
  aside.on('data', (chunk: Buffer) => {
    streams.bytesRead += chunk.length;
    asideBytes += chunk.length;
    const text = asideText.write(chunk);
    streams.aside.add(text);
    if (asideBytes <= run.maxOutputBytes) run.onAside(text);
  });
  child.stderr.on('data', (chunk: Buffer) => streams.errors.add(chunk));
  return streams;
}

export function whenExited(child: Child): Promise<ProgramExit> {
  return new Promise((resolve) => {
    // Exactly one of the two is given.
    child.once('exit', (code, signal) => resolve(signal ?? code ?? 0));
  });
}

/** Says how a program ended. */
export function describeEnd(exit: ProgramExit): string {
  return typeof exit === 'number' ? `ended with exit code ${exit}` : `was ended by ${exit}`;
}

/** Waits for the outputs to close, or for a silence: a grandchild can keep them open for ever. */
async function untilQuiet(closed: Promise<true>, streams: Streams): Promise<void> {
  const deadline = monotonicMs() + MAX_DRAIN_MS;
  for (let seen = -1; seen !== streams.bytesRead && monotonicMs() < deadline;) {
    seen = streams.bytesRead;
    const timer = new AbortController();
    const isClosed = await Promise.race([closed, sleep(QUIET_MS, false, { signal: timer.signal }).catch(() => false)]);
    timer.abort();
    if (isClosed) return;
  }
}

/** The error of a program or an agent, which `name` names, that something is left of. */
export function notEnded(name: string, pgid: number): AgentBroken {
  return new AgentBroken(`${name} does not end, not even by SIGKILL`, {
    hint: `look at its processes: ps -o pid,stat,wchan:20,args -g ${pgid}`,
  });
}

const SHELL = '/bin/sh';
const UNSHARE = ['/usr/bin/unshare', '/bin/unshare'];
const SETPRIV = ['/usr/bin/setpriv', '/bin/setpriv'];
/** A uwf in a namespace cannot see whether the uwf that made it still runs: the kernel ends all with that one. */
const WITH_PARENT = ['--pdeathsig', 'KILL'];
/** When `unshare` ends, its child is killed: the first process of the namespace, with which all others in it end. */
const NAMESPACE = ['--pid', '--fork', '--kill-child', '--mount-proc'];
const PROBE_MS = 5000;

let probed: Promise<readonly string[]> | undefined;

/**
 * The words that start a program in a pid namespace of its own, in which it sees no process but its own and none can be
 * left over; empty where none can be made (no Linux, no `unshare`, a container or a kernel that forbids it).
 *
 * Root makes one as it is; others in a user namespace in which they stay who they are, and `sudo` gives no rights. Where there is
 * `setpriv`, all in it end with this process.
 * Tried once in each process.
 * @see setpriv(1), unshare(1), pid_namespaces(7), user_namespaces(7)
 */
export function pidNamespace(): Promise<readonly string[]> {
  return (probed ??= probe());
}

async function probe(): Promise<readonly string[]> {
  const [unshare, setpriv] = [UNSHARE, SETPRIV].map((paths) => paths.find((path) => existsSync(path)));
  if (process.platform !== 'linux' || unshare === undefined) return [];
  const starts = setpriv === undefined ? [[]] : [[setpriv, ...WITH_PARENT], []];
  const forms = starts.flatMap((start) => [[], ['--user', '--map-current-user']].map((rights) => ({ start, rights })));
  for (const { start, rights } of forms) {
    const words = [...start, unshare, ...rights, ...NAMESPACE, '--'];
    if (await works([...words, SHELL, '-c', '[ "$$" = 1 ] && [ -r /proc/1/status ]'])) return words;
  }
  return [];
}

function works([program = '', ...args]: readonly string[]): Promise<boolean> {
  return new Promise((resolve) => {
    execFile(program, args, { timeout: PROBE_MS, env: {} }, (error) => resolve(error === null));
  });
}

/**
 * Runs a program, and ends all processes that it has started, also those in other sessions or with a cleared environment.
 *
 * In a pid namespace that is the kernel's doing. Elsewhere the program runs under a limit by whose number its descendants
 * are known (Linux); where there is no `/proc` only its process group is ended.
 */
export async function runContained(run: ProgramRun, namespace: readonly string[]): Promise<ProgramResult> {
  const [program, ...words] = namespace;
  // The first process of a namespace takes no signal that it does not handle: that is a shell, and not the program.
  if (program !== undefined) {
    return runProgram({ ...run, argv: [program, ...words, SHELL, '-c', '"$@"; exit $?', 'sh', ...run.argv] });
  }
  const mark = 2 ** 40 + Math.floor(Math.random() * 2 ** 40);
  let leader = 0;
  const onStart = (pgid: number): void => {
    leader = pgid;
    run.onStart(pgid);
  };
  // Linux no longer enforces the limit of file locks (setrlimit(2)): it restricts no program, and every child inherits it.
  const marking = `{ ulimit -w ${mark} || ulimit -x ${mark}; } 2>/dev/null; exec "$@"`;
  try {
    return await runProgram({ ...run, argv: [SHELL, '-c', marking, 'sh', ...run.argv], onStart });
  } finally {
    if (leader !== 0) await endStrays(findStrays(leader, mark), leader, mark, run.graceMs);
  }
}
