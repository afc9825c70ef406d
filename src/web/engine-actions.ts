import { startCommitOf } from '../engine/describe/find-turn.ts';
import type { Engine } from '../engine/engine.ts';
import { findLease } from '../engine/leases/find-lease.ts';
import { LeaseHeld, takeLease } from '../engine/leases/lease.ts';
import { UwfError } from '../errors.ts';
import type { ObjectId } from '../git/format/object-id.ts';
import type { Repository } from '../git/repository.ts';
import { getThread } from '../thread/find-thread.ts';
import { forkThread } from '../thread/thread-verbs.ts';
import { findStepByNumber } from '../thread/thread-chain.ts';
import { ThreadMoved } from '../thread/thread-errors.ts';
import type { ThreadId, ThreadPointer } from '../thread/thread-id.ts';
import { resolveWorkflow } from '../workflow/load/resolve-workflow.ts';
import type { SeenThread, WebActions } from './site.ts';

export type EngineActionsOptions = {
  /** Is told of a run that fails after its visitor was answered, such as one whose agent cannot be started. */
  onFailure?: ((thread: ThreadId, error: unknown) => void) | undefined;
};

/**
 * What visitors of a page may do, by an engine: for a server that runs threads in its own process. A run goes on by itself
 * when its visitor has been answered, and ends with the process.
 * A run of this process is not stopped or cancelled by itself: abort the engine's signal.
 *
 * Trust is not asked for: give the engine an `admit` that refuses what may not run.
 */
export function engineActions(
  repository: Repository,
  engine: Engine,
  { onFailure = () => {} }: EngineActionsOptions = {},
): WebActions {
  /** Starts a run under a lease that this process holds: of two visitors who saw the same head, one is refused. */
  const runApart = async (
    thread: ThreadId,
    seen: ObjectId,
    run: (adoptLease: string) => Promise<unknown>,
    others?: readonly SeenThread[],
  ): Promise<void> => {
    const lease = await takeLease(repository, thread);
    try {
      await assertSeen(repository, { id: thread, head: seen }, others);
      lease.handOver(process.pid);
    } catch (error) {
      lease.release();
      throw error;
    }
    void run(lease.token)
      .catch((error: unknown) => onFailure(thread, error))
      // A run that is refused before it begins has not adopted it.
      .finally(() => lease.release());
  };
  return {
    async resume(thread, given, seen, others) {
      await engine.checkResume(thread, given);
      await runApart(thread, seen, (adoptLease) => engine.resume(thread, { ...given, adoptLease }), others);
    },
    async poke(thread, word, seen) {
      await engine.checkRun(thread);
      await runApart(thread, seen, (adoptLease) => engine.poke(thread, word, { adoptLease }));
    },
    fork: (thread, step) => forkBehind(repository, thread, step),
    ask: (thread, question, step) => engine.ask(thread, question, { step }),
    cancel: async (thread, reason) => void (await engine.cancel(thread, { reason })),
    stop: async (thread) => void (await engine.stop(thread)),
    async start(workflow, prompt) {
      const { location } = repository;
      // Names mean what the page lists: the files of the work tree's top.
      const cwd = location?.workTree ?? location?.gitDir ?? '/';
      const { definition } = await resolveWorkflow(repository, workflow, { cwd });
      const { thread, head } = await engine.start({ definition, prompt, requireAgents: true });
      await runApart(thread, head, (adoptLease) => engine.run(thread, { adoptLease }));
      return thread;
    },
  };
}

/** Makes a fork of a thread; see `WebActions.fork`. */
export async function forkBehind(
  repository: Repository,
  thread: ThreadId,
  step: number | undefined,
): Promise<ThreadId> {
  const pointer = await getThread(repository, thread);
  const at = step === undefined ? undefined : await placeOf(repository, pointer, step);
  if (step !== undefined && at === undefined) {
    throw new UwfError(`thread ${thread} has no step ${step}`, { code: 'no-such-step', kind: 'usage' });
  }
  const fork = await forkThread(repository, pointer, at);
  return fork.thread;
}

/** The commit of a step; of the start for 0. */
async function placeOf(repository: Repository, pointer: ThreadPointer, step: number): Promise<ObjectId | undefined> {
  if (step === 0) return (await startCommitOf(repository, pointer)).id;
  return (await findStepByNumber(repository, pointer.head, step))?.id;
}

/**
 * Refuses what a person asks for when a thread is not as they saw it. To be called under the lease of that thread: of two
 * persons one is refused then.
 * @param others threads on which no process may be at work: each of two persons who answer one question at a child and at its
 * caller holds one lease, and looks for that of the other
 */
export async function assertSeen(
  repository: Repository,
  thread: SeenThread,
  others: readonly SeenThread[] = [],
): Promise<void> {
  for (const { id, head: seen } of [thread, ...others]) {
    const { head } = await getThread(repository, id);
    if (head !== seen) throw new ThreadMoved(id, undefined, head);
  }
  for (const { id } of others) {
    const lease = findLease(repository, id);
    if (lease !== undefined) throw new LeaseHeld(id, lease);
  }
}
