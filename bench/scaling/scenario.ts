/** What a request costs a host, in ms of CPU time; measured by `npm run bench -- scaling`. */
export type HostCosts = {
  look: number;
  /** Of a look, for each thread that is active at the host. */
  lookForEach: number;
  claim: number;
  step: number;
  fetch: number;
};

export type Scenario = {
  queue: 'git' | 'redis';
  hosts: number;
  coresOfHost: number;
  costs: HostCosts;
  workers: number;
  atOnce: number;
  /** What uwf and git take on the worker's machine before a thread's first turn, for each turn, and for each look; CPU ms. */
  workerCosts: { begin: number; turn: number; look: number };
  /** The cores that all hosts and workers share; null: each worker has its own machine, and each host. */
  sharedCores: number | null;
  /** Threads that are there at the start, and how many come in a second. */
  backlog: number;
  threadsASecond: number;
  stepsOfThread: number;
  /** The agent's time for a turn: log-normal. */
  turn: { medianMs: number; sigma: number };
  poll: { minMs: number; maxMs: number };
  renewEveryMs: number;
  /** From the end of a step to the next turn's start, by Redis. */
  redisMs: number;
  durationMs: number;
  /** What happens before this is not counted. */
  warmUpMs: number;
  seed: number;
};

/** What a host is asked for. */
export type Kind = 'looks' | 'claims' | 'steps' | 'fetches' | 'renewals' | 'starts';

export type Outcome = {
  stepsASecond: number;
  /** The part of all hosts' CPU time that each kind of request asked for; a sum over 1 is more than there is. */
  hostUse: Record<Kind, number>;
  /** The part of the workers' places in which an agent works. */
  agentUse: number;
  /** Claims that another worker made first, of all. */
  lostClaims: number;
  /** From the moment at which a thread could go on without a claim to the start of its turn; median, ms. */
  waitMs: number;
  threadsWaiting: number;
  /** When the last step was published. */
  endedMs: number;
};
