import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { packageRoot } from '../../src/git/system/process-identity.ts';
import { watchMemory } from './process-memory.ts';
import { isolatedGitEnvironment } from './temporary-repository.ts';

/** A command's exit code, and the memory of all of its processes together. */
export type Measured = { code: number | null; stderr: string; bytes: number };

/** Runs uwf in a process of its own. If it does not end, it is killed, and `code` is null. */
export async function measureUwf(
  dir: string,
  argv: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Measured> {
  const program = join(packageRoot(), 'bin/uwf.js');
  const options = {
    cwd: dir,
    env: { ...isolatedGitEnvironment, ...env },
    timeout: 60_000,
    killSignal: 'SIGKILL',
  } as const;
  const child = spawn(process.execPath, [program, ...argv], options);
  child.stdout.resume();
  const memory = watchMemory(child.pid ?? 0);
  const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
  // `close` comes with the exit code, or null after a signal.
  return { stderr, code: code as number | null, bytes: memory.stop() };
}
