import { formatCount, plural } from '../../format-time.ts';
import type { Html } from '../html.ts';
import { MAX_RUNS, type Runs } from '../runs/read-runs.ts';

/** Says what a sum leaves out. */
export function RunsNote({ runs: { hasOlder, unread } }: { runs: Runs }): Html | null {
  if (!hasOlder && unread === 0) return null;
  return (
    <p class="quiet">
      {hasOlder && `Only the newest ${formatCount(MAX_RUNS)} threads are summed up. `}
      {unread > 0 && `Of ${plural(unread, 'thread')} the usage is not read yet: load the page again to read more.`}
    </p>
  );
}
