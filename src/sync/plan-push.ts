import { UwfError } from '../errors.ts';
import type { ObjectId } from '../git/object-id.ts';
import type { CommitLine } from '../git/native/list-commits.ts';
import type { PushEdit, RemoteRef } from '../git/remote.ts';
import type { Repository } from '../git/repository.ts';
import { getThread } from '../thread/find-thread.ts';
import { NoRefOfItsOwn } from '../thread/thread-errors.ts';
import { foldEnded } from '../thread/fold-ended.ts';
import type { SecretPlace } from '../thread/secrets/secret-scan.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import { workflowRef } from '../workflow/workflow-refs.ts';
import { leadsTo } from './join-registrations.ts';
import type { HoldBack } from './hold-back.ts';
import { createLineage } from './lineage.ts';
import { offerThread, type Offer, type OfferLineage } from './offer-thread.ts';
import { offerRecords } from './offer-records.ts';
import type { Redactions } from './redactions.ts';
import { Refusals } from './refusals.ts';
import type { Held, Refusal, ThreadChange, WorkflowChange } from './report.ts';
import { readStanding, standingOf, type Standing } from './standing.ts';

/** What belongs to one thread or workflow: it is made as a whole. */
export type PushPart = {
  edits: PushEdit[];
  thread?: ThreadChange;
  workflow?: WorkflowChange;
  /** Commits of the user's code that go along. */
  commits?: CommitLine[];
  /** Places of secrets that go along. */
  secrets?: SecretPlace[];
};

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
 * @param holdBack keeps what must not leave
 */
export async function planPush(
  repository: Repository,
  there: readonly RemoteRef[],
  { scope, passedOver }: { scope: PushScope; passedOver: ReadonlySet<string> },
  redactions: Redactions,
  holdBack: Pick<HoldBack, 'threads' | 'workflow'>,
): Promise<PushPlan> {
  const here = await readStanding(repository);
  const remote = standingOf(there);
  const plan: PushPlan = { parts: [], held: [], rejected: [] };
  const offers = await offerAll(repository, here, remote, redactions, scope);
  for (const offer of await offerRecords(repository, here, remote, redactions, scope)) {
    const known = offers.get(offer.thread);
    if (known === undefined) offers.set(offer.thread, offer);
    else if (known.held === undefined) {
      if (offer.held !== undefined) known.held = offer.held;
      known.edits.push(...offer.edits);
    }
  }
  const isTried = ({ edits }: Offer): boolean => !edits.some(({ name }) => passedOver.has(name));
  await holdBack.threads([...offers.values()].filter((offer) => offer.held === undefined && isTried(offer)));
  for (const [thread, offer] of offers) {
    if (!isTried(offer)) continue;
    const { edits, change, needs, held, commits, secrets = [], isUnsound } = offer;
    const isMissing = needs.some((fork) => !remote.threads.has(fork) && !isOffered(offers.get(fork)));
    const reason = held ?? (isMissing ? 'the remote has steps that only a fork keeps; push that too' : undefined);
    const along = { ...(commits && { commits }), ...(secrets.length > 0 && { secrets }) };
    const why = held === undefined ? {} : { ...(isUnsound && { isUnsound }), ...along };
    if (reason !== undefined) plan.held.push({ thread, reason, ...why });
    else if (edits.length > 0) plan.parts.push({ edits, ...(change && { thread: change }), ...along });
  }
  if (scope !== undefined) return plan;
  const strays = new Refusals();
  for (const [name, why] of here.strays) strays.add(name, why);
  plan.rejected.push(...strays.list().map((refusal): Refusal => ({ ...refusal, isUnsound: true })));
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
    const kind = before === undefined ? 'new' : 'forward';
    const change: WorkflowChange = { workflow, change: kind, head, before: before ?? null };
    const refusal = await holdBack.workflow(name, change);
    if (refusal) plan.rejected.push(refusal);
    else plan.parts.push({ edits: [{ name, value: head, expected: before ?? null }], workflow: change });
  }
  return plan;
}

async function offerAll(
  repository: Repository,
  here: Standing,
  there: Standing,
  redactions: Redactions,
  scope: PushScope,
): Promise<Map<ThreadId, Offer>> {
  const { relate, forkId } = createLineage(repository.objects);
  const lineage: OfferLineage = {
    relate: redactions.relating(async (theirs, ours) =>
      (await repository.objects.has(theirs)) ? relate(theirs, ours) : undefined,
    ),
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
    const offer = await offerThread(sides, lineage).catch((error: unknown) => asHeld(thread, error));
    if (offer.change && redactions.isGone(offer.change.before)) offer.change.change = 'redacted';
    offers.set(thread, offer);
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
