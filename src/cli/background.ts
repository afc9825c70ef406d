import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { takeLease } from '../engine/lease.ts';
import { UwfError } from '../errors.ts';
import { makeFolders } from '../git/make-folders.ts';
import { asStorageError } from '../git/object-errors.ts';
import type { Repository } from '../git/repository.ts';
import { packageRoot } from '../package-root.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import type { CliContext } from './context.ts';
import { ADOPT_LEASE } from './engine-here.ts';
import { share } from '../git/sharing.ts';
import { APPEND } from '../git/state-folder.ts';

/**
 * Runs a command on a thread in a process of its own, which goes on when this one has ended.
 *
 * The lease is taken here, before the process starts, and handed over to it: from this call on nobody else can work on
 * the thread, and of two such calls one is refused.
 * @param argv the words after `uwf`
 * @param input what the process reads on stdin; nothing if absent
 * @returns the file that the process writes what it says to
 * @throws {LeaseHeld} if somebody works on the thread
 * @throws {StorageFull} / {StorageReadOnly}; nothing runs then
 */
export async function runInBackground(
  cli: CliContext,
  repository: Repository,
  thread: ThreadId,
  argv: readonly string[],
  input?: string,
): Promise<string> {
  if (repository.stateDir === undefined) throw new NoBackground();
  const folder = join(repository.stateDir, 'log');
  const log = join(folder, `${thread}.log`);
  const lease = await takeLease(repository, thread);
  try {
    makeFolders(folder);
    const isNew = !existsSync(log);
    const output = openSync(log, APPEND);
    if (isNew) share(log);
    const stdin = openInput(folder, thread, input);
    const child = spawn(process.execPath, [join(packageRoot(), 'bin', 'uwf.js'), ...argv], {
      cwd: cli.cwd,
      detached: true,
      stdio: [stdin ?? 'ignore', output, output],
      env: { ...cli.env, [ADOPT_LEASE]: lease.token },
    });
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
    // It has started, so it has a process id.
    lease.handOver(child.pid as number);
    child.unref();
    closeSync(output);
    if (stdin !== undefined) closeSync(stdin);
    return log;
  } catch (error) {
    lease.release();
    throw asStorageError(error, folder);
  }
}

/** A file without a name, for a text of any length: a pipe would need this process to stay until it is read. */
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

/** The repository is not on a disk that another process could see. */
class NoBackground extends UwfError {
  constructor() {
    super('this repository cannot be worked on by another process', { code: 'no-background', kind: 'environment' });
  }
}
