import type { Repository } from '../../git/repository.ts';
import type { KnownClaim } from '../../sync/claims.ts';
import { REMOTES_PREFIX, type ThreadId } from '../../thread/thread-id.ts';
import { formatAgo } from '../../text/wording.ts';
import { oneLine } from '../output/text.ts';

/** The claims of workers that are known here. What reads them is loaded only where there are some. */
export async function knownClaims(
  repository: Repository,
  thread?: ThreadId,
): Promise<ReadonlyMap<ThreadId, KnownClaim>> {
  const where = (name: string): boolean => name.includes('/claims/') && (thread === undefined || name.endsWith(thread));
  if ((await repository.refs.list(REMOTES_PREFIX, { where, last: 1 })).length === 0) return new Map();
  const { readClaimsHere } = await import('../../sync/claims.ts');
  return readClaimsHere(repository, thread);
}

/** Why the work on a thread was stopped, as the end of a line; '' if a person stopped it. */
export function reasonOf(reason: string | null): string {
  return reason === null ? '' : `: ${oneLine(reason)}`;
}

/** Names the worker that has a thread, its machine, and its sign of life; or who has stopped the work on it. */
export function describeClaim(claim: KnownClaim, nowMs: number): string {
  const { remote, worker, host, stoppedBy, reason, held, seenAt } = claim;
  const seen = seenAt === null ? '' : `, as a fetch saw it ${formatAgo(Date.parse(seenAt), nowMs)}`;
  if (stoppedBy !== null) return `stopped at ${remote} by ${oneLine(stoppedBy)}${seen}${reasonOf(reason)}`;
  const why = held === null ? '' : `; it holds a step back: ${oneLine(held)}`;
  return `${oneLine(worker)} on ${oneLine(host)}, at ${remote}${seen}${why}`;
}
