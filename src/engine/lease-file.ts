import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, linkSync, openSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { replaceFile } from '../git/derived-file.ts';
import { makeFolders } from '../git/make-folders.ts';
import { asStorageError, errnoOf } from '../git/object-errors.ts';
import { isWithoutHardLinks } from '../git/no-hard-links.ts';
import { isOlderThan } from '../git/older-than.ts';
import { formatIdentity, isAlive, ownIdentity, parseIdentity } from '../git/process-identity.ts';
import type { LeaseRecord } from './lease-record.ts';
import { writeSummed } from './summed-line.ts';
import { share } from '../git/sharing.ts';

/** How long a temporary file counts of a process that cannot be seen from here. */
const TEMPORARY_MS = 3_600_000;
const GATE_MS = 2_000;
const temporaryName = /^tmp_([^@]+)@[0-9a-f]+$/;

/**
 * Creates a lease or claim file that is complete from its first moment on; false if it exists.
 *
 * It is not synced: after a power cut its holder has ended and it says nothing any more.
 * @throws {StorageFull} / {StorageReadOnly}; nothing stays then
 */
export function createRecordFile(path: string, record: LeaseRecord): boolean {
  return storing(path, () => {
    const temporary = writeBeside(path, record);
    try {
      linkSync(temporary, path);
      return true;
    } catch (error) {
      if (errnoOf(error) === 'EEXIST') return false;
      if (!isWithoutHardLinks(error)) throw error;
      return moveToFree(temporary, path);
    } finally {
      rmSync(temporary, { force: true });
    }
  });
}

/**
 * Gives a file a name that nothing has, where there are no hard links: renaming replaces what is there, so a second file says
 * which process may rename. It is there for a moment; one that a killed process left counts no longer than {@link GATE_MS}.
 */
function moveToFree(temporary: string, path: string): boolean {
  const gate = `${path}.gate`;
  try {
    closeSync(openSync(gate, 'wx'));
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error;
    if (isOlderThan(gate, GATE_MS)) rmSync(gate, { force: true });
    return false;
  }
  try {
    if (existsSync(path)) return false;
    renameSync(temporary, path);
    return true;
  } finally {
    rmSync(gate, { force: true });
  }
}

/**
 * Puts a record in the place of the one that is there, in one step.
 * @throws {StorageFull} / {StorageReadOnly}; the old record stays then
 */
export function replaceRecordFile(path: string, record: LeaseRecord): void {
  storing(path, () => {
    const temporary = writeBeside(path, record);
    try {
      replaceFile(temporary, path);
    } catch (error) {
      rmSync(temporary, { force: true });
      throw error;
    }
  });
}

/** Makes the folder of leases, and removes what processes that were killed while they wrote left there. */
export function prepareLeaseFolder(folder: string): void {
  storing(folder, () => makeFolders(folder));
  for (const name of readdirSync(folder)) {
    const owner = parseIdentity(temporaryName.exec(name)?.[1] ?? '');
    if (owner === undefined) continue;
    const alive = isAlive(owner);
    // Written and renamed within moments.
    const isLeft = alive === 'other-host' ? isOlderThan(join(folder, name), TEMPORARY_MS) : !alive;
    if (isLeft) rmSync(join(folder, name), { force: true });
  }
}

function writeBeside(path: string, record: LeaseRecord): string {
  // It says whose it is, so that a writer that was killed is cleaned up after.
  const name = `tmp_${formatIdentity(ownIdentity())}@${randomBytes(8).toString('hex')}`;
  const temporary = join(dirname(path), name);
  try {
    writeFileSync(temporary, `${writeSummed(record)}\n`, { flag: 'wx' });
    share(temporary);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  return temporary;
}

function storing<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw asStorageError(error, path);
  }
}
