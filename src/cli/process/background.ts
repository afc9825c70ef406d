import { once } from 'node:events';
import type { Output } from '../output/output.ts';
import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { takeLease } from '../../engine/leases/lease.ts';
import { UwfError } from '../../errors.ts';
import { APPEND, makeFolders, share } from '../../git/system/files.ts';
import { asStorageError } from '../../git/format/errors.ts';
import type { Repository } from '../../git/repository.ts';
import { packageRoot } from '../../git/system/process-identity.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import type { CliEnvironment } from './cli-environment.ts';
import { ADOPT_LEASE } from '../open/open-engine.ts';

/** As {@link startInBackground}; prints the thread, the fields of the result that are known already, and how to wait for it. */
export async function runInBackground(
  { cli, out }: { cli: CliEnvironment; out: Output },
  repository: Repository,
  shown: { thread: ThreadId; head: string; workflow?: string },
  argv: readonly string[],
  input?: string,
  assertStill?: () => Promise<void>,
): Promise<void> {
  const { thread } = shown;
  const log = await startInBackground(cli, repository, thread, argv, input, assertStill);
  await out.result({ ...shown, status: 'running', log }, () => thread);
  out.hint(`'uwf thread join ${thread}' waits for it; its output is in ${log}`);
}

/**
 * Starts a process of its own for a command on a thread, and returns the file that its output goes to.
 * This process takes the lease before the new process starts, and hands it over. From this call on no other process can
 * work on the thread, and one of two concurrent calls fails.
 * @param input what the process reads on stdin; nothing if absent
 * @param assertStill is called under the lease: raises what keeps the process from starting
 */
export async function startInBackground(
  cli: CliEnvironment,
  repository: Repository,
  thread: ThreadId,
  argv: readonly string[],
  input?: string,
  assertStill: () => Promise<void> = () => Promise.resolve(),
): Promise<string> {
  if (repository.stateDir === undefined) {
    const reason = 'this repository is not on a disk, so no other process can work on it';
    throw new UwfError(reason, { code: 'no-background', kind: 'environment' });
  }
  const folder = join(repository.stateDir, 'log');
  const log = join(folder, `${thread}.log`);
  const lease = await takeLease(repository, thread);
  const opened: number[] = [];
  try {
    // The lease keeps other processes from moving the thread after this check.
    await assertStill();
    makeFolders(folder);
    const isNew = !existsSync(log);
    const output = openSync(log, APPEND);
    opened.push(output);
    if (isNew) share(log);
    const stdin = openInput(folder, thread, input);
    if (stdin !== undefined) opened.push(stdin);
    const child = spawn(process.execPath, [join(packageRoot(), 'bin', 'uwf.js'), ...argv], {
      cwd: cli.cwd,
      detached: true,
      stdio: [stdin ?? 'ignore', output, output],
      env: { ...cli.env, [ADOPT_LEASE]: lease.token },
    });
    await once(child, 'spawn');
    const { pid } = child;
    if (pid === undefined) throw new TypeError('a process that has started has no id');
    lease.handOver(pid);
    child.unref();
    return log;
  } catch (error) {
    lease.release();
    throw asStorageError(error, folder);
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
}

/** An unlinked file for the input. With a pipe, this process would have to wait until all of it is read. */
function openInput(folder: string, thread: ThreadId, input: string | undefined): number | undefined {
  if (input === undefined) return undefined;
  const path = join(folder, `${thread}.${process.pid}.input`);
  try {
    writeFileSync(path, input, { flag: 'wx' });
    share(path);
    return openSync(path, 'r');
  } finally {
    rmSync(path, { force: true });
  }
}
