import { readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { endGroupLedBy } from '../../agent/processes/process-group.ts';
import { isAlive } from '../../git/system/process-identity.ts';
import {
  createRecordFile,
  isHolderAlive,
  readLeaseRecord,
  replaceRecordFile,
  type LeaseRecord,
  type UnreadableRecord,
} from './lease-file.ts';
import { removeStopRequest } from './stop-request.ts';

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
