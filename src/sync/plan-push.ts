import { UwfError } from '../errors.ts';
import type { ObjectId } from '../git/object-id.ts';
import type { CommitLine } from '../git/native/list-commits.ts';
import type { PushEdit, RemoteRef } from '../git/remote.ts';
import type { Repository } from '../git/repository.ts';
import { getThread } from '../thread/find-thread.ts';
import { NoRefOfItsOwn } from '../thread/thread-errors.ts';
import { foldEnded } from '../thread/fold-ended.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import { workflowRef } from '../workflow/workflow-refs.ts';
import { leadsTo } from './join-registrations.ts';
import { createLineage } from './lineage.ts';
import { offerThread, type Offer, type OfferLineage } from './offer-thread.ts';
import type { Held, Refusal, ThreadChange, WorkflowChange } from './report.ts';
import { readStanding, standingOf, type Standing } from './standing.ts';
import type { UnpublishedCode } from './unpublished-code.ts';

/** What belongs to one thread or workflow: it is made as a whole. */
export type PushPart = {
  edits: PushEdit[];
  thread?: ThreadChange;
  workflow?: WorkflowChange;
  /** Commits of the user's code that go along. */
  commits?: CommitLine[];
};

const UNPUBLISHED = 'its steps follow commits of your code that the remote does not have';

/** What a push changes there. */
export type PushPlan = { parts: PushPart[]; held: Held[]; rejected: Refusal[] };

/** Which threads are pushed; `undefined`: all, and the workflows. */
export type PushScope = ReadonlySet<ThreadId> | undefined;

/**
 * Finds the threads that were named.
 * @throws {ThreadNotFound} {AmbiguousThread} as `getThread`
 */
export async function scopeOf(repository: Repository, threads: readonly string[] | undefined): Promise<PushScope> {
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
 * Compares what is here with what the remote has, as far as is known. Costs what is new, whatever the length of threads.
 *
 * @param there the remote's refs; what they lead to need not be here
 * @param code tells which commits of the user's code a thread would publish
 * @param withCommits whether it may
 */
export async function planPush(
  repository: Repository,
  there: readonly RemoteRef[],
  scope: PushScope,
  passedOver: ReadonlySet<string>,
  code: Pick<UnpublishedCode, 'of'>,
  withCommits: boolean,
): Promise<PushPlan> {
  const here = await readStanding(repository);
  const remote = standingOf(there);
  const plan: PushPlan = { parts: [], held: [], rejected: [] };
  const offers = await offerAll(repository, here, remote, scope);
  for (const offer of offers.values()) await addCode(offer, passedOver, code, withCommits);
  for (const [thread, { edits, change, needs, held, commits }] of offers) {
    if (edits.some(({ name }) => passedOver.has(name))) continue;
    const isMissing = needs.some((fork) => !remote.threads.has(fork) && !isOffered(offers.get(fork)));
    const reason = held ?? (isMissing ? 'the remote has steps that only a fork keeps; push that too' : undefined);
    const along = commits && { commits };
    if (reason !== undefined) plan.held.push({ thread, reason, ...(reason === UNPUBLISHED && along) });
    else if (edits.length > 0) plan.parts.push({ edits, ...(change && { thread: change }), ...along });
  }
  if (scope !== undefined) return plan;
  for (const [workflow, head] of here.workflows) {
    if (passedOver.has(workflowRef(workflow))) continue;
    const before = remote.workflows.get(workflow);
    if (before === head) continue;
    const name = workflowRef(workflow);
    if (before !== undefined && !(await isBefore(repository, before, head))) {
      const isBehind = (await repository.objects.has(before)) && (await isBefore(repository, head, before));
      if (!isBehind)
        plan.rejected.push({ ref: name, reason: 'the remote has versions that are not here; fetch first' });
      continue;
    }
    const change = before === undefined ? 'new' : 'forward';
    plan.parts.push({
      edits: [{ name, value: head, expected: before ?? null }],
      workflow: { workflow, change, head, before: before ?? null },
    });
  }
  return plan;
}

/** Finds what a thread would publish of the user's code, and holds it where it may not. */
async function addCode(
  offer: Offer,
  passedOver: ReadonlySet<string>,
  code: Pick<UnpublishedCode, 'of'>,
  withCommits: boolean,
): Promise<void> {
  const { edits, change, held } = offer;
  if (change === undefined || held !== undefined || edits.some(({ name }) => passedOver.has(name))) return;
  const commits = await code.of(change);
  if (commits.length === 0) return;
  offer.commits = commits;
  if (!withCommits) offer.held = UNPUBLISHED;
}

async function offerAll(
  repository: Repository,
  here: Standing,
  there: Standing,
  scope: PushScope,
): Promise<Map<ThreadId, Offer>> {
  const { relate, forkId } = createLineage(repository.objects);
  const lineage: OfferLineage = {
    relate: async (theirs, ours) => ((await repository.objects.has(theirs)) ? relate(theirs, ours) : undefined),
    forkId,
  };
  const offers = new Map<ThreadId, Offer>();
  for (const [thread, [tip]] of here.threads) {
    if (tip === undefined || (scope && !scope.has(thread))) continue;
    const tips = there.threads.get(thread) ?? [];
    const [theirs] = tips;
    if (tips.length === 1 && theirs?.id === tip.id && theirs.endedOn === tip.endedOn) continue;
    const isNamed = scope !== undefined;
    const sides = { thread, here: tip, there: tips, mark: there.removed.get(thread), isNamed };
    offers.set(thread, await offerThread(sides, lineage).catch((error: unknown) => asHeld(thread, error)));
  }
  return offers;
}

function isOffered(offer: Offer | undefined): boolean {
  return offer !== undefined && offer.held === undefined && offer.edits.length > 0;
}

/** One thread that cannot be read, because of what it is made of, does not keep the others from being pushed. */
function asHeld(thread: ThreadId, error: unknown): Offer {
  if (!(error instanceof UwfError) || error.kind !== 'data') throw error;
  return { thread, edits: [], needs: [], held: error.message };
}

async function isBefore({ objects }: Repository, one: ObjectId, other: ObjectId): Promise<boolean> {
  return (await objects.has(one)) && leadsTo(objects, other, one);
}

/** Creations and moves come before deletions, for a remote that cannot make all of them at once. */
export function editsOf(parts: readonly PushPart[]): PushEdit[] {
  const edits = parts.flatMap((part) => part.edits);
  return [...edits.filter(({ value }) => value !== null), ...edits.filter(({ value }) => value === null)];
}
