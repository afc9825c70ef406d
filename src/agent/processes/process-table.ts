import { readdirSync } from 'node:fs';
import { processFields } from '../../git/system/process-identity.ts';
import { orElse } from '../../or-else.ts';

/** A process that runs: one that has ended and waits to be collected (a zombie) is not listed. */
export type RunningProcess = { pid: number; parent: number; group: number };

/**
 * Lists the processes that run on this machine, as far as they can be seen from here; `undefined` where the system has
 * no `/proc`.
 * @see proc(5), `/proc/<pid>/stat`
 */
export function runningProcesses(): RunningProcess[] | undefined {
  const names = orElse(() => readdirSync('/proc'), undefined);
  return names?.flatMap((name) => {
    if (!/^\d+$/u.test(name)) return [];
    const [state, parent, group] = processFields(Number(name));
    return state === undefined ? [] : [{ pid: Number(name), parent: Number(parent), group: Number(group) }];
  });
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
