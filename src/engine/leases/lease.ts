import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync, linkSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { endGroupLedBy, isGroupAlive } from '../../agent/processes/process-group.ts';
import { UwfError } from '../../errors.ts';
import { errnoOf, isNotThere, storing } from '../../git/format/errors.ts';
import type { Repository } from '../../git/repository.ts';
import { isOlderThan, makeFolders, replaceFile, share } from '../../git/system/files.ts';
import {
  formatIdentity,
  identityOf,
  isAlive,
  ownIdentity,
  parseIdentity,
  type ProcessIdentity,
} from '../../git/system/process-identity.ts';
import { orElse, tryTo } from '../../or-else.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { handOverFailed, LeaseDamaged } from '../engine-errors.ts';
import {
  inProcessLeases,
  isHolderAlive,
  LEASE_MS,
  leasePath,
  type LeaseRecord,
  mayBeHeld,
  readLeaseRecord,
  type UnreadableRecord,
} from './find-lease.ts';

/** Another process works on the thread. */
export class LeaseHeld extends UwfError {
  readonly thread: ThreadId;
  readonly holder: ProcessIdentity;
  readonly sinceMs: number;
  constructor(thread: ThreadId, record: LeaseRecord) {
    const since = new Date(record.sinceMs).toISOString().replace(/\.\d+Z$/, 'Z');
    super(
      `thread ${thread} is being worked on by process ${record.holder.pid} on ${record.holder.host} since ${since}`,
      {
        code: 'lease-held',
        kind: 'conflict',
        hint: `wait for it with 'uwf thread join ${thread}', or end it with 'uwf thread stop ${thread}'`,
      },
    );
    this.thread = thread;
    this.holder = record.holder;
    this.sinceMs = record.sinceMs;
  }
}

const RENEW_MS = 15_000;
const HAND_OVER_POLL_MS = 20;
const REQUEST_POLL_MS = 250;
const RELEASE_POLL_MS = 1_000;

/** The right to work on a thread, held by this process until it is released. */
export interface Lease {
  readonly token: string;
  /**
   * Writes down a process group that works, beside those that do already, so that the next holder can end it after a crash.
   * @throws {StorageFull} / {StorageReadOnly} if it cannot: the group must not go on then. That none works any more
   *   (null) is written as far as possible
   */
  setProcessGroup(pgid: number | null): void;
  /**
   * Notes the top of the work tree that agents of the thread work in, for other runs to see, as far as possible.
   * @returns false if it was noted before, or no other process can see it
   */
  noteWorkTree(top: string): boolean;
  /**
   * Has `stop` called once when another process asks to end the work on this thread. The lease says that this is awaited, so
   * that its holder, which works on other threads too, is not ended instead.
   */
  hearStops(stop: () => void): void;
  /** Hands the lease to another live process, which adopts it with the token; this one no longer holds it. */
  handOver(pid: number): void;
  release(): void;
}

/**
 * Takes the lease of a thread.
 *
 * A holder that is alive on this host is never displaced. A dead one's lease is taken over once its agent's process
 * group is gone, which this sees to; of several that find it dead exactly one gets it.
 * @param adopt the token of a lease that another process took for this one; no other will do
 * @throws {LeaseHeld} if a living process has it
 * @throws {LeaseDamaged} if it cannot be told whether a process holds it
 * @throws {UwfError} `hand-over-failed` if the process that took the lease for this one has ended before it handed it over
 */
export async function takeLease(repository: Repository, thread: ThreadId, adopt?: string): Promise<Lease> {
  const { stateDir } = repository;
  if (stateDir === undefined) return takeInProcess(repository, thread, adopt);
  const path = leasePath(stateDir, thread);
  if (adopt !== undefined) return adoptLease(repository, thread, path, adopt);
  const outcome = await takeLeaseFile(path, repository.now);
  if (outcome.kind === 'held') throw new LeaseHeld(thread, outcome.by);
  return outcome.lease;
}

/**
 * Takes a lease file, of a thread or a slot, by the rules of {@link takeLease}, or returns the record of its holder.
 * @param thread for whose work it is taken, where the file's name does not say
 */
export async function takeLeaseFile(
  path: string,
  now: () => number,
  thread?: ThreadId,
): Promise<{ kind: 'taken'; lease: Lease } | { kind: 'held'; by: LeaseRecord }> {
  const record: LeaseRecord = { ...newRecord(now()), ...(thread !== undefined && { thread }) };
  prepareLeaseFolder(dirname(path));
  for (;;) {
    if (createRecordFile(path, record)) return { kind: 'taken', lease: new FileLease(path, record, now) };
    const found = readLeaseRecord(path);
    // Released since: the first process to create it has it, not the first to see it gone.
    if (found === undefined) continue;
    if (found !== 'unreadable' && isHolderAlive(found, now())) return { kind: 'held', by: found };
    if (found === 'unreadable' && mayBeHeld(path)) throw new LeaseDamaged(path);
    const outcome = await takeOverLease(path, found, record, now());
    if (outcome.kind === 'held') return outcome;
    if (outcome.kind === 'taken') return { kind: 'taken', lease: new FileLease(path, record, now) };
  }
}

