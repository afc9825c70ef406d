import { Clock, Processor, seededRandom } from './events.ts';
import type { Kind, Outcome, Scenario } from './scenario.ts';

type Thread = { id: number; host: number; stepsLeft: number; readyMs: number; isTaken: boolean };
type Worker = { host: number; running: number; seenTo: number; known: Set<Thread>; waitMs: number; cpu: Processor };
type Host = { cpu: Processor; ready: Set<Thread>; active: number };

const JITTER = 0.2;
const SWEEP_MS = 60_000;

/** Plays a scenario, request by request. The same scenario has the same outcome. */
export function simulate(scenario: Scenario): Outcome {
  return new Simulation(scenario).run();
}

class Simulation {
  readonly #clock = new Clock();
  readonly #random: () => number;
  readonly #hosts: Host[];
  readonly #workers: Worker[];
  readonly #asked: Record<Kind, number> = { looks: 0, claims: 0, steps: 0, fetches: 0, renewals: 0, starts: 0 };
  readonly #waits: number[] = [];
  readonly #s: Scenario;
  #threads = 0;
  #steps = 0;
  #agentMs = 0;
  #claims = { made: 0, lost: 0 };
  #endedMs = 0;

  constructor(scenario: Scenario) {
    this.#s = scenario;
    this.#random = seededRandom(scenario.seed);
    const { sharedCores, hosts, coresOfHost, workers, poll } = scenario;
    const shared = sharedCores === null ? undefined : new Processor(this.#clock, sharedCores);
    const cores = (count: number): Processor => shared ?? new Processor(this.#clock, count);
    this.#hosts = Array.from({ length: hosts }, () => ({
      cpu: cores(coresOfHost),
      ready: new Set<Thread>(),
      active: 0,
    }));
    this.#workers = Array.from({ length: workers }, (_, at) => ({
      host: at % hosts,
      running: 0,
      seenTo: -1,
      known: new Set<Thread>(),
      waitMs: poll.minMs,
      cpu: cores(Infinity),
    }));
  }

  run(): Outcome {
    const { backlog, threadsASecond, queue, poll, renewEveryMs, workers, atOnce } = this.#s;
    for (let at = 0; at < backlog; at += 1) this.#arrive();
    const next = (): void => {
      this.#clock.after(-Math.log(1 - this.#random()) * (1000 / threadsASecond), () => {
        this.#ask(at(this.#hosts, this.#threads % this.#hosts.length), 'starts', this.#s.costs.step, () =>
          this.#arrive(),
        );
        next();
      });
    };
    if (threadsASecond > 0) next();
    for (const worker of this.#workers) {
      this.#clock.after(this.#random() * (queue === 'git' ? poll.minMs : SWEEP_MS), () => this.#look(worker));
      if (queue === 'git') this.#clock.after(this.#random() * renewEveryMs, () => this.#renew(worker));
    }
    this.#clock.runUntil(this.#s.durationMs);
    const countedMs = this.#s.durationMs - this.#s.warmUpMs;
    const capacityMs = countedMs * this.#s.coresOfHost * this.#hosts.length;
    const use = (kind: Kind): number => this.#asked[kind] / capacityMs;
    const waits = this.#waits.toSorted((a, b) => a - b);
    return {
      stepsASecond: (1000 * this.#steps) / countedMs,
      hostUse: {
        looks: use('looks'),
        claims: use('claims'),
        steps: use('steps'),
        fetches: use('fetches'),
        renewals: use('renewals'),
        starts: use('starts'),
      },
      agentUse: this.#agentMs / (countedMs * workers * atOnce),
      lostClaims: this.#claims.made === 0 ? 0 : this.#claims.lost / this.#claims.made,
      waitMs: waits[waits.length >> 1] ?? 0,
      threadsWaiting: this.#hosts.reduce((sum, host) => sum + host.ready.size, 0),
      endedMs: this.#endedMs,
    };
  }

  get #isCounted(): boolean {
    return this.#clock.nowMs >= this.#s.warmUpMs;
  }

  #ask(host: Host, kind: Kind, costMs: number, then: () => void): void {
    if (this.#isCounted) this.#asked[kind] += costMs;
    host.cpu.work(costMs, then);
  }

  #arrive(): void {
    const id = this.#threads;
    this.#threads += 1;
    const host = id % this.#hosts.length;
    at(this.#hosts, host).active += 1;
    this.#offer({ id, host, stepsLeft: this.#s.stepsOfThread, readyMs: this.#clock.nowMs, isTaken: false });
  }

  /** A thread can go on: by Redis a worker with room is told of it. */
  #offer(thread: Thread): void {
    thread.isTaken = false;
    thread.readyMs = this.#clock.nowMs;
    const host = at(this.#hosts, thread.host);
    host.ready.add(thread);
    if (this.#s.queue === 'redis') this.#clock.after(this.#s.redisMs, () => this.#giveOut(host));
  }

  #giveOut(host: Host): void {
    const [thread] = host.ready;
    if (thread === undefined) return;
    const from = Math.floor(this.#random() * this.#workers.length);
    for (let step = 0; step < this.#workers.length; step += 1) {
      const worker = at(this.#workers, (from + step) % this.#workers.length);
      if (at(this.#hosts, worker.host) !== host || worker.running >= this.#s.atOnce) continue;
      this.#take(worker, thread);
      return;
    }
  }

  #look(worker: Worker): void {
    const { costs, poll, queue, workerCosts } = this.#s;
    const host = at(this.#hosts, worker.host);
    worker.cpu.work(workerCosts.look, () => {
      this.#ask(host, 'looks', costs.look + costs.lookForEach * host.active, () => {
        const free = [...host.ready];
        const isNews = this.#notice(worker, free);
        const ended = (): void => {
          if (queue === 'git') this.#claim(worker, free);
          else this.#giveOut(host);
          const isIdle = worker.running === 0 && free.length === 0;
          worker.waitMs = isIdle ? Math.min(2 * worker.waitMs, poll.maxMs) : poll.minMs;
          const waitMs = queue === 'git' ? worker.waitMs : SWEEP_MS;
          this.#clock.after(waitMs * (1 - JITTER + 2 * JITTER * this.#random()), () => this.#look(worker));
        };
        if (isNews) this.#ask(host, 'fetches', costs.fetch, ended);
        else ended();
      });
    });
  }

  /** A worker fetches threads that no other has claimed, and later what became of them. */
  #notice(worker: Worker, free: readonly Thread[]): boolean {
    let isNews = false;
    for (const thread of worker.known) {
      if (thread.stepsLeft > 0) continue;
      worker.known.delete(thread);
      isNews = true;
    }
    for (const thread of free) {
      if (thread.id <= worker.seenTo) continue;
      worker.known.add(thread);
      worker.seenTo = thread.id;
      isNews = true;
    }
    return isNews;
  }

  #claim(worker: Worker, free: readonly Thread[]): void {
    const room = this.#s.atOnce - worker.running;
    const wanted: Thread[] = [];
    const left = free.filter(({ isTaken }) => !isTaken);
    while (wanted.length < room && left.length > 0) {
      wanted.push(...left.splice(Math.floor(this.#random() * left.length), 1));
    }
    if (wanted.length === 0) return;
    // Their places are kept until the outcome is known.
    worker.running += wanted.length;
    this.#ask(at(this.#hosts, worker.host), 'claims', this.#s.costs.claim, () => {
      worker.running -= wanted.length;
      for (const thread of wanted) {
        if (this.#isCounted) this.#claims.made += 1;
        if (!thread.isTaken) this.#take(worker, thread);
        else if (this.#isCounted) this.#claims.lost += 1;
      }
    });
  }

  #take(worker: Worker, thread: Thread): void {
    const host = at(this.#hosts, thread.host);
    thread.isTaken = true;
    host.ready.delete(thread);
    worker.running += 1;
    this.#ask(host, 'fetches', this.#s.costs.fetch, () => {
      worker.cpu.work(this.#s.workerCosts.begin, () => {
        if (this.#isCounted) this.#waits.push(this.#clock.nowMs - thread.readyMs);
        this.#turn(worker, thread, host);
      });
    });
  }

  #turn(worker: Worker, thread: Thread, host: Host): void {
    const { turn, workerCosts, costs, queue } = this.#s;
    const tookMs = turn.medianMs * Math.exp(turn.sigma * this.#normal());
    if (this.#isCounted) this.#agentMs += tookMs;
    this.#clock.after(tookMs, () => {
      worker.cpu.work(workerCosts.turn, () => {
        this.#ask(host, 'steps', costs.step, () => {
          if (this.#isCounted) this.#steps += 1;
          this.#endedMs = this.#clock.nowMs;
          thread.stepsLeft -= 1;
          if (thread.stepsLeft > 0 && queue === 'git') return this.#turn(worker, thread, host);
          worker.running -= 1;
          if (thread.stepsLeft > 0) this.#offer(thread);
          else host.active -= 1;
          if (queue === 'redis') this.#clock.after(this.#s.redisMs, () => this.#giveOut(host));
          else
            this.#claim(
              worker,
              [...host.ready].filter((one) => one.id <= worker.seenTo),
            );
        });
      });
    });
  }

  #renew(worker: Worker): void {
    const { renewEveryMs, costs } = this.#s;
    this.#clock.after(renewEveryMs, () => this.#renew(worker));
    if (worker.running > 0) this.#ask(at(this.#hosts, worker.host), 'renewals', costs.claim, () => {});
  }

  /** Source: Box and Muller. */
  #normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.#random())) * Math.cos(2 * Math.PI * this.#random());
  }
}

function at<T>(all: readonly T[], index: number): T {
  const one = all[index];
  if (one === undefined) throw new RangeError(`nothing at ${index}`);
  return one;
}
