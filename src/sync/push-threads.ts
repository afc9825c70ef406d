import type { EngineContext } from '../engine/context.ts';
import type { Commit } from '../git/commit.ts';
import type { ObjectId } from '../git/object-id.ts';
import type { PushEdit, PushResult, Remote, RemoteRef } from '../git/remote.ts';
import type { CommitLine } from '../git/native/list-commits.ts';
import { readCommit } from '../git/read.ts';
import type { Repository } from '../git/repository.ts';
import { REDACTED_PREFIX } from '../thread/redaction-record.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import { HoldBack } from './hold-back.ts';
import { editsOf, planPush, scopeOf, type PushPart, type PushScope } from './plan-push.ts';
import { Redactions } from './redactions.ts';
import { Refusals } from './refusals.ts';
import { RemoteRefs } from './remote-refs.ts';
import type { PushReport } from './report.ts';
import { SHARED_PATTERNS } from './shared-ref.ts';
import { standingOf } from './standing.ts';
import type { SyncOptions } from './sync-options.ts';
import { readTracked, refsOf, remember } from './tracking.ts';

/** Pushes that may be tried again because others push at the same time. */
const MAX_ROUNDS = 5;

const MOVED = 'others push it at the same time; fetch first';

/** What came of one push; `isContended`: some of it was not done because the remote has moved. */
export type Pushed = {
  report: PushReport;
  isContended: boolean;
  /** Names of refs that the remote does not allow to be changed. */
  refused: Set<string>;
  /** What the remote has now, as far as is known. */
  there: readonly RemoteRef[];
};

/**
 * Brings this repository's threads and workflows to a remote, forward only: what the remote has and this repository has
 * not is held until a fetch has seen to it.
 *
 * A thread that ended gets its history ref and loses its active one in the same push. Nothing is rewritten, and what
 * others push at the same time is not lost.
 * @throws {RemoteUnreachable} if it cannot be told what became of the push; pushing again shows it
 * @throws {ThreadNotFound} {AmbiguousThread} if a thread is named that cannot be told
 */
export async function pushThreads(
  context: Pick<EngineContext, 'repository'>,
  remote: Remote,
  options: SyncOptions = {},
): Promise<PushReport> {
  const { repository } = context;
  // It may come to change no ref, and what a killed one left would go on keeping git waiting.
  await repository.refs.removeStaleLocks();
  const scope = await scopeOf(repository, options.threads);
  let there: readonly RemoteRef[] = remote.isConfigured
    ? refsOf(await readTracked(repository, remote))
    : await remote.list(SHARED_PATTERNS, options.signal);
  const report = emptyReport(remote);
  const refused = new Set<string>();
  for (let round = 1; ; round += 1) {
    const pushed = await pushOnce(context, remote, { there, scope, refused }, options);
    mergeReports(report, pushed.report, refused);
    if (!pushed.isContended || round === MAX_ROUNDS) return report;
    // What was seen before is out of date: those that only moved forward along what is here can still be pushed.
    there = await remote.list(SHARED_PATTERNS, options.signal);
  }
}

/** What one push is told. */
export type PushFacts = {
  there: readonly RemoteRef[];
  scope: PushScope;
  /** Names of refs that are not to be tried again. */
  refused: Set<string>;
};

