import { setTimeout as sleep } from 'node:timers/promises';
import type { EngineContext } from '../engine/context.ts';
import type { Remote } from '../git/remote.ts';
import { fetchFrom } from './fetch-threads.ts';
import { scopeOf } from './plan-push.ts';
import { emptyReport, mergeReports, pushOnce } from './push-threads.ts';
import type { FetchReport, SyncReport } from './report.ts';
import type { SyncOptions } from './sync-options.ts';

/** Rounds of fetching and pushing after which giving up is better: others push all the time. */
const MAX_ROUNDS = 8;
/** Those who meet wait for different times. */
const MAX_WAIT_MS = 200;

/**
 * Fetches and pushes, again where others pushed in between, until both sides have everything.
 *
 * @throws as {@link fetchThreads} and {@link pushThreads}
 */
export async function syncThreads(
  context: Pick<EngineContext, 'repository'>,
  remote: Remote,
  options: SyncOptions = {},
): Promise<SyncReport> {
  const pushed = emptyReport(remote);
  const refused = new Set<string>();
  let fetched: FetchReport | undefined;
  for (let round = 1; ; round += 1) {
    const { report, there } = await fetchFrom(context, remote, options, { mayBeMissing: true });
    fetched = fetched ? later(fetched, report) : report;
    const scope = await scopeOf(context.repository, options.threads);
    const push = await pushOnce(context, remote, { there, scope, refused }, options);
    mergeReports(pushed, push.report, refused);
    if (!push.isContended || round === MAX_ROUNDS) return { fetched, pushed };
    await sleep(
      Math.random() * MAX_WAIT_MS * Math.min(round, 4),
      undefined,
      options.signal && { signal: options.signal },
    );
  }
}

/** What two fetches brought, one after the other; a thread that both moved is told of once. */
function later(first: FetchReport, second: FetchReport): FetchReport {
  const threads = new Map(first.threads.map((change) => [change.thread, change]));
  for (const change of second.threads) {
    const before = threads.get(change.thread);
    if (before === undefined) threads.set(change.thread, change);
    else {
      const { commits: _, ...rest } = change;
      const isNew = before.change === 'new' || before.change === 'forked';
      const kind = change.change === 'forward' || isNew ? before.change : change.change;
      threads.set(change.thread, { ...rest, change: change.head === null ? 'removed' : kind, before: before.before });
    }
  }
  const workflows = new Map(first.workflows.map((change) => [change.workflow, change]));
  for (const change of second.workflows) {
    const before = workflows.get(change.workflow)?.before;
    workflows.set(change.workflow, before === undefined ? change : { ...change, before });
  }
  return { ...second, threads: [...threads.values()], workflows: [...workflows.values()] };
}
