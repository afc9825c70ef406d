import { setTimeout as sleep } from 'node:timers/promises';
import type { ObjectId } from '../git/format/object-id.ts';
import type { CommitLine } from '../git/process/revisions.ts';
import type { RefName, Repository } from '../git/repository.ts';
import {
  isDone,
  type PushEdit,
  type PushRequest,
  type PushResult,
  refusalIn,
  type Remote,
  type RemoteRef,
} from '../git/transport/remote.ts';
import { type ArchiveList, openArchive } from '../thread/archive-list.ts';
import { getThread } from '../thread/find-thread.ts';
import { assertDataError, NoRefOfItsOwn, nothingForDataError } from '../thread/thread-errors.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import { foldEnded } from '../thread/thread-verbs.ts';
import { workflowRef } from '../workflow/registry/workflow-refs.ts';
import { fetchFrom } from './fetch-threads.ts';
import { NewThreads, presenceAt } from './new-threads.ts';
import { HoldBack, type Offer, type OfferLineage, offerThread } from './offer-threads.ts';
import { pushArchive } from './push-archive.ts';
import { createLineage, leadsTo } from './reconcile-thread.ts';
import { removeRedacted } from './remove-remote-thread.ts';
import {
  type FetchReport,
  type Held,
  type PushReport,
  type Refusal,
  Refusals,
  type SyncOptions,
  type SyncReport,
  type ThreadChange,
  type WorkflowChange,
} from './report.ts';
import {
  openArchiveThere,
  readSortedRefs,
  readTracked,
  refsOf,
  remember,
  SHARED_PATTERNS,
  type SortedRefs,
  sortRefs,
  type Tip,
  tipOfArchived,
} from './shared-refs.ts';

/** How often a push is tried again because other clients push at the same time. */
const MAX_ROUNDS = 5;

const MOVED = 'others push it at the same time; fetch first';

