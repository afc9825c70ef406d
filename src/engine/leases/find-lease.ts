import { constants, statSync } from 'node:fs';
import { uptime } from 'node:os';
import { join } from 'node:path';
import { asStorageError, isNotThere, isShortOfFiles } from '../../git/format/errors.ts';
import type { Repository } from '../../git/repository.ts';
import { namesIn, READ, readRegularFile } from '../../git/system/files.ts';
import { isAlive, type ProcessIdentity } from '../../git/system/process-identity.ts';
import { isJsonObject, parseJson, type JsonObject } from '../../json.ts';
import { isOfClass, orElse } from '../../or-else.ts';
import { isThreadId, type ThreadId } from '../../thread/thread-id.ts';
import type { ThreadStatus } from '../../thread/thread-state.ts';
import { LeaseDamaged } from '../engine-errors.ts';

// Who works on which thread: a lease is a file that names its holder, and every process of this machine reads it. `lease.ts` takes them.

const suffix = '.json';

export function leasePath(stateDir: string, thread: ThreadId): string {
  return join(leaseFolder(stateDir), thread + suffix);
}

/** The lease of the process that works on a thread now; `undefined` if none does, or the process has ended. */
export function findLease(repository: Repository, thread: ThreadId): LeaseRecord | undefined {
  const record = findLeaseRecord(repository, thread);
  return record && isHolderAlive(record, repository.now()) ? record : undefined;
}

/** Tells whether a process works on a thread, or may do so as far as its damaged lease tells: what only shows goes on then. */
export function mayBeAtWork(repository: Repository, thread: ThreadId): boolean {
  return orElse(() => findLease(repository, thread) !== undefined, true, isOfClass(LeaseDamaged));
}

/**
 * The lease of a thread whether its holder lives or not; `undefined` if there is none.
 * @throws {LeaseDamaged} if it cannot be told
 */
export function findLeaseRecord(repository: Repository, thread: ThreadId): LeaseRecord | undefined {
  if (repository.stateDir === undefined) return inProcessLeases(repository).get(thread);
  const record = readLeaseRecord(leasePath(repository.stateDir, thread));
  if (record !== 'unreadable') return record;
  if (mayBeHeld(leasePath(repository.stateDir, thread))) throw new LeaseDamaged(leasePath(repository.stateDir, thread));
  return undefined;
}

/** All leases that a process took: that of the thread it works on, and those of the child threads below. */
export function findLeasesOf(repository: Repository, holder: ProcessIdentity): LeaseRecord[] {
  return readLeases(repository).filter((lease) => isHeldBy(lease, holder));
}

export function isHeldBy({ holder }: Pick<LeaseRecord, 'holder'>, { pid, startTime }: ProcessIdentity): boolean {
  return holder.pid === pid && holder.startTime === startTime;
}

/** The leases on disk that can be read, of living processes or not, with their threads. */
export function readLeases(repository: Repository): (LeaseRecord & { thread: ThreadId })[] {
  const { stateDir } = repository;
  if (stateDir === undefined) return [];
  return listLeases(repository).flatMap((thread) => {
    const record = readLeaseRecord(leasePath(stateDir, thread));
    return record === undefined || record === 'unreadable' ? [] : [{ ...record, thread }];
  });
}

/**
 * The thread whose agent, at work, runs this process. It waits for this process in its slot, so one thread of those below it
 * can have that one.
 */
export function findCaller(repository: Repository, env: Readonly<Record<string, string>>): ThreadId | undefined {
  const caller = env['UWF_THREAD'] ?? '';
  return isThreadId(caller) && findLease(repository, caller) !== undefined ? caller : undefined;
}

/** The threads that a process works on now, or may do so ({@link mayBeAtWork}), in order. */
export function findRunning(repository: Repository): ThreadId[] {
  if (repository.stateDir === undefined) return [...inProcessLeases(repository).keys()].toSorted();
  return listLeases(repository)
    .filter((thread) => mayBeAtWork(repository, thread))
    .toSorted();
}

/** The threads whose holder died and left the lease; in no order. */
export function findAbandoned(repository: Repository): ThreadId[] {
  return listLeases(repository).filter(
    (thread) => !mayBeAtWork(repository, thread) && findLeaseRecord(repository, thread) !== undefined,
  );
}

/** The threads that have a lease, of a living process or not. */
export function listLeases({ stateDir }: Repository): ThreadId[] {
  if (stateDir === undefined) return [];
  return namesIn(leaseFolder(stateDir))
    .filter((name) => name.endsWith(suffix))
    .map((name) => name.slice(0, -suffix.length))
    .filter(isThreadId);
}

function leaseFolder(stateDir: string): string {
  return join(stateDir, 'leases');
}

const inProcess = new WeakMap<Repository, Map<ThreadId, LeaseRecord>>();

/** The leases of a repository without a disk, which this process alone can see. */
export function inProcessLeases(repository: Repository): Map<ThreadId, LeaseRecord> {
  const leases = inProcess.get(repository) ?? new Map<ThreadId, LeaseRecord>();
  inProcess.set(repository, leases);
  return leases;
}

/** The status of a thread on this machine, where a process may work on it ({@link mayBeAtWork}), or have died over it. */
export function statusHere(repository: Repository, thread: ThreadId, status: ThreadStatus): ThreadStatus {
  if (status !== 'idle' && status !== 'suspended') return status;
  const record = orElse(() => findLeaseRecord(repository, thread), 'damaged' as const, isOfClass(LeaseDamaged));
  if (record === undefined) return status;
  if (record === 'damaged' || isHolderAlive(record, repository.now())) return 'running';
  // A suspended one waits for a person, whatever died over it.
  return status === 'idle' ? 'interrupted' : status;
}

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
