import type { ObjectId } from '../../git/format/object-id.ts';
import type { CommitLine } from '../../git/process/list-commits.ts';
import type { PushEdit, PushResult, Remote, RemoteRef } from '../../git/transport/remote.ts';
import type { RefName } from '../../git/ref-store.ts';
import type { Repository } from '../../git/repository.ts';
import { type ArchiveList, openArchive } from '../../thread/archive/archive-list.ts';
import { getThread } from '../../thread/find-thread.ts';
import { assertDataError, NoRefOfItsOwn, nothingForDataError } from '../../thread/thread-errors.ts';
import { foldEnded } from '../../thread/end-thread.ts';
import type { SecretPlace } from '../../thread/secret-scan.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { workflowRef } from '../../workflow/registry/workflow-refs.ts';
import { openArchiveThere, tipOfArchived } from '../archive/archive-there.ts';
import { leadsTo } from '../reconcile/join-registrations.ts';
import { HoldBack } from './hold-back.ts';
import { createLineage } from '../reconcile/reconcile-thread.ts';
import { presenceAt, type NewThreads } from './new-threads.ts';
import { offerThread, type Offer, type OfferLineage } from './offer-thread.ts';
import { Refusals } from '../refusals.ts';
import type { Held, Refusal, ThreadChange, WorkflowChange } from '../report.ts';
import { readSortedRefs, type SortedRefs, sortRefs, type Tip } from '../refs/sorted-refs.ts';
import type { SyncOptions } from '../sync-options.ts';

/** The edits of one thread or workflow. They count as done only if all of them are. */
export type PushPart = {
  edits: PushEdit[];
  /** A ref to delete that may stay, where the remote allows no deletion. */
  spare?: RefName | undefined;
  thread?: ThreadChange;
  workflow?: WorkflowChange;
  /** Commits of the user's code that the push publishes. */
  commits?: CommitLine[];
  /** Places of secrets that the push publishes. */
  secrets?: SecretPlace[];
  /** The threads whose starts it sends. */
  alongside?: ThreadId[] | undefined;
};

/** What a push changes at the remote. */
export type PushPlan = {
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

/** What one push starts from. */
export type PushFacts = {
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

/**
 * Finds the threads that the user named.
 * @throws {ThreadNotFound} {UwfError} `ambiguous-thread` as `getThread`
 */
export async function pushScope(repository: Repository, threads: readonly string[] | undefined): Promise<PushScope> {
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
export async function planThreadPush(
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
export function editsOf(parts: readonly PushPart[]): PushEdit[] {
  const edits = parts.flatMap((part) => part.edits);
  return [...edits.filter(({ value }) => value !== null), ...edits.filter(({ value }) => value === null)];
}
