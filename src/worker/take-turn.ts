import { messageOf, UwfError, type ErrorKind } from '../errors.ts';
import { BranchesElsewhere } from '../engine/engine-errors.ts';
import { isHeldBy } from '../engine/leases/find-lease.ts';
import { LeaseHeld } from '../engine/leases/lease.ts';
import { ownIdentity } from '../git/system/process-identity.ts';
import type { EngineEvent } from '../engine/events.ts';
import type { ObjectId } from '../git/format/object-id.ts';
import type { RemoteRef } from '../git/transport/remote.ts';
import { RemoteUnreachable } from '../git/transport/git-output.ts';
import { inPlaceOf } from '../or-else.ts';
import { claimRef } from '../sync/claims.ts';
import { stoppedAmong, stopWork } from '../sync/stop-work.ts';
import { fetchSelection } from '../sync/fetch-threads.ts';
import { placesNow, placesOfChildren, selectPatterns } from '../sync/plan-fetch.ts';
import { findCalledNow } from '../thread/find-children.ts';
import { findThread } from '../thread/find-thread.ts';
import { readState } from '../thread/thread-state.ts';
import { activeRef, type ThreadId } from '../thread/thread-id.ts';
import { ClaimLost } from './claims.ts';
import { Publisher, StepHeldBack, type TurnWorld } from './publisher.ts';
import type { TurnJob, TurnLock, TurnVerdict } from './turn-queue.ts';

/** A turn that has left nothing so many times is not begun again: it may end each worker that takes it, and each pays for it. */
const MAX_LOSSES = 3;

/** Where so many left nothing, the last ones were to suspend the thread: even that ends each worker that tries. */
const MAX_STOPPED_LOSSES = 5;

/**
 * Takes turns of a thread and publishes each: one turn, or as many as this worker can take while a fence keeps its right.
 *
 * Every step is stored here first. What could not be published, because the process was killed or the remote is away, is
 * published when the worker meets the thread again; if the thread has moved meanwhile, it stays here as a fork. What fails is
 * told, and the job is to be tried again.
 */
export async function takeTurns(world: TurnWorld, job: TurnJob, lock: TurnLock): Promise<TurnVerdict> {
  const { repository, finder } = world;
  const { thread } = job;
  const publisher = new Publisher(world, thread, lock);
  try {
    if (lock.losses.length >= MAX_STOPPED_LOSSES) return await stopThread(world, job, lock.losses.length);
    const there = await meet(world, thread, job.head, lock.fence === undefined);
    let head = (await findThread(repository, thread))?.head;
    if (there === undefined && head === undefined && lock.fence === undefined) tellOfStranger(world, thread);
    if (there !== job.head || head === undefined) return 'stale';
    // An earlier process was ended before it could publish what it had stored.
    if (head !== there) {
      publisher.add(await childrenOf(world, thread, there));
      await publisher.publish(false);
    }
    let isNext = await finder.isWantedAt(thread, head);
    if (!isNext) {
      await publisher.publish(true);
      const hasEnded = (await findThread(repository, thread))?.isHistory === true;
      return !hasEnded && (await finder.canGoOn(thread, head)) ? 'again' : 'stale';
    }
    let isLostCause = lock.losses.length >= MAX_LOSSES;
    while (isNext && head !== undefined) {
      const waits = await (isLostCause ? giveUp(world, job, lock) : takeTurn(world, job, publisher, lock));
      isLostCause = false;
      // An earlier process may have called some of them, and ended before it could publish them.
      publisher.add(await childrenOf(world, thread, head));
      head = (await findThread(repository, thread))?.head;
      const goesOn = !waits && lock.fence !== undefined && world.goesOn();
      isNext = goesOn && head !== undefined && (await finder.isWantedAt(thread, head));
      await publisher.publish(!isNext);
    }
    await world.onPublished(publisher.threads);
    return 'done';
  } catch (error) {
    await tellWhy(world, job, lock, error);
    return 'again';
  } finally {
    await publisher.settled();
  }
}

/** The workers that were told of {@link tellOfStranger}. */
const told = new WeakSet<TurnWorld>();

/** Tells, once, of a job whose thread is neither here nor at the remote: the queue may have the jobs of another remote, too. */
function tellOfStranger(world: TurnWorld, thread: ThreadId): void {
  if (told.has(world)) return;
  told.add(world);
  const what = `the queue has a job of thread ${thread}, which is not at ${world.remote.name}`;
  world.onTrouble(`${what}: give each remote that uses this server a database or a '?prefix=' of its own`);
}

/** @returns whether the thread waits for branches that other machines run */
async function takeTurn(world: TurnWorld, { thread }: TurnJob, publisher: Publisher, lock: TurnLock): Promise<boolean> {
  const before = (await findThread(world.repository, thread))?.head;
  let hasBegun = false;
  const onEvent = (event: EngineEvent): void => {
    hasBegun ||= event.event === 'step.started' && event.thread === thread;
    publisher.tell(event);
    world.onEvent(event);
  };
  const catchUp = (threads: readonly ThreadId[]): Promise<void> => meetFamily(world, threads);
  const engine = await world.openEngine({ signal: lock.signal, onEvent, catchUp });
  try {
    const { status } = await engine.describe(thread);
    if (status === 'suspended') await engine.resume(thread);
    else await engine.step(thread);
    return false;
  } catch (error) {
    if (error instanceof BranchesElsewhere) return true;
    const isLost = hasBegun && !lock.signal.aborted && isOfTurn(error);
    if (isLost && (await findThread(world.repository, thread))?.head === before)
      lock.lose(`${world.identity.worker} on ${world.identity.host}: ${messageOf(error)}`);
    throw error;
  }
}

