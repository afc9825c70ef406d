import { constants, statSync } from 'node:fs';
import { uptime } from 'node:os';
import { asStorageError, isShortOfFiles } from '../git/object-errors.ts';
import { isAlive, type ProcessIdentity } from '../git/process-identity.ts';
import { READ, readRegularFile } from '../git/read-regular-file.ts';
import { isJsonObject, type JsonObject } from '../json.ts';
import { readSummed } from './summed-line.ts';

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
  /** Of a slot: the thread that works in it. */
  thread?: string;
};

/** Of a process there are a few words. */
const MAX_BYTES = 1024 * 1024;

/** A file that is there and is no lease: it is damaged, a power cut tore it, or another program wrote it. */
export type UnreadableRecord = 'unreadable';

/** Reads a lease or claim file; `undefined` if there is none. */
export function readLeaseRecord(path: string): LeaseRecord | UnreadableRecord | undefined {
  let text: string;
  try {
    text = readRegularFile(path, MAX_BYTES, READ | constants.O_NOFOLLOW).toString('utf8');
  } catch (error) {
    // It may be sound, and its holder at work.
    if (isShortOfFiles(error)) throw asStorageError(error, path);
    // NodeJS adds `code` to every error of a system call.
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? undefined : 'unreadable';
  }
  const value = readSummed(text.trimEnd());
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
  return writtenMs > Date.now() - Math.min(LEASE_MS, uptime() * 1000);
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
