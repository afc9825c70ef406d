import type { ObjectId } from '../git/format/object-id.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import { ClaimLost, type Claims, type WantedClaim } from './claims.ts';
import type { RemoteView } from './find-jobs.ts';
import { isCovered } from './turn-queue.ts';
import type { TakeTurn, TurnJob, TurnLock, TurnQueue, Work, WorkOptions } from './turn-queue.ts';

/** A thread that could not be taken is left alone for this time, which doubles each time; ms. */
const FIRST_PAUSE_MS = 5_000;
const MAX_PAUSE_MS = 600_000;
/** A step that is only to be published, which costs little, waits no longer than this; ms. */
const MAX_HELD_PAUSE_MS = 60_000;

type Running = { stop: AbortController; done: Promise<void> };

/**
 * A queue that is git alone: every worker sees the same threads and claims at the remote, and a claim's ref decides who takes
 * one. What is offered is what this worker has seen there; nothing is sent to offer it.
 */
export class GitQueue implements TurnQueue {
  readonly #claims: Claims;
  readonly #view: RemoteView;
  readonly #now: () => number;
  readonly #running = new Map<ThreadId, Running>();
  readonly #pauses = new Map<ThreadId, { head: string; untilMs: number; ms: number }>();
  #offered: readonly TurnJob[] = [];
  #worker: { take: TakeTurn; options: WorkOptions } | undefined;
  #isFinishing = false;
  #claiming: Promise<void> | undefined;
  #renewal: NodeJS.Timeout | undefined;

  /** `now` is of a clock that only goes forward: a pause would last for hours where that of the machine is set back. */
  constructor(claims: Claims, view: RemoteView, renewEveryMs: number, now: () => number) {
    this.#claims = claims;
    this.#view = view;
    this.#now = now;
    this.#renewal = setInterval(() => void this.#renew(), renewEveryMs);
  }

  async offer(jobs: readonly TurnJob[]): Promise<void> {
    this.#offered = jobs;
    await this.#tidy();
    await this.#claimMore();
  }

  /** Removes claims on threads that are not active any more: held ones, and those of workers that died. */
  async #tidy(): Promise<void> {
    const isOver = (thread: ThreadId): boolean => !this.#view.threads.has(thread) && !this.#running.has(thread);
    const own = this.#claims.threads.filter(isOver);
    const left = this.#view.leftClaims;
    // Both wait for the push that is under way, so neither is called without need.
    if (own.length > 0) await this.#release(own);
    if (left.length > 0) await this.#claims.sweep(left);
  }

  async work(take: TakeTurn, options: WorkOptions): Promise<Work> {
    this.#worker = { take, options };
    await this.#claimMore();
    const ended = async (): Promise<void> => {
      this.#isFinishing = true;
      // The caller of `claimMore` is told of the error.
      await this.#claiming?.catch(() => {});
      while (this.#running.size > 0) await Promise.all([...this.#running.values()].map(({ done }) => done));
      await this.#release(this.#claims.threads);
    };
    return {
      finish: ended,
      giveBack: async () => {
        this.#isFinishing = true;
        for (const { stop } of this.#running.values()) stop.abort(new Error('the worker stops'));
        await ended();
      },
    };
  }

  async close(): Promise<void> {
    clearInterval(this.#renewal);
  }

  #claimMore(): Promise<void> {
    this.#claiming ??= this.#claimFree().finally(() => (this.#claiming = undefined));
    return this.#claiming;
  }

  async #claimFree(): Promise<void> {
    if (this.#worker === undefined || this.#isFinishing) return;
    const { take, options } = this.#worker;
    const room = options.atOnce - this.#running.size;
    // In another order on each machine, so that few ask for the same.
    const free = shuffled(this.#offered.filter((job) => this.#isFree(job, options))).slice(0, room);
    if (free.length === 0) return;
    const stops = new Map(free.map(({ thread }) => [thread, new AbortController()]));
    const wanted = free.map(({ thread, head, role }): WantedClaim => ({
      thread,
      head,
      ...(role !== undefined && { role }),
      losses: this.#lossesAt(thread, head),
      replaces: this.#view.claims.get(thread)?.id ?? null,
      lost: () => stops.get(thread)?.abort(new ClaimLost(thread)),
    }));
    const own = wanted.filter(({ thread }) => this.#claims.isOnHold(thread));
    const won = new Set(own.map(({ thread }) => thread));
    for (const thread of await this.#claims.take(wanted.filter((claim) => !won.has(claim.thread)))) won.add(thread);
    for (const { thread, lost } of own) this.#claims.onLost(thread, lost);
    // The worker was told to stop meanwhile: it releases all its claims.
    if (this.#isFinishing) return;
    for (const job of free) {
      const stop = stops.get(job.thread);
      if (stop === undefined || !won.has(job.thread)) continue;
      this.#running.set(job.thread, { stop, done: this.#run(job, take, stop, options) });
    }
    const taken = new Set(free.map(({ thread }) => thread));
    this.#offered = this.#offered.filter(({ thread }) => !taken.has(thread));
  }

  /** What became of the turns of a head that left nothing. A claim that is still there was given back, or has run out. */
  #lossesAt(thread: ThreadId, head: ObjectId): string[] {
    const before = this.#view.claims.get(thread)?.claim;
    if (before?.head !== head) return [];
    const silent = before.givenBack === true ? [] : [`${before.worker} on ${before.host} fell silent`];
    return [...(before.losses ?? []), ...silent];
  }

  #isFree({ thread, head, needs }: TurnJob, { labels }: WorkOptions): boolean {
    if (this.#running.has(thread)) return false;
    if (this.#view.isClaimed(thread) && !this.#claims.isOnHold(thread)) return false;
    const pause = this.#pauses.get(thread);
    if (pause?.head === head && pause.untilMs > this.#now()) return false;
    return isCovered({ needs }, labels);
  }

  async #run(job: TurnJob, take: TakeTurn, stop: AbortController, { onTrouble }: WorkOptions): Promise<void> {
    const { thread } = job;
    const lock: TurnLock = {
      signal: stop.signal,
      losses: this.#claims.lossesOf(thread),
      lose: (what) => this.#claims.lose(thread, what),
      fence: {
        push: (push, send) => this.#claims.push(thread, push, send),
        hold: (reason) => this.#claims.hold(thread, reason),
      },
    };
    const verdict = await take(job, lock);
    if (verdict === 'again') this.#pause(job);
    else this.#pauses.delete(thread);
    if (this.#claims.has(thread) && !(this.#claims.isOnHold(thread) && !this.#isFinishing)) {
      await this.#release([thread]);
    }
    this.#running.delete(thread);
    void this.#claimMore().catch(onTrouble);
  }

  async #release(threads: readonly ThreadId[]): Promise<void> {
    await this.#claims.release(threads).catch((error: unknown) => this.#worker?.options.onTrouble(error));
  }

  #pause({ thread, head }: TurnJob): void {
    const before = this.#pauses.get(thread);
    const longest = this.#claims.isOnHold(thread) ? MAX_HELD_PAUSE_MS : MAX_PAUSE_MS;
    const ms = before?.head === head ? Math.min(2 * before.ms, longest) : FIRST_PAUSE_MS;
    this.#pauses.set(thread, { head, ms, untilMs: this.#now() + ms });
  }

  async #renew(): Promise<void> {
    await this.#claims.renew().catch((error: unknown) => this.#worker?.options.onTrouble(error));
  }
}

function shuffled<T>(all: readonly T[]): T[] {
  return all
    .map((one) => ({ one, at: Math.random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ one }) => one);
}
