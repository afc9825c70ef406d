import { readFileSync } from 'node:fs';
import { isAlive, type ProcessIdentity } from '../git/process-identity.ts';
import { isJsonObject, type JsonObject } from '../json.ts';

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

/** A file that is there and is no lease: a power cut tore it, or somebody else wrote it. */
export type UnreadableRecord = 'unreadable';

/** Reads a lease or claim file; `undefined` if there is none. */
export function readLeaseRecord(path: string): LeaseRecord | UnreadableRecord | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    // NodeJS adds `code` to every error of a system call.
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? undefined : 'unreadable';
  }
  try {
    const value: unknown = JSON.parse(text);
    return isLeaseRecord(value) ? value : 'unreadable';
  } catch {
    return 'unreadable';
  }
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
