import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { packageRoot } from '../../src/git/system/process-identity.ts';
import { isolatedGitEnvironment } from './temporary-repository.ts';

/** A worker as a process of its own. */
export type WorkerProcess = {
  pid: number;
  /** What it has written on stderr. */
  said(): string;
  /** Waits until it has written a text on stderr. */
  says(text: string): Promise<void>;
  /** Sends a signal, and waits for its end. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
};

/** Starts `uwf worker` in a folder; the end of the test kills it. */
export function startWorker(
  dir: string,
  argv: readonly string[],
  env: Readonly<Record<string, string>> = {},
): WorkerProcess {
  const child = spawn(process.execPath, [join(packageRoot(), 'bin/uwf.js'), 'worker', ...argv], {
    cwd: dir,
    env: { ...isolatedGitEnvironment, XDG_CACHE_HOME: join(dir, '.git/cache'), ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  const listeners = new Set<() => void>();
  const tell = (): void => {
    for (const listener of listeners) listener();
  };
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
    tell();
  });
  const ended = once(child, 'close').then(tell);
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return {
    pid: child.pid ?? 0,
    said: () => said,
    says: (text) =>
      new Promise((resolve, reject) => {
        const check = (): void => {
          const isThere = said.includes(text);
          if (!isThere && child.exitCode === null && child.signalCode === null) return;
          listeners.delete(check);
          if (isThere) resolve();
          else reject(new Error(`the worker ended without saying '${text}': ${said}`));
        };
        listeners.add(check);
        check();
      }),
    async stop(signal = 'SIGTERM') {
      child.kill(signal);
      await ended;
      return child.exitCode;
    },
  };
}
