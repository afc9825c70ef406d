import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';

import { runProgram } from './run-program.ts';
import type { ProgramResult, ProgramRun } from './run-program.ts';
import { endStrays, findStrays } from './process-group.ts';

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
 * @param namespace as `pidNamespace` gives it
 * @throws as `runProgram`
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
