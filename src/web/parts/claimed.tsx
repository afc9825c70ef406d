import type { Html } from '../html.ts';
import type { KnownClaim } from '../../sync/claims/claims-here.ts';
import { Ago } from './ago.tsx';

/** Which worker of a remote had a thread when it was last fetched, or who had stopped the work on it. */
export function Claimed({ claim, nowMs }: { claim: KnownClaim; nowMs: number }): Html {
  const { remote, worker, host, stoppedBy, seenAt } = claim;
  return (
    <span>
      {stoppedBy === null ? `claimed by ${worker} on ${host}, at ${remote}` : `stopped at ${remote} by ${stoppedBy}`}
      {seenAt !== null && (
        <>
          , seen <Ago at={seenAt} nowMs={nowMs} />
        </>
      )}
    </span>
  );
}