async function adoptLease(repository: Repository, thread: ThreadId, path: string, token: string): Promise<Lease> {
  for (;;) {
    const found = readLeaseRecord(path);
    if (found === undefined || found === 'unreadable' || found.token !== token) throw handOverFailed(thread);
    if (found.holder.pid === process.pid) return new FileLease(path, found, repository.now);
    if (!isHolderAlive(found, repository.now())) throw handOverFailed(thread);
    // The process that took it for this one is about to hand it over.
    await sleep(HAND_OVER_POLL_MS);
  }
}

function newRecord(nowMs: number): LeaseRecord {
  const deadlineMs = nowMs + LEASE_MS;
  return { token: randomUUID(), holder: ownIdentity(), sinceMs: nowMs, deadlineMs, processGroups: [] };
}

class FileLease implements Lease {
  readonly #path: string;
  readonly #now: () => number;
  readonly #timer: NodeJS.Timeout;
  #record: LeaseRecord;
  #listening: NodeJS.Timeout | undefined;

  constructor(path: string, record: LeaseRecord, now: () => number) {
    this.#path = path;
    this.#record = record;
    this.#now = now;
    this.#timer = setInterval(() => this.#tryToWrite({}), RENEW_MS);
    this.#timer.unref();
  }

  get token(): string {
    return this.#record.token;
  }

  setProcessGroup(pgid: number | null): void {
    if (pgid === null) return this.#tryToWrite({ processGroups: [] });
    const others = this.#record.processGroups.filter((group) => group.pid !== pgid && isGroupAlive(group.pid));
    this.#write({ processGroups: [...others, identityOf(pgid)] });
  }

