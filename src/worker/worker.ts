// The room worker: threads of a remote come in that can go on, and their next steps go out to it. `find-jobs.ts` looks
// at the remote and says which turns can be taken; a queue gives each to one worker: `git-queue.ts` by claims, which
// are refs at the remote, or `bullmq` over Redis; `take-turn.ts` runs the turn and `publisher.ts` sends the step. The
// queue is only a hint: a step counts when the thread's ref was moved under its expected value. A worker may die, a
// remote or Redis may be away, and two may take the same turn: the turn is then taken again, and one step of the two
// is published.

import { messageOf, UwfError } from '../errors.ts';
import { plural } from '../text/wording.ts';
import { asEnvironmentError } from '../git/format/errors.ts';
import type { ObjectId } from '../git/format/object-id.ts';
import { RemoteUnreachable } from '../git/transport/git-output.ts';
import { assertThere, explainGone } from '../git/repository/git-directory.ts';
import { MAX_TIMER_MS, monotonicMs } from '../time/clock.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import { Claims, type WorkerIdentity } from './claims.ts';
import { JobFinder, RemoteView, type WorkFilter } from './find-jobs.ts';
import { GitQueue } from './git-queue.ts';
import { WorkerMonitor } from './health.ts';
import { sendLostEnds, type TurnWorld } from './publisher.ts';
import {
  isCovered,
  QueueLost,
  type TellTrouble,
  type TurnJob,
  type TurnQueue,
  type TurnVerdict,
  type Work,
} from './turn-queue.ts';

/** What a worker is, and what it takes. */
export type WorkerOptions = Omit<TurnWorld, 'finder' | 'goesOn' | 'onPublished' | 'onUnable' | 'onTrouble'> & {
  /** Is told what goes wrong, one line each, without passwords. */
  onTrouble: (text: string) => void;
  identity: WorkerIdentity;
  filter: WorkFilter;
  atOnce: number;
  labels: readonly string[];
  /** The shortest and the longest time between two looks at the remote; ms. */
  poll: { minMs: number; maxMs: number };
  /** Ends when nothing is left that this worker can do. */
  drain: boolean;
  /** Ends after one turn. */
  once: boolean;
  /** Aborted to finish: no more jobs are taken. */
  finish: AbortSignal;
  /** Aborted to give back what is at work. */
  giveBack: AbortSignal;
  /** A queue that tells workers of jobs sooner than a look at the remote does. */
  openQueue?: (() => Promise<TurnQueue>) | undefined;
  /** Is told after each look that found nothing to do, once that has lasted a minute. */
  onIdle?: (() => void) | undefined;
  monitor?: WorkerMonitor | undefined;
  bell?: Bell | undefined;
};

/** A worker that has no room looks at the remote this often; ms. */
const FULL_MS = 5_000;

/** A remote, or a queue, that is away is tried again at least this often; ms. */
const AWAY_MS = 15_000;

/** A worker counts as idle when it has had nothing to do for so long; ms. */
const IDLE_MS = 60_000;

/** Each time between two looks is longer or shorter by at most this part, so that workers do not look at the same time. */
const JITTER = 0.2;