/** The result of one push; `isContended`: a part of it was not done because the remote's refs have moved. */
type Pushed = { report: PushReport; isContended: boolean };

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
function newThreads(
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
type Further = Pick<PushReport, 'threads' | 'held' | 'rejected' | 'archived'>;

function addFurther(report: PushReport, { archived = [], threads, held, rejected }: Further): void {
  report.threads.push(...threads);
  if (archived.length > 0) report.archived = archived;
  report.held.push(...held);
  report.rejected.push(...rejected);
}

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
function mergeReports(report: PushReport, later: PushReport, refused: ReadonlySet<string>): void {
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

/** The edits of one thread or workflow. They count as done only if all of them are. */
type PushPart = Pick<Offer, 'edits' | 'spare' | 'commits' | 'secrets' | 'alongside'> & {
  thread?: ThreadChange;
  workflow?: WorkflowChange;
};

/** What a push changes at the remote. */
type PushPlan = {
  parts: PushPart[];
  held: Held[];
  rejected: Refusal[];
  /** Threads that are new to the remote, and were not chosen. */
  withheld: ReadonlySet<ThreadId>;
};

/** The refs of both sides, and the threads to push: `undefined` for all. */
type PushSides = { here: SortedRefs; there: SortedRefs; scope: PushScope };

/** The threads to push; `undefined`: all threads and workflows. */
type PushScope = ReadonlySet<ThreadId> | undefined;

/** Edits of others that a push carries: claims of a worker. */
export type PushFence = { edits: readonly PushEdit[]; settle: (results: readonly PushResult[]) => void };

type PushFacts = {
  /** The remote's refs, as far as they are known. Their commits may be missing here. */
  there: readonly RemoteRef[];
  scope: PushScope;
  /** Names of refs that the remote does not allow to change: not to be tried again. The push adds to them. */
  refused: Set<string>;
  /** Has the threads chosen that are new to the remote; absent: all of the scope are sent. */
  news?: NewThreads | undefined;
  /** Edits that have to go with all others, or none goes. */
  fence?: PushFence | undefined;
};

async function pushScope(repository: Repository, threads: readonly string[] | undefined): Promise<PushScope> {
  if (threads === undefined) return undefined;
  const scope = new Set<ThreadId>();
  for (const text of threads) {
    const pointer = await getThread(repository, text);
    if (pointer.keptBy !== undefined) throw new NoRefOfItsOwn(pointer.id, pointer.keptBy);
    await foldEnded(repository, pointer);
    scope.add(pointer.id);
  }
  return scope;
}

/**
 * Compares this repository with the remote, and holds what must not leave. The cost depends on what is new, not on the length
 * of the threads.
 */
async function planThreadPush(
  repository: Repository,
  remote: Remote,
  { there: listed, scope, refused, news }: PushFacts,
  options: SyncOptions,
): Promise<PushPlan> {
  const here = await readSortedRefs(repository);
  await addNamedArchived(repository, here, scope);
  const there = sortRefs(listed);
  let all: Promise<RemoteRef[]> | undefined;
  const listAll = (): Promise<RemoteRef[]> => (all ??= remote.list(['refs/*'], options.signal));
  const holdBack = new HoldBack(repository, listAll, options);
  const sides: PushSides = { here, there, scope };
  const archive = await openArchiveThere(repository, remote, listed, options);
  const offers = await offerAll(repository, sides, archive.list);
  const withheld = news === undefined ? new Set<ThreadId>() : await withholdNew(news, offers, sides, archive.list);
  for (const thread of withheld) offers.delete(thread);
  const plan: PushPlan = { parts: [], held: [], rejected: [], withheld };
  const isTried = ({ edits }: Offer): boolean => !edits.some(({ name }) => refused.has(name));
  await holdBack.threads([...offers.values()].filter((offer) => offer.held === undefined && isTried(offer)));
  for (const [thread, offer] of offers) {
    if (!isTried(offer)) continue;
    const { edits, spare, change, needs, held, commits, secrets = [], alongside, isUnsound } = offer;
    const isMissing = needs.some((fork) => !there.threads.has(fork) && !isOffered(offers.get(fork)));
    const reason = held ?? (isMissing ? 'the remote has steps that only a fork keeps; push that too' : undefined);
    const along = { ...(commits && { commits }), ...(secrets.length > 0 && { secrets }) };
    const why = held === undefined ? {} : { ...(isUnsound && { isUnsound }), ...along };
    if (reason !== undefined) plan.held.push({ thread, reason, ...why });
    else if (edits.length > 0)
      plan.parts.push({ edits, spare, ...(change && { thread: change }), ...along, alongside });
  }
  if (scope !== undefined) return plan;
  const strays = new Refusals();
  for (const [name, why] of here.strays) strays.add(name, why);
  plan.rejected.push(...strays.list().map((refusal): Refusal => ({ ...refusal, isUnsound: true })));
  for (const [workflow, head] of here.workflows) {
    const name = workflowRef(workflow);
    const before = there.workflows.get(workflow);
    if (before === head || refused.has(name)) continue;
    if (before !== undefined && !(await isBefore(repository, before, head))) {
      const isBehind = (await repository.objects.has(before)) && (await isBefore(repository, head, before));
      if (!isBehind)
        plan.rejected.push({ ref: name, reason: 'the remote has versions that are not here; fetch first' });
      continue;
    }
    const kind = before === undefined ? 'new' : 'forward';
    const change: WorkflowChange = { workflow, change: kind, head, before: before ?? null };
    const refusal = await holdBack.workflow(name, change);
    if (refusal) plan.rejected.push(refusal);
    else plan.parts.push({ edits: [{ name, value: head, expected: before ?? null }], workflow: change });
  }
  return plan;
}

/** An archived thread that the user names is pushed as one with a history ref. */
async function addNamedArchived(repository: Repository, here: SortedRefs, scope: PushScope): Promise<void> {
  const archive = await openArchive(repository);
  for (const id of scope ?? []) {
    const line = here.threads.has(id) ? undefined : await archive.find(id);
    if (line) here.threads.set(id, [{ id: line.end, endedOn: line.endedOn }]);
  }
}

async function offerAll(
  repository: Repository,
  { here, there, scope }: PushSides,
  archive: ArchiveList,
): Promise<Map<ThreadId, Offer>> {
  const { relate, forkId } = createLineage(repository.objects);
  const lineage: OfferLineage = {
    relate: async (theirs, ours) => ((await repository.objects.has(theirs)) ? relate(theirs, ours) : undefined),
    forkId,
  };
  const offers = new Map<ThreadId, Offer>();
  for (const [thread, [tip]] of here.threads) {
    if (tip === undefined || (scope && !scope.has(thread))) continue;
    const tips = there.threads.get(thread) ?? (await archivedTips(archive, thread));
    const [theirs] = tips;
    if (tips.length === 1 && theirs?.id === tip.id && theirs.endedOn === tip.endedOn) continue;
    const isRedacted = here.removed.has(thread) ? 'redacted here' : undefined;
    const removed = there.removed.has(thread) ? 'removed at the remote' : isRedacted;
    const sides = { thread, here: tip, there: tips, removed } as const;
    offers.set(thread, await offerThread(sides, lineage).catch((error: unknown) => asHeld(thread, error)));
  }
  return offers;
}

/** Finds the threads that the remote has nothing of and that stay here. */
function withholdNew(
  news: NewThreads,
  offers: ReadonlyMap<ThreadId, Offer>,
  { here, there }: PushSides,
  archive: ArchiveList,
): Promise<Set<ThreadId>> {
  const heads = new Map<ThreadId, ObjectId>();
  for (const [thread, { change, held }] of offers) {
    if (change?.change !== 'new' || change.head === null || held !== undefined) continue;
    heads.set(thread, change.head);
  }
  return news.withhold(heads, presenceAt(there, here, archive));
}

/** The end of a thread in the remote's archive, for a thread of which the remote has no ref. */
async function archivedTips(archive: ArchiveList, thread: ThreadId): Promise<Tip[]> {
  const line = await archive.find(thread);
  return line === undefined ? [] : [tipOfArchived(line)];
}

function isOffered(offer: Offer | undefined): boolean {
  return offer !== undefined && offer.held === undefined && offer.edits.length > 0;
}

/** Holds a thread whose data cannot be read, so that the others are pushed. */
function asHeld(thread: ThreadId, error: unknown): Offer {
  assertDataError(error);
  return { thread, edits: [], needs: [], held: error.message };
}

/** Tells whether a registration is an ancestor of another. The ref at a remote can lead to anything, also to what is here and is none. */
async function isBefore({ objects }: Repository, one: ObjectId, other: ObjectId): Promise<boolean> {
  return (await objects.has(one)) && (await leadsTo(objects, other, one).catch(nothingForDataError)) === true;
}

/** The edits in order: a remote without atomic pushes has to create and move refs before it deletes any. */
function editsOf(parts: readonly PushPart[]): PushEdit[] {
  const edits = parts.flatMap((part) => part.edits);
  return [...edits.filter(({ value }) => value !== null), ...edits.filter(({ value }) => value === null)];
}

/** How often fetch and push are repeated because other clients push at the same time. */
const MAX_SYNC_ROUNDS = 8;
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
    if (!push.isContended || round === MAX_SYNC_ROUNDS) {
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
