import { setTimeout as sleep } from 'node:timers/promises';
import type { Remote } from '../git/transport/remote.ts';
import type { Repository } from '../git/repository.ts';
import { fetchFrom } from './fetch-threads.ts';
import { removeRedacted } from './remove-remote-thread.ts';
import { addFurther, emptyReport, mergeReports, newThreads, pushOnce, pushScope } from './push-threads.ts';
import { pushArchive } from './push-archive.ts';
import type { NewThreads } from './new-threads.ts';
import type { FetchReport, SyncOptions, SyncReport } from './report.ts';

/** How often fetch and push are repeated because other clients push at the same time. */
const MAX_ROUNDS = 8;
/** Each round waits for a random time, so that two clients that collide do not collide again. */
const MAX_WAIT_MS = 200;

/**
 * Fetches and pushes until both sides have everything. Repeats both if another client pushed in between.
 *
 * @throws as {@link fetchThreads} and {@link pushThreads}
 */
export async function syncThreads(
  { repository }: { repository: Repository },
  remote: Remote,
  options: SyncOptions = {},
): Promise<SyncReport> {
  const pushed = emptyReport(remote);
  const refused = new Set<string>();
  let news: NewThreads | undefined;
  let fetched: FetchReport | undefined;
  for (let round = 1; ; round += 1) {
    const { report, there } = await fetchFrom(repository, remote, options, true);
    fetched = fetched ? later(fetched, report) : report;
    const scope = await pushScope(repository, options.threads);
    news ??= newThreads(repository, scope, options);
    // A fetch does not ask for what was redacted here.
    const removed = await removeRedacted(repository, remote, { there, isAsked: false }, options);
    const push = await pushOnce(repository, remote, { there: removed.there, scope, refused, news }, options);
    mergeReports(pushed, push.report, refused);
    addFurther(pushed, removed.removals);
    if (!push.isContended || round === MAX_ROUNDS) {
      if (scope === undefined) addFurther(pushed, await pushArchive(repository, remote, options, { news }));
      if (news !== undefined) pushed.unsent = news.unsent;
      return { fetched, pushed };
    }
    await sleep(Math.random() * MAX_WAIT_MS * Math.min(round, 4), undefined, { signal: options.signal });
  }
}

/** Merges the reports of two fetches. A thread that both changed is reported once. */
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
  const archived = [...(first.archived ?? []), ...(second.archived ?? [])];
  const gone = [...(first.gone ?? []), ...(second.gone ?? [])];
  const both = { ...second, threads: [...threads.values()], workflows: [...workflows.values()] };
  return { ...both, ...(archived.length > 0 && { archived }), ...(gone.length > 0 && { gone }) };
}