/** Plans and makes one push. */
export async function pushOnce(
  { repository }: Pick<EngineContext, 'repository'>,
  remote: Remote,
  { there, scope, refused }: PushFacts,
  options: SyncOptions,
): Promise<Pushed> {
  const { dryRun, signal, onProgress } = options;
  const report = emptyReport(remote);
  const { redacted } = standingOf(await repository.refs.list(REDACTED_PREFIX));
  const redactions = await Redactions.read(repository.objects, redacted);
  const holdBack = new HoldBack(repository, new RemoteRefs(remote, signal), redactions, options);
  const { parts, held, rejected } = await planPush(
    repository,
    there,
    { scope, passedOver: refused },
    redactions,
    holdBack,
  );
  report.held = held;
  report.rejected = rejected;
  const edits = editsOf(parts);
  if (edits.length === 0) return { report, isContended: false, refused, there };
  const pushing = dryRun
    ? edits.map(({ name }): PushResult => ({ name, outcome: 'done' }))
    : remote.push({ edits, isForward: true, ...(signal && { signal }), ...(onProgress && { onProgress }) });
  // Looked up while the remote is talked to. If it fails that is told when it is known what became of the push.
  const goingAlong = scope && findAllAlongside(repository, parts, scope, there);
  goingAlong?.catch(() => {});
  const results = await pushing;
  const outcomes = new Map(results.map((result) => [result.name as string, result]));
  const done = parts.filter((part) => part.edits.every(({ name }) => isDone(outcomes.get(name))));
  for (const part of parts) {
    const { edits: own, thread, workflow } = part;
    // The remote had it already.
    if (own.every(({ name }) => outcomes.get(name)?.outcome === 'unchanged')) continue;
    const isRefused = own.some(({ name }) => outcomes.get(name)?.outcome === 'refused');
    if (!done.includes(part)) {
      if (thread && !isRefused) report.held.push({ thread: thread.thread, reason: whyHeld(own, outcomes) });
      continue;
    }
    if (thread) report.threads.push(thread);
    if (workflow) report.workflows.push(workflow);
  }
  report.commits = eachOnce(done.flatMap(({ commits = [] }) => commits));
  report.secrets = done.flatMap(({ secrets = [] }) => secrets);
  const made = edits.filter(({ name }) => isDone(outcomes.get(name)));
  if (!dryRun) await remember(repository, remote, made);
  const alongside = await goingAlong;
  if (alongside) report.alongside = [...new Set(done.flatMap((part) => alongside.get(part) ?? []))].toSorted();
  const refusals = new Refusals();
  for (const result of results) {
    if (result.outcome !== 'refused') continue;
    refusals.add(result.name, result.reason);
    refused.add(result.name);
  }
  report.rejected.push(...refusals.list().map((refusal) => ({ ...refusal, isRefusedThere: true as const })));
  const isContended = results.some(({ outcome }) => outcome === 'moved' || outcome === 'undone');
  return { report, isContended, refused, there: afterwards(there, made) };
}

/** What kept a thread from being pushed now; the words of git or the remote tell what it was, if it was something else. */
function whyHeld(edits: readonly PushEdit[], outcomes: ReadonlyMap<string, PushResult>): string {
  const results = edits.map(({ name }) => outcomes.get(name));
  const cause = results.find((result) => result?.outcome === 'moved');
  return cause?.outcome === 'moved' ? `${MOVED} (${cause.reason})` : MOVED;
}

export function emptyReport({ name, url }: Pick<Remote, 'name' | 'url'>): PushReport {
  return {
    remote: name,
    url,
    threads: [],
    workflows: [],
    rejected: [],
    held: [],
    alongside: [],
    commits: [],
    secrets: [],
  };
}

/** Adds what a later push did to what earlier ones did; what was held counts as it was last. */
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

function isDone(result: PushResult | undefined): boolean {
  return result?.outcome === 'done' || result?.outcome === 'unchanged';
}

function afterwards(there: readonly RemoteRef[], made: readonly PushEdit[]): RemoteRef[] {
  const refs = new Map<string, ObjectId>(there.map(({ name, id }) => [name, id]));
  for (const { name, value } of made) {
    if (value === null) refs.delete(name);
    else refs.set(name, value);
  }
  return refsOf(refs);
}

/** The threads that go along with each part and were not named, as far as the remote has not got them. */
async function findAllAlongside(
  repository: Repository,
  parts: readonly PushPart[],
  scope: ReadonlySet<ThreadId>,
  there: readonly RemoteRef[],
): Promise<Map<PushPart, ThreadId[]>> {
  const { threads } = standingOf(there);
  const found = new Map<PushPart, ThreadId[]>();
  for (const part of parts) {
    if (!part.thread?.head) continue;
    const { head, before } = part.thread;
    if (before !== null && (await isStraight(repository, before, head))) continue;
    const { findAlongside } = await import('./find-alongside.ts');
    const ids = await findAlongside(repository, head, before);
    found.set(
      part,
      [...ids].filter((id) => !scope.has(id) && !threads.has(id)),
    );
  }
  return found;
}

/** Whether what a thread went forward by is commits on top of each other alone: nothing else can go along with those. */
async function isStraight({ objects }: Repository, before: ObjectId, head: ObjectId): Promise<boolean> {
  let at: ObjectId | undefined = head;
  while (at !== undefined && at !== before) {
    const { parents }: Commit = await readCommit(objects, at);
    at = parents.length === 1 ? parents[0] : undefined;
  }
  return at === before;
}
