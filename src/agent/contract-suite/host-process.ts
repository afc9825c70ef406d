import { onTestFinished, vi } from 'vitest';

import { descendantsOf, runningProcesses } from '../process-table.ts';

/** What a turn must leave as it is in the process that runs it, as it was when this was called. */
export type HostProcess = {
  /** Processes that were started since and run now; empty where the system has no `/proc`. */
  startedSince(): { pid: number; group: number }[];
  /** Of the working directory and the environment, what has changed. */
  changes(): string[];
  /** What was printed. */
  printed(): string[];
};

/** Begins to watch this process, until the test is over. */
export function watchHostProcess(): HostProcess {
  const before = new Set(descendantsOf(process.pid));
  const cwd = process.cwd();
  const environment = { ...process.env };
  const printed: string[] = [];
  const note = (...words: unknown[]): boolean => {
    printed.push(words.map(String).join(' '));
    return true;
  };
  const spies = [
    vi.spyOn(process.stdout, 'write').mockImplementation(note),
    ...(['log', 'info', 'warn', 'error', 'debug'] as const).map((name) =>
      vi.spyOn(console, name).mockImplementation((...words: unknown[]) => void note(...words)),
    ),
  ];
  onTestFinished(() => {
    for (const spy of spies) spy.mockRestore();
  });
  return {
    startedSince: () => {
      const ours = new Set(descendantsOf(process.pid).filter((pid) => !before.has(pid)));
      return (runningProcesses() ?? []).filter(({ pid }) => ours.has(pid));
    },
    changes: () => {
      const names = new Set([...Object.keys(environment), ...Object.keys(process.env)]);
      const changed = [...names].filter((name) => environment[name] !== process.env[name]);
      return [...(process.cwd() === cwd ? [] : ['the working directory']), ...changed.toSorted()];
    },
    printed: () => printed,
  };
}
