import type { EngineContext, EngineOptions } from '../engine/engine-context.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Engine } from '../engine/engine.ts';
import type { EngineEvent } from '../engine/events.ts';
import { UwfError } from '../errors.ts';
import type { Repository } from '../git/repository.ts';
import { RemoteUnreachable } from '../git/transport/git-output.ts';
import type { Remote } from '../git/transport/remote.ts';
import { fetchSelection } from '../sync/fetch-threads.ts';
import { placesNow, selectPatterns } from '../sync/plan-fetch.ts';
import { type PushFence, pushOnce } from '../sync/push-threads.ts';
import type { SyncOptions } from '../sync/report.ts';
import { readTracked, refsOf, sortRefs } from '../sync/shared-refs.ts';
import { findThread } from '../thread/find-thread.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import { ClaimLost, type WorkerIdentity } from './claims.ts';
import type { JobFinder } from './find-jobs.ts';
import type { TellTrouble, TurnJob, TurnLock } from './turn-queue.ts';

/** A remote that is away is tried again after this time, which doubles each time, in ms. */
const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 15_000;

type PublisherWorld = Pick<TurnWorld, 'repository' | 'remote' | 'sync' | 'onTrouble' | 'openEngine'>;

/** So often a push is tried again at once where another ref than expected was at the remote, or one that it could not lock. */
const MAX_CONTENDED = 8;

/** Another ref than expected was at the remote. */
class Contended extends Error {}

/** A finished turn must not leave this machine. */
export class StepHeldBack extends UwfError {
  constructor(thread: ThreadId, reason: string) {
    super(`a step of thread ${thread} is not published: ${reason}`, {
      code: 'step-held-back',
      kind: 'data',
      hint: `it is stored here; 'uwf push <remote> ${thread}' says more`,
      facts: { thread, reason },
    });
  }
}

/** A person removed the thread from the remote while its turn was at work. */
function removedThere(thread: ThreadId, { name }: Remote): UwfError {
  return new UwfError(`thread ${thread} was removed at ${name}`, {
    code: 'removed-there',
    kind: 'conflict',
    hint: `what was done is stored here; 'uwf push ${name} ${thread}' publishes it nevertheless`,
    facts: { thread, remote: name },
  });
}

/**
 * Publishes a thread and the children that its turns call, each step as it is stored. A push carries the fence of the job, and
 * its edits name what they expect at the remote, so nothing is published once another worker has taken over.
 */
export class Publisher {
  readonly #world: PublisherWorld;
  readonly #thread: ThreadId;
  readonly #lock: TurnLock;
  readonly #touched: Set<ThreadId>;
  #beside: Promise<void> | undefined;
  #isDue = false;

  constructor(world: PublisherWorld, thread: ThreadId, lock: TurnLock) {
    this.#world = world;
    this.#thread = thread;
    this.#lock = lock;
    this.#touched = new Set([thread]);
  }

  /** Is told what happens in the turn. Steps of children are published while the turn goes on. */
  tell(event: EngineEvent): void {
    this.#touched.add(event.thread);
    if (event.thread === this.#thread || (event.event !== 'step.finished' && event.event !== 'thread.ended')) return;
    this.#isDue = true;
    // An error is ignored: publishing the turn fails for the same reason.
    this.#beside ??= this.#publishBeside().catch(() => {});
  }

  /** Has the next push publish children that it may not have been told of. */
  add(children: readonly ThreadId[]): void {
    for (const child of children) this.#touched.add(child);
  }

  async #publishBeside(): Promise<void> {
    try {
      while (this.#isDue) {
        this.#isDue = false;
        await this.#push(false, false);
      }
    } finally {
      // After a failure the next step is tried, too.
      this.#beside = undefined;
    }
  }