/** Takes turns of a remote's threads until told to finish: looks at the remote, offers what can go on, takes from its queue. */
export async function runWorker(options: WorkerOptions): Promise<void> {
  const { repository, remote, identity, sync, monitor = new WorkerMonitor(), bell = new Bell() } = options;
  const troubles = new WorkerTroubles(remote.name, options.onTrouble);
  const onTrouble = troubles.tell;
  const view = new RemoteView(repository, remote, {
    ...sync,
    onTrouble,
    readsClaimsAtOnce: options.openQueue !== undefined,
  });
  const claims = new Claims(repository, remote, identity);
  const finder = new JobFinder(options.context, view, remote.name, options.filter);
  const queue =
    (await options.openQueue?.()) ?? new GitQueue(claims, view, Math.floor(identity.deadlineMs / 3), monotonicMs);
  const atOnce = options.once ? 1 : options.atOnce;
  let taken = 0;
  /** When it last had something to do. */
  let busyMs = monotonicMs();
  const drain = options.drain ? new Drain(remote.name, options.labels) : undefined;
  const isStopping = (): boolean => options.finish.aborted || (options.once && taken > 0);
  const world: TurnWorld = {
    ...options,
    finder,
    onTrouble,
    onEvent: (event) => {
      monitor.tell(event);
      options.onEvent(event);
    },
    goesOn: () => !isStopping() && !options.once,
    onUnable: (job, error) => drain?.tellUnable(job, error),
    // With git alone, others see it when they look.
    onPublished: async (threads) => {
      if (options.openQueue) await queue.offer(await finder.findAfter(threads)).catch(onTrouble);
    },
  };
  /** The threads at work; aborting one ends its agent. */
  const atWork = new Map<ThreadId, AbortController>();
  const endStopped = (isStopped: (thread: ThreadId) => boolean): void => {
    for (const [thread, stop] of atWork)
      if (isStopped(thread)) stop.abort(new Error('the thread was stopped at the remote'));
  };
  const work: Work = await workOf(
    queue,
    async (job, lock) => {
      if (isStopping()) return 'again';
      taken += 1;
      monitor.atWork += 1;
      // A worker that only looks loads nothing that runs turns.
      const { takeTurns } = await import('./take-turn.ts');
      const stop = new AbortController();
      const turns = takeTurns(world, job, { ...lock, signal: AbortSignal.any([lock.signal, stop.signal]) });
      atWork.set(job.thread, stop);
      let verdict: TurnVerdict = 'again';
      try {
        verdict = await turns;
      } catch (error) {
        onTrouble(error, job.thread);
      } finally {
        atWork.delete(job.thread);
        busyMs = monotonicMs();
        // There is room for another.
        bell.ring();
        monitor.ended(verdict, lock.signal.aborted && !options.giveBack.aborted);
      }
      return verdict;
    },
    { atOnce, labels: options.labels, onTrouble },
  );
  const giveBack = (): void => void work.giveBack().catch(onTrouble);
  options.giveBack.addEventListener('abort', giveBack, { once: true });
  try {
    let waitMs = options.poll.minMs;
    while (!isStopping()) {
      try {
        // A look would make a folder anew, in the way of the clone that is to be there.
        assertThere(repository);
        const lookedMs = monotonicMs();
        await view.look((id) => claims.isOwn(id), options.finish);
        monitor.looked(monotonicMs() - lookedMs);
        troubles.reached();
        await claims.confirm(view.claims);
        endStopped((thread) => view.isStopped(thread));
        const jobs = await finder.find();
        await queue.offer(jobs);
        await sendLostEnds(options, view.lostEnds);
        const isIdle = atWork.size === 0 && jobs.length === 0;
        if (!isIdle) busyMs = monotonicMs();
        else if (monotonicMs() - busyMs >= IDLE_MS) options.onIdle?.();
        const isAlone =
          atWork.size === 0 &&
          view.lostEnds.size === 0 &&
          !view.hasClaims((id) => claims.isOwn(id)) &&
          !view.hasRunOut();
        if (drain?.isOver(jobs, isAlone) === true) break;
        if (isIdle) waitMs = Math.min(2 * waitMs, options.poll.maxMs);
        else if (atWork.size < atOnce) waitMs = options.poll.minMs;
        // It takes nothing before a turn ends; it looks whether its claims were taken over.
        else waitMs = Math.min(Math.max(options.poll.minMs, FULL_MS), options.poll.maxMs);
      } catch (thrown) {
        if (options.finish.aborted) break;
        const place = repository.location?.commonDir ?? '';
        const error = asEnvironmentError(explainGone(repository, thrown), place);
        // The remote or the queue is away, a disk is full: that passes.
        if (!(error instanceof UwfError)) throw error;
        monitor.counts.failedLooks += 1;
        onTrouble(error);
        waitMs = Math.min(2 * waitMs, options.poll.maxMs, AWAY_MS);
      }
      if (options.once && taken > 0) break;
      await bell.wait(waitMs * (1 - JITTER + 2 * JITTER * Math.random()), options.finish);
    }
    await work.finish();
    if (!isStopping()) drain?.tellLeft(onTrouble);
  } finally {
    options.giveBack.removeEventListener('abort', giveBack);
    await queue.close();
  }
}

/** As `TurnQueue.work`. A queue that gives no work is closed: its connection would keep the process. */
async function workOf(queue: TurnQueue, ...given: Parameters<TurnQueue['work']>): Promise<Work> {
  try {
    return await queue.work(...given);
  } catch (error) {
    await queue.close();
    throw error;
  }
}

/** What this worker cannot do may be about to be done by others, which brings more to do: it waits for this time; ms. */
const OTHERS_MS = 30_000;

/** Tells when nothing is left at a remote that a worker can do: others may have labels or agents that it has not. */
export class Drain {
  readonly #remote: string;
  readonly #labels: readonly string[];
  readonly #unable = new Map<ThreadId, { head: ObjectId; error: UwfError }>();
  /** When there was last something to do. */
  #busyMs = monotonicMs();
  #left: readonly TurnJob[] = [];

  constructor(remote: string, labels: readonly string[]) {
    this.#remote = remote;
    this.#labels = labels;
  }

  /** Is told of a job that failed in a way that repeating it does not change. */
  tellUnable({ thread, head }: TurnJob, error: UwfError): void {
    this.#unable.set(thread, { head, error });
  }