/** What ends a turn and says nothing about it: other workers, what this machine lacks, a person who stops it. */
const beside: ReadonlySet<ErrorKind> = new Set(['conflict', 'agent', 'interrupted']);

function isOfTurn(error: unknown): boolean {
  return !(error instanceof RemoteUnreachable) && !(error instanceof UwfError && beside.has(error.kind));
}

/** Suspends the thread in place of a turn that has left nothing several times. @returns as {@link takeTurn} */
async function giveUp({ context, onTrouble }: TurnWorld, { thread }: TurnJob, lock: TurnLock): Promise<boolean> {
  const { giveUpTurn } = await import('../engine/verbs/give-up.ts');
  const reason = await giveUpTurn(context, thread, lock.losses);
  if (reason !== undefined) onTrouble(`thread ${thread} is suspended: ${reason}`);
  return false;
}

/** Stops the work on a thread for all workers, until a person lets it go on. */
async function stopThread(
  { repository, remote, sync, identity, onTrouble }: TurnWorld,
  { thread, head }: TurnJob,
  losses: number,
): Promise<TurnVerdict> {
  const reason = `${losses} turns of it left nothing, and it could not be suspended`;
  await stopWork(repository, remote, [{ thread, head }], sync, { name: identity.worker, reason });
  onTrouble(`thread ${thread} is stopped: ${reason}; 'uwf thread run ${thread} --on ${remote.name}' lets it go on`);
  return 'stale';
}

async function childrenOf({ repository }: TurnWorld, thread: ThreadId, head: ObjectId): Promise<ThreadId[]> {
  const called = await findCalledNow(repository, await readState(repository, thread, head), thread);
  return called.map(({ pointer }) => pointer.id);
}

/**
 * Fetches the thread, and the children of its turn that another worker may have begun, so that nothing that was published is
 * done again. What is further here than at the remote is not published yet.
 * @param hasNoClaim whether the worker has no claim on the thread, in whose place a person puts one that stops the work
 * @returns the thread's head at the remote; `undefined` if it is not active there, or was stopped
 */
async function meet(
  { repository, remote, sync }: TurnWorld,
  thread: ThreadId,
  head: ObjectId,
  hasNoClaim: boolean,
): Promise<ObjectId | undefined> {
  let isStopped = false;
  const fetch = async (names: readonly string[]): Promise<RemoteRef | undefined> => {
    const { there } = await fetchSelection(repository, remote, selectPatterns(names), sync);
    if (hasNoClaim) isStopped ||= (await stoppedAmong(repository, there)).has(thread);
    return there.find(({ name }) => name === activeRef(thread));
  };
  const isHere = await repository.objects.has(head);
  const children = isHere ? await placesOfChildren(repository, thread, head) : [];
  // One that has ended there keeps its active ref if its ending was interrupted; the push of this job finishes it.
  const claim = hasNoClaim ? [claimRef(thread)] : [];
  const found = await fetch([...placesNow(thread, repository.now()), ...claim, ...children]);
  if (isStopped) return undefined;
  if (!isHere && found?.id === head) await fetch(await placesOfChildren(repository, thread, head));
  return found?.id;
}

/** Fetches a thread, those that it called, and their children: those that others have claimed are not looked at otherwise. */
async function meetFamily({ repository, remote, sync }: TurnWorld, threads: readonly ThreadId[]): Promise<void> {
  const names = new Set<string>();
  for (const [at, thread] of threads.entries()) {
    const pointer = await findThread(repository, thread);
    if (pointer === undefined) continue;
    if (at === 0) for (const name of placesNow(thread, repository.now())) names.add(name);
    for (const name of await placesOfChildren(repository, thread, pointer.head)) names.add(name);
  }
  await fetchSelection(repository, remote, selectPatterns([...names]), sync);
}

/** Tells what ended the turns of a job, where that is trouble. */
async function tellWhy(world: TurnWorld, job: TurnJob, { signal }: TurnLock, error: unknown): Promise<void> {
  const { thread } = job;
  const lost = [error, signal.reason].find((reason) => reason instanceof ClaimLost);
  if (lost !== undefined) {
    const reason = await whyLost(world, thread);
    return world.onTrouble(reason === undefined ? messageOf(lost) : `${reason}; this turn is not published`);
  }
  if (signal.aborted) return world.onTrouble(`${thread}: ${messageOf(signal.reason)}`);
  // A queue that has forgotten who has the turn gives it to this worker once more.
  if (error instanceof LeaseHeld && isHeldBy(error, ownIdentity())) return;
  world.onTrouble(error, thread);
  if (error instanceof UwfError && (error.kind === 'agent' || error instanceof StepHeldBack))
    world.onUnable(job, error);
}

/** Says why a worker has lost a thread, where it is not to another worker; `undefined` too if the remote is away. */
async function whyLost({ repository, remote, sync }: TurnWorld, thread: ThreadId): Promise<string | undefined> {
  const names = [...placesNow(thread, repository.now()), claimRef(thread)];
  const found = await fetchSelection(repository, remote, selectPatterns(names), sync).catch(
    inPlaceOf(RemoteUnreachable, undefined),
  );
  if (found === undefined) return undefined;
  if ((await findThread(repository, thread))?.isHistory === true)
    return `thread ${thread} is over: what called it does without it, or a person cancelled it`;
  const isStopped = (await stoppedAmong(repository, found.there)).has(thread);
  return isStopped ? `thread ${thread} was stopped at ${remote.name}` : undefined;
}