  /** The thread and its children, as far as this turn was told of them. */
  get threads(): ThreadId[] {
    return [...this.#touched];
  }

  async settled(): Promise<void> {
    await this.#beside;
  }

  /**
   * Publishes what is stored here. Waits for a remote that is away.
   * @param isLast whether the worker gives the thread back with it
   * @throws {ClaimLost} if another worker has taken over
   * @throws {StepHeldBack} if it must not leave this machine
   */
  async publish(isLast: boolean): Promise<void> {
    await this.#beside;
    let contended = 0;
    let wait = FIRST_RETRY_MS;
    for (;;) {
      try {
        if (contended > 0) await this.#catchUp();
        await this.#push(isLast, contended === MAX_CONTENDED);
        return;
      } catch (error) {
        if (error instanceof Contended) {
          contended += 1;
          continue;
        }
        if (!(error instanceof RemoteUnreachable)) throw error;
        this.#world.onTrouble(error);
        await sleep(wait, undefined, { signal: this.#lock.signal });
        wait = Math.min(2 * wait, MAX_RETRY_MS);
      }
    }
  }

  /** A child has moved at the remote, or the thread itself: then another worker has taken over. */
  async #catchUp(): Promise<void> {
    this.#lock.signal.throwIfAborted();
    const { repository, remote, sync } = this.#world;
    const before = (await findThread(repository, this.#thread))?.head;
    const children = this.threads.filter((thread) => thread !== this.#thread);
    const over: ThreadId[] = [];
    for (const thread of children) if ((await findThread(repository, thread))?.isHistory) over.push(thread);
    const names = this.threads.flatMap((thread) => placesNow(thread, repository.now()));
    await fetchSelection(repository, remote, selectPatterns(names), sync);
    if ((await findThread(repository, this.#thread))?.head !== before) throw new ClaimLost(this.#thread);
    // The block was decided without them and has cancelled them; meanwhile their workers published another step.
    for (const thread of over)
      if ((await findThread(repository, thread))?.isHistory === false) await this.#cancel(thread);
  }

  async #cancel(thread: ThreadId): Promise<void> {
    const engine = await this.#world.openEngine({ signal: this.#lock.signal, onEvent: () => {} });
    await engine.cancel(thread, { reason: 'its block was decided without it' });
  }

  /** @param isHeld whether a step that another push got in the way of is held back */
  async #push(isLast: boolean, isHeld: boolean): Promise<void> {
    const { fence } = this.#lock;
    const send = (edits?: PushFence): ReturnType<typeof pushOnce> => this.#send(edits);
    const head = (await findThread(this.#world.repository, this.#thread))?.head;
    const { report, isContended } = await (fence === undefined ? send() : fence.push({ head, isLast }, send));
    const held = report.held.find(({ thread }) => this.#touched.has(thread));
    const [refused] = report.rejected;
    // Of an atomic push in which the remote refuses one ref, the others are undone: trying again at once would change nothing.
    if (isContended && refused === undefined && !isHeld) throw new Contended();
    const reason = held?.reason ?? refused?.reason;
    if (reason === undefined) return;
    this.#lock.fence?.hold(reason);
    throw new StepHeldBack(held?.thread ?? this.#thread, reason);
  }

  async #send(fence?: PushFence): ReturnType<typeof pushOnce> {
    const { repository, remote, sync } = this.#world;
    const scope = new Set<ThreadId>();
    // A child can be told of before its ref is there.
    for (const thread of this.#touched) if (await findThread(repository, thread)) scope.add(thread);
    const there = refsOf(await readTracked(repository, remote));
    // A push that names a thread takes the mark of its removal away. A worker names what it was told of, not what a person wants.
    const { removed } = sortRefs(there);
    if (removed.has(this.#thread)) throw removedThere(this.#thread, remote);
    for (const thread of removed.keys()) scope.delete(thread);
    return pushOnce(repository, remote, { there, scope, refused: new Set(), fence }, sync);
  }
}

/** What taking turns needs. */
export type TurnWorld = {
  repository: Repository;
  remote: Remote;
  finder: JobFinder;
  /** The worker, for people. */
  identity: Pick<WorkerIdentity, 'worker' | 'host'>;
  /** Decides about threads without running them. */
  context: EngineContext;
  /** Opens an engine for one turn. */
  openEngine: (
    options: Required<Pick<EngineOptions, 'signal' | 'onEvent'>> & Pick<EngineOptions, 'catchUp'>,
  ) => Promise<Engine>;
  /** How a push looks for secrets and for commits of the user's code. */
  sync: SyncOptions;
  /** Whether the worker takes further turns: not while it is stopping. */
  goesOn: () => boolean;
  onEvent: (event: EngineEvent) => void;
  /** Is told which threads were published. */
  onPublished: (threads: readonly ThreadId[]) => Promise<void>;
  onTrouble: TellTrouble;
  /** Is told of a job that this worker cannot do as it is: an agent is missing or not agreed to, or the step must not leave. */
  onUnable: (job: TurnJob, error: UwfError) => void;
};

/** Publishes threads that have ended here and have no ref at the remote any more; leaves those that fail, to be tried again. */
export async function sendLostEnds(
  { repository, remote, sync }: Pick<TurnWorld, 'repository' | 'remote' | 'sync'>,
  ends: Set<ThreadId>,
): Promise<void> {
  if (ends.size === 0) return;
  const facts = { there: [], scope: new Set(ends), refused: new Set<string>() };
  const { report } = await pushOnce(repository, remote, facts, sync);
  const isDone = report.held.length === 0 && report.rejected.length === 0;
  for (const thread of isDone ? ends : report.threads.map((change) => change.thread)) ends.delete(thread);
}
