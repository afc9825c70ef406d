import { readdirSync, readFileSync } from 'node:fs';

/** A process that runs: one that has ended and waits to be collected (a zombie) is not listed. */
export type RunningProcess = { pid: number; parent: number; group: number };

/**
 * Lists the processes that run on this machine, as far as they can be seen from here; `undefined` where the system has
 * no `/proc`.
 * @see proc(5), `/proc/<pid>/stat`
 */
export function runningProcesses(): RunningProcess[] | undefined {
  let names: string[];
  try {
    names = readdirSync('/proc');
  } catch {
    return undefined;
  }
  return names.flatMap((name) => (/^\d+$/u.test(name) ? readProcess(Number(name)) : []));
}

/** The children of a process, their children and so on; empty where the system has no `/proc`. */
export function descendantsOf(pid: number): number[] {
  const processes = runningProcesses() ?? [];
  const found = new Set([pid]);
  // Children of processes found in this round are found in the next one.
  for (let before = 0; before !== found.size;) {
    before = found.size;
    for (const process of processes) if (found.has(process.parent)) found.add(process.pid);
  }
  found.delete(pid);
  return [...found];
}

function readProcess(pid: number): RunningProcess[] {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return []; // ended since it was listed
  }
  // The second field is the program's name in parentheses and may itself hold spaces and parentheses.
  const [state, parent, group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ', 3);
  return state === 'Z' || state === 'X' ? [] : [{ pid, parent: Number(parent), group: Number(group) }];
}
