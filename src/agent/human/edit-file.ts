import { spawn } from 'node:child_process';

import { descendantsOf, runningProcesses } from '../processes/process-table.ts';
import { isTrueWithin, sendSignal } from '../processes/send-signal.ts';
import { whenAborted } from '../processes/within.ts';

/** From SIGTERM to SIGKILL for an editor when the turn is stopped. */
const GRACE_MS = 2_000;

/**
 * Opens a file in a person's editor, at the terminal that this process has, and waits until it is closed.
 *
 * The editor is a shell command as git's `core.editor` is: `code --wait`. It stays in the terminal's foreground group, so
 * when the signal is aborted it is ended process by process: what the shell started would outlive the shell.
 * Resolves with true when it ended well, with false when it did not or could not be started.
 * @throws the signal's reason when that is aborted
 */
export async function editFile(
  editor: string,
  file: string,
  options: { cwd: string; env: Readonly<Record<string, string>>; signal: AbortSignal },
): Promise<boolean> {
  const { cwd, env, signal } = options;
  signal.throwIfAborted();
  const child = spawn('sh', ['-c', `${editor} "$@"`, editor, file], { cwd, env, stdio: 'inherit' });
  const closed = new Promise<boolean>((resolve) => {
    child.once('error', () => resolve(false));
    child.once('exit', (code) => resolve(code === 0));
  });
  let ending: Promise<void> | undefined;
  const forget = whenAborted(signal, () => {
    ending = child.pid === undefined ? undefined : endProcesses([child.pid, ...descendantsOf(child.pid)]);
  });
  try {
    const isWell = await closed;
    await ending;
    signal.throwIfAborted();
    return isWell;
  } finally {
    forget();
  }
}

async function endProcesses(pids: readonly number[]): Promise<void> {
  for (const pid of pids) sendSignal(pid, 'SIGTERM');
  const areGone = (): boolean => !runningProcesses()?.some(({ pid }) => pids.includes(pid));
  if (await isTrueWithin(GRACE_MS, areGone)) return;
  for (const pid of pids) sendSignal(pid, 'SIGKILL');
}
