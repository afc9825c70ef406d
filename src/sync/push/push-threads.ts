import {
  isDone,
  type PushEdit,
  type PushRequest,
  type PushResult,
  refusalIn,
  type Remote,
  type RemoteRef,
} from '../../git/transport/remote.ts';
import type { RefName } from '../../git/ref-store.ts';
import type { CommitLine } from '../../git/process/list-commits.ts';
import type { Repository } from '../../git/repository.ts';
import { removeRedacted } from '../removal/remove-remote-thread.ts';
import { pushArchive } from '../archive/push-archive.ts';
import { NewThreads } from './new-threads.ts';
import { editsOf, planThreadPush, type PushFacts, type PushPart, pushScope } from './plan-push.ts';
import { Refusals } from '../refusals.ts';
import type { PushReport } from '../report.ts';
import { readSortedRefs, SHARED_PATTERNS, sortRefs } from '../refs/sorted-refs.ts';
import type { SyncOptions } from '../sync-options.ts';
import { readTracked, refsOf, remember } from '../refs/tracking.ts';

/** How often a push is tried again because other clients push at the same time. */
const MAX_ROUNDS = 5;

const MOVED = 'others push it at the same time; fetch first';

/** The result of one push; `isContended`: a part of it was not done because the remote's refs have moved. */
export type Pushed = { report: PushReport; isContended: boolean };

/**
 * Sends this repository's threads and workflows to a remote, fast-forward only. A thread that has commits at the remote
 * which are not here is held until a fetch brings them.
 *
 * The history ref of an ended thread is made before its active ref is deleted. No ref is forced, so a concurrent push by another
 * client loses nothing.
 * @throws {RemoteUnreachable} if the outcome of the push is unknown; pushing again shows it
 * @throws {ThreadNotFound} {UwfError} `ambiguous-thread` if a named thread is unknown or ambiguous
 */
export async function pushThreads(
  { repository }: { repository: Repository },
  remote: Remote,
  options: SyncOptions = {},
): Promise<PushReport> {
  const scope = await pushScope(repository, options.threads);
  let there: readonly RemoteRef[] = remote.isConfigured
    ? refsOf(await readTracked(repository, remote))
    : await remote.list(SHARED_PATTERNS, options.signal);
  let isAsked = !remote.isConfigured;
  const news = newThreads(repository, scope, options);
  if (news !== undefined && !isAsked && (await mayHaveNew(repository, there))) {
    // A person is asked about what the remote lacks, not about what is not known of it.
    there = await remote.list(SHARED_PATTERNS, options.signal);
    isAsked = true;
  }
  const report = emptyReport(remote);
  const removed = await removeRedacted(repository, remote, { there, isAsked }, options);
  ({ there, isAsked } = removed);
  const refused = new Set<string>();
  for (let round = 1; ; round += 1) {
    const pushed = await pushOnce(repository, remote, { there, scope, refused, news }, options);
    mergeReports(report, pushed.report, refused);
    if (!pushed.isContended || round === MAX_ROUNDS) break;
    // The tracking refs are out of date. Threads that fast-forward from the remote's present refs can still be pushed.
    there = await remote.list(SHARED_PATTERNS, options.signal);
    isAsked = true;
  }
  if (!isAsked && refused.size === 0) await pushLost(repository, remote, { scope, report, refused }, options);
  addFurther(report, removed.removals);
  if (scope === undefined) addFurther(report, await pushArchive(repository, remote, options, { news }));
  if (news !== undefined) report.unsent = news.unsent;
  return report;
}

/** What has new threads chosen in a push of all; `undefined` if all are sent, or those that are named. */
export function newThreads(
  repository: Repository,
  scope: PushFacts['scope'],
  { chooseNew }: SyncOptions,
): NewThreads | undefined {
  return scope === undefined && chooseNew !== undefined ? new NewThreads(repository, chooseNew) : undefined;
}

async function mayHaveNew(repository: Repository, there: readonly RemoteRef[]): Promise<boolean> {
  const { threads } = sortRefs(there);
  return [...(await readSortedRefs(repository)).threads.keys()].some((thread) => !threads.has(thread));
}

/**
 * Pushes the named threads for which there was nothing to do by the tracking refs, and of which the remote has no ref any more.
 * Asks the remote once, and not at all if there was something to do for each.
 */
async function pushLost(
  repository: Repository,
  remote: Remote,
  { scope = new Set(), refused, report }: Pick<PushFacts, 'scope' | 'refused'> & { report: PushReport },
  options: SyncOptions,
): Promise<void> {
  const told = new Set([...report.threads, ...report.held].map(({ thread }) => thread));
  const idle = [...scope].filter((thread) => !told.has(thread));
  if (idle.length === 0) return;
  const there = await remote.list(SHARED_PATTERNS, options.signal);
  const { threads } = sortRefs(there);
  const lost = new Set(idle.filter((thread) => !threads.has(thread)));
  if (lost.size === 0) return;
  const { report: later } = await pushOnce(repository, remote, { there, scope: lost, refused }, options);
  mergeReports(report, { ...later, held: [...report.held, ...later.held] }, refused);
}

/** What goes with a push of threads: the removal of what was redacted, the push of the archive. */
export type Further = Pick<PushReport, 'threads' | 'held' | 'rejected' | 'archived'>;

/** Adds what went with the push of the threads. */
export function addFurther(report: PushReport, { archived = [], threads, held, rejected }: Further): void {
  report.threads.push(...threads);
  if (archived.length > 0) report.archived = archived;
  report.held.push(...held);
  report.rejected.push(...rejected);
}

