import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import type { Repository } from '../../git/repository.ts';
import { iso } from '../../iso.ts';
import { isThreadId, REMOTES_PREFIX, type ThreadId } from '../../thread/thread-id.ts';
import { findClaim, type Claim } from './claim.ts';

/** The claim of a thread, as a remote had it when this repository last fetched it. It may have changed since. */
export type KnownClaim = {
  remote: string;
  worker: string;
  host: string;
  role: string | null;
  held: string | null;
  stoppedBy: string | null;
  reason: string | null;
  /** When a fetch, or a push of this machine, found that it had changed, by this machine's clock; null if that is not known. */
  seenAt: string | null;
};

const ofClaim = /^(?<remote>.+)\/claims\/(?<thread>[^/]+)$/;

/**
 * Reads the claims that the remotes of this repository had when they were last seen. Reads the names of tracking refs, and the
 * claims themselves; nothing is fetched. Claims that are malformed are left out.
 * @param thread only its claim
 */
export async function readClaimsHere(repository: Repository, thread?: ThreadId): Promise<Map<ThreadId, KnownClaim>> {
  const { refs, objects } = repository;
  const where = (name: string): boolean =>
    thread === undefined ? name.includes('/claims/') : name.endsWith(`/claims/${thread}`);
  const claims = new Map<ThreadId, KnownClaim>();
  for (const { name, id } of await refs.list(REMOTES_PREFIX, { where })) {
    const { remote, thread: of = '' } = ofClaim.exec(name.slice(REMOTES_PREFIX.length))?.groups ?? {};
    if (remote === undefined || !isThreadId(of)) continue;
    const claim = await findClaim(objects, id);
    if (claim !== undefined && claim.givenBack !== true)
      claims.set(of, asKnown(remote, claim, changedAt(repository, name)));
  }
  return claims;
}

function asKnown(remote: string, claim: Claim, seenAt: string | null): KnownClaim {
  const { worker, host, role = null, held = null, stoppedBy = null, reason = null } = claim;
  return { remote, worker, host, role, held, stoppedBy, reason, seenAt };
}

/** A tracking ref is written when its value changes. One that git has packed has no time of its own. */
function changedAt({ location }: Repository, name: string): string | null {
  const stat = location && lstatSync(join(location.commonDir, name), { throwIfNoEntry: false });
  return stat?.isFile() === true ? iso(Math.round(stat.mtimeMs)) : null;
}