  /** Whether the worker can end. `jobs` can go on at the remote; `isAlone`: neither it nor a worker that it sees is at work. */
  isOver(jobs: readonly TurnJob[], isAlone: boolean): boolean {
    this.#left = jobs;
    if (!isAlone || jobs.some((job) => this.#isAble(job))) this.#busyMs = monotonicMs();
    else return jobs.length === 0 || monotonicMs() - this.#busyMs >= OTHERS_MS;
    return false;
  }

  /** Says what stays at the remote for workers with other labels; throws `turns-left` if turns failed here. */
  tellLeft(onTrouble: (text: string) => void): void {
    const errors = this.#left.flatMap((job) => this.#errorOf(job) ?? []);
    const others = this.#left.filter((job) => this.#errorOf(job) === undefined);
    if (others.length > 0) {
      const needs = [...new Set(others.flatMap((job) => job.needs))].join(', ');
      onTrouble(`${plural(others.length, 'thread')} left at ${this.#remote} for workers with these labels: ${needs}`);
    }
    if (errors.length === 0) return;
    throw new UwfError(`${plural(errors.length, 'thread')} at ${this.#remote} could not go on here`, {
      code: 'turns-left',
      kind: errors.some(({ kind }) => kind === 'agent') ? 'agent' : 'data',
      hint: 'the messages before say why',
    });
  }

  #isAble(job: TurnJob): boolean {
    return this.#errorOf(job) === undefined && isCovered(job, this.#labels);
  }

  #errorOf({ thread, head }: TurnJob): UwfError | undefined {
    const known = this.#unable.get(thread);
    return known?.head === head ? known.error : undefined;
  }
}

/** Looks that are rung for come no closer together than this, in ms. */
const MIN_GAP_MS = 250;

/** Wakes a worker before its time: a webhook or a signal says that there is something to look at. */
export class Bell {
  #isRung = false;
  #wake: (() => void) | undefined;

  /** Ends the wait that goes on, or the next one, soon. */
  ring(): void {
    this.#isRung = true;
    this.#wake?.();
  }

  /** Waits for a time, until the bell is rung, or until the signal is aborted. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    await this.#sleep(Math.min(MIN_GAP_MS, ms), signal, false);
    if (!this.#isRung && ms > MIN_GAP_MS) await this.#sleep(ms - MIN_GAP_MS, signal, true);
    this.#isRung = false;
  }

  #sleep(ms: number, signal: AbortSignal, endsWithRing: boolean): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const end = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
        this.#wake = undefined;
        resolve();
      };
      const timer = setTimeout(end, Math.min(ms, MAX_TIMER_MS));
      signal.addEventListener('abort', end, { once: true });
      if (endsWithRing) this.#wake = end;
    });
  }
}

/** The same words are told again after this time. */
const REPEAT_MS = 60_000;

/** Texts with a changing part in them are not kept for ever. */
const MAX_TEXTS = 1_000;

/**
 * Tells what goes wrong in a worker: that the remote is away once for all turns that notice it, and once that it is back; the
 * same words once a minute, an outage that begins too, and what can be done once. That a queue has lost its server, the queue
 * tells itself.
 */
export class WorkerTroubles {
  readonly #remote: string;
  readonly #say: (text: string) => void;
  readonly #toldAtMs = new Map<string, number>();
  readonly #remedies = new Set<string>();
  #isAway = false;

  constructor(remote: string, say: (text: string) => void) {
    this.#remote = remote;
    this.#say = say;
  }

  readonly tell: TellTrouble = (trouble, thread) => {
    if (trouble instanceof QueueLost) return;
    const isOutage = trouble instanceof RemoteUnreachable;
    if (isOutage && this.#isAway) return;
    const text = isOutage || thread === undefined ? messageOf(trouble) : `thread ${thread}: ${messageOf(trouble)}`;
    if (!this.#isNew(isOutage ? this.#remote : text)) return;
    if (isOutage) this.#isAway = true;
    const remedy = trouble instanceof UwfError ? trouble.hint : undefined;
    const isKnown = remedy === undefined || this.#remedies.has(remedy);
    if (!isKnown) this.#remedies.add(remedy);
    this.#say(isKnown ? text : `${text} (${remedy})`);
  };

  /** A look at the remote has succeeded. */
  reached(): void {
    if (this.#isAway) this.#say(`${this.#remote} is back`);
    this.#isAway = false;
  }

  #isNew(text: string): boolean {
    const nowMs = monotonicMs();
    if (nowMs - (this.#toldAtMs.get(text) ?? -Infinity) < REPEAT_MS) return false;
    if (this.#toldAtMs.size >= MAX_TEXTS) this.#toldAtMs.clear();
    this.#toldAtMs.set(text, nowMs);
    return true;
  }
}
