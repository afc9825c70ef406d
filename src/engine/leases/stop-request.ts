import { existsSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { ownIdentity } from '../../git/system/process-identity.ts';
import type { Repository } from '../../git/repository.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { tryTo } from '../../or-else.ts';
import { leasePath } from './find-lease.ts';
import { isHolderAlive, readLeaseRecord, replaceRecordFile, type LeaseRecord } from './lease-file.ts';

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

/** Tells whether the work under a lease is asked to end. */
export function isStopRequested(leaseFile: string, token: string): boolean {
  return findRequest(leaseFile, token) !== undefined;
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
export function removeStopRequest(leaseFile: string): void {
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
