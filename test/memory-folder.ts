import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { removeFolder } from './helpers/remove-folder.ts';

/** Where Linux keeps a file system in memory that every user can write to. */
const memory = '/dev/shm';
const prefix = 'uwf-tests-';
const TMPFS = 0x0102_1994;
/** More than the tests that run at once have. */
const MIN_FREE_BYTES = 2 ** 32;

let folderOfRun: string | undefined;

/**
 * Puts the tests' temporary folders in memory, where there is room. There a synced file costs a tenth of the processor time that
 * it costs on a disk, and no waiting. The long tests stay on the disk.
 */
export function setup(): void {
  folderOfRun = makeFolder();
  if (folderOfRun !== undefined) process.env['TMPDIR'] = folderOfRun;
}

export function teardown(): void {
  if (folderOfRun !== undefined) removeFolder(folderOfRun);
}

/** Makes the folder of this run; `undefined` if the tests have to use the usual one. */
function makeFolder(): string | undefined {
  try {
    const { type, bavail, bsize } = statfsSync(memory);
    if (type !== TMPFS || bavail * bsize < MIN_FREE_BYTES) return undefined;
    removeLeftovers();
    const folder = mkdtempSync(join(memory, prefix));
    // Some tests run programs as another user.
    chmodSync(folder, 0o755);
    if (canRunFrom(folder)) return folder;
    rmSync(folder, { recursive: true });
    return undefined;
  } catch {
    // There is none, or it cannot be written to.
    return undefined;
  }
}

/** Whether programs in the folder can be run: containers often forbid it. */
function canRunFrom(folder: string): boolean {
  const program = join(folder, 'program');
  writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 });
  try {
    execFileSync(program);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(program);
  }
}

/** Removes the folders of runs that were killed, an hour later. They would take memory until the machine restarts. */
function removeLeftovers(): void {
  for (const name of readdirSync(memory).filter((entry) => entry.startsWith(prefix))) {
    const folder = join(memory, name);
    // Every test that begins or ends changes the folder.
    if (Date.now() - statSync(folder).mtimeMs > 3_600_000) rmSync(folder, { recursive: true, force: true });
  }
}