  noteWorkTree(top: string): boolean {
    if (this.#record.workTree === top) return false;
    this.#tryToWrite({ workTree: top });
    return true;
  }

  hearStops(stop: () => void): void {
    tryTo(() => removeStopRequest(this.#path));
    this.#tryToWrite({ stopRequest: 'awaited' });
    this.#listening = setInterval(() => {
      // What cannot be read now is read the next time.
      if (orElse(() => findRequest(this.#path, this.token), undefined) === undefined) return;
      clearInterval(this.#listening);
      stop();
      this.#tryToWrite({ stopRequest: 'heard' });
    }, REQUEST_POLL_MS);
    this.#listening.unref();
  }

  handOver(pid: number): void {
    clearInterval(this.#timer);
    this.#write({ holder: identityOf(pid) });
  }

  release(): void {
    clearInterval(this.#timer);
    clearInterval(this.#listening);
    if (this.#remove()) return;
    // A worker outlives a disk that is read-only for a while, and would then find the thread taken by itself.
    const again = setInterval(() => this.#remove() && clearInterval(again), RELEASE_POLL_MS);
    again.unref();
  }

  /** Removes the file; false if that cannot be done now. */
  #remove(): boolean {
    const remove = (): true => {
      if (this.#isMine()) rmSync(this.#path, { force: true });
      return true;
    };
    return orElse(remove, false);
  }

  /** Writes a change that may be lost: on this host the process counts, and a group that has ended does no harm. */
  #tryToWrite(change: Partial<LeaseRecord>): void {
    // A full disk must not end a turn that goes well.
    tryTo(() => this.#write(change));
  }

  #write(change: Partial<LeaseRecord>): void {
    this.#record = { ...this.#record, deadlineMs: this.#now() + LEASE_MS, ...change };
    // It was removed by hand, and another process may have taken it since: then this one must not write it.
    if (!this.#isMine()) return;
    try {
      replaceRecordFile(this.#path, this.#record);
    } catch (error) {
      // The repository was moved away at this moment, which the end of the turn tells, with what the agent said.
      if (!isNotThere(error)) throw error;
    }
  }

  #isMine(): boolean {
    const found = readLeaseRecord(this.#path);
    // A lease that was damaged since this process wrote it is written anew.
    return found === 'unreadable' ? mayBeHeld(this.#path) : found?.token === this.#record.token;
  }
}

/** A repository without a disk is known to this process alone, and no agent has to be found again. */
function takeInProcess(repository: Repository, thread: ThreadId, adopt: string | undefined): Lease {
  const leases = inProcessLeases(repository);
  const held = leases.get(thread);
  if (adopt === undefined && held) throw new LeaseHeld(thread, held);
  if (adopt !== undefined && held?.token !== adopt) throw handOverFailed(thread);
  const record = held ?? newRecord(repository.now());
  leases.set(thread, record);
  return {
    token: record.token,
    setProcessGroup: () => {},
    noteWorkTree: () => false,
    hearStops: () => {},
    handOver: () => {},
    release() {
      if (leases.get(thread)?.token === record.token) leases.delete(thread);
    },
  };
}

/** How long the agent of a dead holder has to end by itself. */
const GRACE_MS = 5_000;
const claimMark = '.claim-';

/**
 * The outcome of an attempt to displace the lease of an ended process: this process has it now, another process has or
 * claims it, or the lease has changed since it was found and must be read again.
 */
type TakeOver = { kind: 'taken' } | { kind: 'held'; by: LeaseRecord } | { kind: 'changed' };

/**
 * Displaces the lease of a dead holder, once its agent's process group is gone, which this sees to.
 *
 * The right to do so is a claim file named by the dead lease's token, which exactly one process can create; a claimant
 * that died in turn is displaced in the same way. Tokens are never used twice, so that a claim on a lease that has been
 * displaced meanwhile is void.
 * @param dead what was found; looked at again under the claim
 * @param record what is put in its place
 */
export async function takeOverLease(
  path: string,
  dead: LeaseRecord | UnreadableRecord,
  record: LeaseRecord,
  nowMs: number,
): Promise<TakeOver> {
  const claims: string[] = [];
  for (let token = tokenOf(dead); ;) {
    const claim = path + claimMark + token;
    if (createRecordFile(claim, record)) {
      claims.push(claim);
      break;
    }
    const claimant = readLeaseRecord(claim);
    // Gone again: its claimant has finished.
    if (claimant === undefined) return { kind: 'changed' };
    if (claimant !== 'unreadable' && isHolderAlive(claimant, nowMs)) return { kind: 'held', by: claimant };
    claims.push(claim);
    // A torn claim does not name its claimant, so the next process may claim that claim.
    token = claimant === 'unreadable' ? `${token}-torn` : claimant.token;
  }
  try {
    const current = readLeaseRecord(path);
    // A claimant that died may have finished the exchange before it did.
    if (current === undefined || tokenOf(current) !== tokenOf(dead)) return { kind: 'changed' };
    if (current !== 'unreadable') {
      // What was found may be older than the last thing that the holder wrote before it died: a group.
      const { processGroups } = current;
      const ends = processGroups.map(
        async (group) => (await endGroupLedBy(group, GRACE_MS)) || isAlive(group) === 'other-host',
      );
      if ((await Promise.all(ends)).includes(false)) return { kind: 'held', by: current };
    }
    replaceRecordFile(path, record);
    removeStopRequest(path);
    removeVoidClaims(path, claims);
    return { kind: 'taken' };
  } finally {
    for (const claim of claims) rmSync(claim, { force: true });
  }
}

function tokenOf(record: LeaseRecord | UnreadableRecord): string {
  return record === 'unreadable' ? record : record.token;
}

/** Claims on leases that are gone: their claimants died after the exchange, or will see that they came too late. */
function removeVoidClaims(path: string, own: readonly string[]): void {
  const folder = dirname(path);
  for (const name of readdirSync(folder)) {
    const claim = join(folder, name);
    if (name.startsWith(basename(path) + claimMark) && !own.includes(claim)) rmSync(claim, { force: true });
  }
}

const POLL_MS = 50;

/**
 * Asks the process that has a lease to end the work on that thread alone. The request is a file beside the lease, with the
 * lease's token and the process that asks: it is void for any other lease, and once that process has ended.
 * @returns what withdraws it, when the process that asked has done what it stopped the thread for
 */
export function requestStop(repository: Repository, thread: ThreadId, lease: LeaseRecord): () => void {
  const { stateDir } = repository;
  if (stateDir === undefined) throw new Error('only a lease on disk can hear a request');
  const path = leasePath(stateDir, thread);
  const holder = ownIdentity();
  replaceRecordFile(requestPath(path), { ...lease, holder, processGroups: [] });
  const withdraw = (): void => {
    const found = readLeaseRecord(requestPath(path));
    // Another process may have asked for the same since.
    if (found !== undefined && found !== 'unreadable' && found.holder.pid === holder.pid) removeStopRequest(path);
  };
  // One that stays is void when this process has ended.
  return () => tryTo(withdraw);
}

/** Waits until the process that asked to end the work under a lease has done what it wanted, or has ended itself. */
export async function stopDone(
  { stateDir, now }: Repository,
  thread: ThreadId,
  token: string,
  signal: AbortSignal,
): Promise<void> {
  if (stateDir === undefined) return;
  const path = leasePath(stateDir, thread);
  for (let request = findRequest(path, token); request !== undefined; request = findRequest(path, token)) {
    if (signal.aborted) return;
    if (!isHolderAlive(request, now())) return removeStopRequest(path);
    await sleep(POLL_MS);
  }
}

/** Removes what was asked of a lease before this one. */
function removeStopRequest(leaseFile: string): void {
  rmSync(requestPath(leaseFile), { force: true });
}

function findRequest(leaseFile: string, token: string): LeaseRecord | undefined {
  const path = requestPath(leaseFile);
  const found = existsSync(path) ? readLeaseRecord(path) : undefined;
  return found !== undefined && found !== 'unreadable' && found.token === token ? found : undefined;
}

function requestPath(leaseFile: string): string {
  return `${leaseFile}.stop`;
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
