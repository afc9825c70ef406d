import { randomUUID } from 'node:crypto';
import { linkSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { endGroupLedBy } from '../agent/process-group.ts';
import { UwfError } from '../errors.ts';
import { identityOf, isAlive, ownIdentity, type ProcessIdentity } from '../git/process-identity.ts';
import type { Repository } from '../git/repository.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import { isHolderAlive, readLeaseRecord, type LeaseRecord } from './lease-record.ts';

/** Somebody else works on the thread. */
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

const LEASE_MS = 60_000;
const RENEW_MS = 15_000;
const GRACE_MS = 5_000;
const HAND_OVER_POLL_MS = 20;

/** The right to work on a thread, held by this process until it is released. */
export interface Lease {
  readonly token: string;
  /** Writes down which process group works, so that whoever comes after a crash can end it. */
  setProcessGroup(pgid: number | null): void;
  /** Hands the lease to another live process, which adopts it with the token; this one no longer holds it. */
  handOver(pid: number): void;
  release(): void;
}

function leasePath(stateDir: string, thread: ThreadId): string {
  return join(stateDir, 'leases', `${thread}.json`);
}

/** Who works on a thread now, or `undefined`; a dead holder counts as nobody. */
export function findLease(repository: Repository, thread: ThreadId): LeaseRecord | undefined {
  if (repository.stateDir === undefined) return inProcess.get(repository)?.get(thread);
  const record = readLeaseRecord(leasePath(repository.stateDir, thread));
  return record && isHolderAlive(record, repository.now()) ? record : undefined;
}

/**
 * Takes the lease of a thread, or says who has it.
 *
 * A holder that is alive on this host is never displaced. A dead one's lease is taken over once its agent's process
 * group is gone, which this sees to; of several that find it dead exactly one gets it.
 * @param adopt the token of a lease that another process took for this one
 * @throws {LeaseHeld} if somebody alive has it
 */
export async function takeLease(repository: Repository, thread: ThreadId, adopt?: string): Promise<Lease> {
  const { stateDir } = repository;
  if (stateDir === undefined) return takeInProcess(repository, thread);
  const path = leasePath(stateDir, thread);
  const record = newRecord(repository.now(), adopt);
  mkdirSync(dirname(path), { recursive: true });
  for (;;) {
    if (createExclusively(path, record)) return new FileLease(path, record, repository.now);
    const found = readLeaseRecord(path);
    if (found && found.token === adopt && found.holder.pid === process.pid) {
      return new FileLease(path, found, repository.now);
    }
    if (found && found.token === adopt && isHolderAlive(found, repository.now())) {
      // The process that took it for this one is about to hand it over.
      await setTimeout(HAND_OVER_POLL_MS);
      continue;
    }
    if (found && isHolderAlive(found, repository.now())) throw new LeaseHeld(thread, found);
    if (await takeOver(repository, thread, path, found, record)) return new FileLease(path, record, repository.now);
  }
}

/**
 * Displaces the lease of a dead holder. The right to do so is a claim file named by the dead lease's token, which
 * exactly one process can create; a claimant that died in turn is displaced in the same way.
 */
async function takeOver(
  repository: Repository,
  thread: ThreadId,
  path: string,
  dead: LeaseRecord | undefined,
  record: LeaseRecord,
): Promise<boolean> {
  const claims: string[] = [];
  for (let token = dead?.token ?? 'unreadable'; ;) {
    const claim = `${path}.claim-${token}`;
    if (createExclusively(claim, record)) {
      claims.push(claim);
      break;
    }
    const claimant = readLeaseRecord(claim);
    // Gone again: its claimant has finished; look at the lease anew.
    if (!claimant) return false;
    if (isHolderAlive(claimant, repository.now())) throw new LeaseHeld(thread, claimant);
    claims.push(claim);
    token = claimant.token;
  }
  try {
    // A claimant that died may have finished the exchange before it did.
    if (readLeaseRecord(path)?.token !== dead?.token) return false;
    const group = dead?.processGroup;
    if (dead && group && !(await endGroupLedBy(group, GRACE_MS)) && isAlive(group) !== 'other-host') {
      throw new LeaseHeld(thread, dead);
    }
    replace(path, record);
    return true;
  } finally {
    for (const claim of claims) rmSync(claim, { force: true });
  }
}

function newRecord(nowMs: number, token: string = randomUUID()): LeaseRecord {
  return { token, holder: ownIdentity(), sinceMs: nowMs, deadlineMs: nowMs + LEASE_MS, processGroup: null };
}

/** Creates a file that is complete from its first moment on; false if it exists. */
function createExclusively(path: string, record: LeaseRecord): boolean {
  const temporary = writeBeside(path, record);
  try {
    linkSync(temporary, path);
    return true;
  } catch (error) {
    // NodeJS adds `code` to every error of a system call.
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(temporary, { force: true });
  }
}

function replace(path: string, record: LeaseRecord): void {
  renameSync(writeBeside(path, record), path);
}

function writeBeside(path: string, record: LeaseRecord): string {
  const temporary = `${path}.${process.pid}.${randomUUID()}.tmp`;
  writeFileSync(temporary, `${JSON.stringify(record)}\n`);
  return temporary;
}

class FileLease implements Lease {
  readonly #path: string;
  readonly #now: () => number;
  readonly #timer: NodeJS.Timeout;
  #record: LeaseRecord;

  constructor(path: string, record: LeaseRecord, now: () => number) {
    this.#path = path;
    this.#record = record;
    this.#now = now;
    this.#timer = setInterval(() => this.#write({}), RENEW_MS);
    this.#timer.unref();
  }

  get token(): string {
    return this.#record.token;
  }

  setProcessGroup(pgid: number | null): void {
    this.#write({ processGroup: pgid === null ? null : identityOf(pgid) });
  }

  handOver(pid: number): void {
    clearInterval(this.#timer);
    this.#write({ holder: identityOf(pid) });
  }

  release(): void {
    clearInterval(this.#timer);
    if (this.#isMine()) rmSync(this.#path, { force: true });
  }

  #write(change: Partial<LeaseRecord>): void {
    this.#record = { ...this.#record, deadlineMs: this.#now() + LEASE_MS, ...change };
    // Somebody removed it by hand, and perhaps another took it since: then it is not ours to write.
    if (this.#isMine()) replace(this.#path, this.#record);
  }

  #isMine(): boolean {
    return readLeaseRecord(this.#path)?.token === this.#record.token;
  }
}

/** Leases of repositories without a disk: one process, one map. */
const inProcess = new WeakMap<Repository, Map<ThreadId, LeaseRecord>>();

function takeInProcess(repository: Repository, thread: ThreadId): Lease {
  const leases = inProcess.get(repository) ?? new Map<ThreadId, LeaseRecord>();
  inProcess.set(repository, leases);
  const held = leases.get(thread);
  if (held) throw new LeaseHeld(thread, held);
  const record = newRecord(repository.now());
  leases.set(thread, record);
  return {
    token: record.token,
    setProcessGroup: () => {},
    handOver: () => {},
    release: () => void leases.delete(thread),
  };
}