/** Plans and makes one push. */
export async function pushOnce(
  repository: Repository,
  remote: Remote,
  facts: PushFacts,
  options: SyncOptions,
): Promise<Pushed> {
  const { there, scope, refused, fence } = facts;
  const { dryRun, signal, onProgress } = options;
  const { parts, held, rejected, withheld } = await planThreadPush(repository, remote, facts, options);
  const report: PushReport = { ...emptyReport(remote), held, rejected };
  const edits = [...editsOf(parts), ...(fence?.edits ?? [])];
  if (edits.length === 0) return { report, isContended: false };
  const spare = new Set(parts.flatMap((part) => part.spare ?? []));
  const results = dryRun
    ? edits.map(({ name }): PushResult => ({ name, outcome: 'done' }))
    : await pushSparing(remote, { edits, isForward: true, signal, onProgress }, spare);
  fence?.settle(results.slice(edits.length - fence.edits.length));
  const outcomes = new Map<string, PushResult>(results.map((result) => [result.name, result]));
  const outcomesOf = (part: PushPart): (PushResult['outcome'] | undefined)[] =>
    part.edits.map(({ name }) => outcomes.get(name)?.outcome);
  const isSpared = (result: PushResult | undefined): boolean => result?.outcome === 'refused' && spare.has(result.name);
  const done = parts.filter((part) =>
    part.edits.every(({ name }) => isDone(outcomes.get(name)?.outcome) || isSpared(outcomes.get(name))),
  );
  for (const part of parts) {
    const { edits: own, thread, workflow } = part;
    const isRefused = outcomesOf(part).includes('refused');
    if (!done.includes(part)) {
      if (thread && !isRefused) report.held.push({ thread: thread.thread, reason: whyHeld(own, outcomes) });
      continue;
    }
    // Tracking refs were out of date, and the remote had it.
    if (!outcomesOf(part).includes('done')) continue;
    if (thread) report.threads.push(thread);
    if (workflow) report.workflows.push(workflow);
  }
  report.commits = eachOnce(done.flatMap(({ commits = [] }) => commits));
  report.secrets = done.flatMap(({ secrets = [] }) => secrets);
  if (!dryRun) {
    const made = edits.filter(({ name }) => isDone(outcomes.get(name)?.outcome));
    await remember(repository, remote, made);
  }
  if (scope !== undefined || withheld.size > 0) {
    const named = scope ?? new Set(parts.flatMap(({ thread }) => thread?.thread ?? []));
    const { threads } = sortRefs(there);
    const along = done.flatMap(({ alongside = [] }) => alongside).filter((id) => !named.has(id) && !threads.has(id));
    report.alongside = [...new Set(along)].toSorted();
  }
  const refusals = new Refusals();
  for (const result of results) {
    if (result.outcome !== 'refused' || isSpared(result)) continue;
    refusals.add(result.name, result.reason);
    refused.add(result.name);
  }
  report.rejected.push(...refusals.list().map((refusal) => ({ ...refusal, isRefusedThere: true as const })));
  return { report, isContended: results.some(({ outcome }) => outcome === 'moved' || outcome === 'undone') };
}

/** Pushes, and where the remote refuses to delete what may stay, again without that: one refusal undoes the other edits. */
async function pushSparing(remote: Remote, request: PushRequest, spare: ReadonlySet<RefName>): Promise<PushResult[]> {
  const results = await remote.push(request);
  const refused = results.flatMap(({ name, outcome }) => (outcome === 'refused' ? name : []));
  const kept = new Set(refused.filter((name) => spare.has(name)));
  const isOnlyThat = kept.size > 0 && kept.size === refused.length;
  if (!isOnlyThat || !results.some(({ outcome }) => outcome === 'undone')) return results;
  const edits = request.edits.filter(({ name }) => !kept.has(name));
  const again = new Map(
    (await pushSparing(remote, { ...request, edits }, spare)).map((result) => [result.name, result]),
  );
  // What was made before the deletions is there already.
  return results.map((result) => (result.outcome === 'done' ? result : (again.get(result.name) ?? result)));
}

/** Why a thread was not pushed in this round. The words of git or of the remote follow, in case the cause is another one. */
function whyHeld(edits: readonly PushEdit[], outcomes: ReadonlyMap<string, PushResult>): string {
  const results = edits.map(({ name }) => outcomes.get(name));
  const cause = results.find((result) => result?.outcome === 'moved');
  if (cause?.outcome === 'moved') return `${MOVED} (${cause.reason})`;
  const refusal = refusalIn([...outcomes.values()]);
  return refusal === undefined ? MOVED : `the remote refused another ref of the same push: ${refusal}`;
}

export function emptyReport({ name: remote, url }: Pick<Remote, 'name' | 'url'>): PushReport {
  return { remote, url, threads: [], workflows: [], rejected: [], held: [], alongside: [], commits: [], secrets: [] };
}

/** Adds the report of a later push to that of earlier ones. Of what was held, the later push decides. */
export function mergeReports(report: PushReport, later: PushReport, refused: ReadonlySet<string>): void {
  report.threads.push(...later.threads);
  report.workflows.push(...later.workflows);
  report.rejected = [...report.rejected.filter(({ ref }) => refused.has(ref)), ...later.rejected];
  report.secrets.push(...later.secrets);
  report.held = later.held;
  report.alongside = [...new Set([...report.alongside, ...later.alongside])];
  report.commits = eachOnce([...report.commits, ...later.commits]);
}

function eachOnce(commits: readonly CommitLine[]): CommitLine[] {
  return [...new Map(commits.map((line) => [line.commit, line])).values()];
}
