import { randomBytes } from 'node:crypto';
import { constants, linkSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { replaceFile } from '../../git/system/state-files.ts';
import { makeFolders, share } from '../../git/system/write-files.ts';
import { asStorageError, errnoOf, isNotThere, isShortOfFiles, storing } from '../../git/format/object-errors.ts';
import { isOlderThan, READ, readRegularFile } from '../../git/system/files.ts';
import {
  formatIdentity,
  isAlive,
  ownIdentity,
  parseIdentity,
  type ProcessIdentity,
} from '../../git/system/process-identity.ts';
import { uptime } from 'node:os';
import { isJsonObject, parseJson, type JsonObject } from '../../json.ts';

/** What a lease file says. Machine-local; never put in a synced object. */
export type LeaseRecord = {
  /** Unique for every taking of a lease; a lease that is handed over keeps it. */
  token: string;
  holder: ProcessIdentity;
  /** When it was taken, in ms since 1970. */
  sinceMs: number;
  /** Until when a holder on another host counts as alive; renewed while the work goes on. */
  deadlineMs: number;
  /** The process groups of the agent at work: its own, and those of programs that it has uwf run. */
  processGroups: readonly ProcessIdentity[];
  /** Whether a request beside the lease to end the work on this thread alone is awaited, or was heard; else a signal ends the holder. */
  stopRequest?: 'awaited' | 'heard';
  /** Of a slot: the thread that works in it. */
  thread?: string;
  /** The top of the work tree that agents of the thread work in, if it is not the thread's own. */
  workTree?: string;
};

/** A record has a few words for each process. */
const MAX_BYTES = 1024 * 1024;

/** A file that is there and is no lease: it is damaged, a power cut tore it, or another program wrote it. */
export type UnreadableRecord = 'unreadable';

/** Reads a lease or claim file; `undefined` if there is none. */
export function readLeaseRecord(path: string): LeaseRecord | UnreadableRecord | undefined {
  let text: string;
  try {
    text = readRegularFile(path, MAX_BYTES, READ | constants.O_NOFOLLOW).toString('utf8');
  } catch (error) {
    // This process cannot open more files. The lease may be sound, and its holder at work.
    if (isShortOfFiles(error)) throw asStorageError(error, path);
    return isNotThere(error) ? undefined : 'unreadable';
  }
  const value = parseJson(text);
  return isLeaseRecord(value) ? value : 'unreadable';
}

/** For how long a lease holds without being renewed. */
export const LEASE_MS = 60_000;

/**
 * Tells whether a file that cannot be read may still be the lease of a process that works: one that does writes it anew
 * before so much time has passed. What was written before the machine last started has no living writer: a power cut tore it.
 */
export function mayBeHeld(path: string): boolean {
  const writtenMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const nowMs = Date.now();
  // One from further in the future was written before the clock was set back, and not since.
  return writtenMs > nowMs - Math.min(LEASE_MS, uptime() * 1000) && writtenMs < nowMs + LEASE_MS;
}

function isLeaseRecord(value: unknown): value is LeaseRecord {
  return (
    isJsonObject(value) &&
    typeof value['token'] === 'string' &&
    typeof value['sinceMs'] === 'number' &&
    typeof value['deadlineMs'] === 'number' &&
    isIdentity(value['holder']) &&
    Array.isArray(value['processGroups']) &&
    value['processGroups'].every(isIdentity)
  );
}

function isIdentity(value: unknown): value is JsonObject {
  return isJsonObject(value) && typeof value['pid'] === 'number' && typeof value['host'] === 'string';
}

/**
 * Tells whether the process that took a lease is still there.
 *
 * On this host its pid, start time and boot decide; on another only the deadline can.
 */
export function isHolderAlive(record: LeaseRecord, nowMs: number): boolean {
  const alive = isAlive(record.holder);
  return alive === 'other-host' ? record.deadlineMs > nowMs : alive;
}

/** How long a temporary file counts of a process that cannot be seen from here. */
const TEMPORARY_MS = 3_600_000;
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
      throw error;
    } finally {
      rmSync(temporary, { force: true });
    }
  });
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
    writeFileSync(temporary, `${JSON.stringify(record)}\n`, { flag: 'wx' });
    share(temporary);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  return temporary;
}
