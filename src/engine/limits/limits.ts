import type { KnownReports } from '../../agent/load/load-agent.ts';
import { encodeNode } from '../../cas/node.ts';
import { UwfError } from '../../errors.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import { builtIn } from '../../schema/built-in.ts';
import {
  addUsage,
  type CountedLimit,
  countedLimits,
  type Limits,
  type MoreLimits,
  type ThreadLimits,
  type Usage,
} from '../../schema/built-in/schema-parts.ts';
import type { AgentRecord } from '../../schema/built-in/workflow.ts';
import { readThreadCommit } from '../../thread/thread-commit.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { sumOf } from '../../thread/thread-state.ts';
import { MAX_TIMER_MS } from '../../time/clock.ts';
import type { Machine, Reading, Telling } from '../engine-context.ts';

export const DEFAULT_LIMITS: Readonly<Required<Pick<Limits, 'maxSteps' | 'maxDepth'>>> = {
  maxSteps: 10_000,
  maxDepth: 8,
};

/** Combines sets of limits: the smallest value of each limit holds, and `refuse` over `warn`. */
export function combineLimits(...sets: readonly (ThreadLimits | undefined)[]): ThreadLimits {
  const combined: Record<string, number> = {};
  for (const { unknownUsage: _word, ...limits } of sets.map((set) => set ?? {})) {
    for (const [name, value] of Object.entries(limits)) {
      combined[name] = Math.min(value, combined[name] ?? Number.POSITIVE_INFINITY);
    }
  }
  const isRefused = sets.some((set) => set?.unknownUsage === 'refuse');
  return { ...combined, ...(isRefused && { unknownUsage: 'refuse' }) };
}

/** What limits count: steps, and the usage of all turns, of those too that ended in no step or were done again. */
export type Used = { steps: number; usage: Usage | null };

export const NOTHING_USED: Used = { steps: 0, usage: null };

/** What the limits of a role's turn are counted by. */
export type Allowance = {
  role: string;
  /** What the configuration, the workflow and the thread allow; counts all turns. */
  ofThread: ThreadLimits;
  /** What the role's definition allows; counts the role's own turns. */
  ofRole: Limits;
  /** What people have added, over the thread's life; holds for both. */
  more: MoreLimits;
  /** What all turns of the thread's life, and those of the role, have used. */
  usedByThread: Used;
  usedByRole: Used;
  /** Whether child threads have used a part of it. */
  isShared?: boolean;
  /** That of the turn that called the thread, whose budgets hold for it, too; absent where none did. */
  caller?: { thread: ThreadId; allowance: Allowance } | undefined;
};

/** A limit that keeps a role from running. */
export type LimitReached = {
  name: CountedLimit;
  /** The limit with what people have added. */
  limit: number;
  used: number;
  /** What to add: as much as the limit first allowed, and what was used beyond it. */
  missing: number;
  /** `the limit of 4 visits to coder is reached`. */
  text: string;
  /** The caller that has this limit; absent where the thread itself has it. */
  caller?: ThreadId | undefined;
};

/** Finds the first limit that keeps a role from running; `undefined` if none does. */
export function findLimitReached(allowance: Allowance): LimitReached | undefined {
  return firstOf(allowance, (used, limit) => used >= limit, 'reached');
}

/**
 * Returns a message that names the budget a running turn has exceeded, or `undefined`.
 * @param usage what the turn has used so far, in all of its tries
 */
export function findBudgetExceeded(allowance: Allowance, usage: Usage): string | undefined {
  return firstOf(withTurn(allowance, usage), (used, limit) => used > limit, 'exceeded', budgets)?.text;
}

/** An allowance of which a running turn has used so much, in all of its tries. */
export function withTurn(allowance: Allowance, usage: Usage | null): Allowance {
  const add = (used: Used): Used => ({ ...used, usage: addUsage(used.usage, usage) });
  const { caller } = allowance;
  return {
    ...allowance,
    usedByThread: add(allowance.usedByThread),
    usedByRole: add(allowance.usedByRole),
    caller: caller && { ...caller, allowance: withTurn(caller.allowance, usage) },
  };
}

/** An option of `uwf thread resume` that raises a limit. */
export type LimitOption = 'steps' | 'visits' | 'turns' | 'tokens' | 'cost';

/** The option for each limit, and what it counts. */
const counted: Record<CountedLimit, { option: LimitOption; unit: string; of: (used: Used) => number }> = {
  maxVisits: { option: 'visits', unit: 'visits', of: ({ steps }) => steps },
  maxSteps: { option: 'steps', unit: 'steps', of: ({ steps }) => steps },
  maxTurns: { option: 'turns', unit: 'turns', of: ({ usage }) => usage?.turns ?? 0 },
  maxTokens: {
    option: 'tokens',
    unit: 'tokens',
    of: ({ usage }) => (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0),
  },
  maxCostUsd: { option: 'cost', unit: 'US dollars', of: ({ usage }) => usage?.costUsd ?? 0 },
};

/** The limits that people raise when they resume a thread, with the option for each. */
export const limitOptions: readonly (readonly [CountedLimit, LimitOption])[] = countedLimits.map((name) => [
  name,
  counted[name].option,
]);

/** The limits that count what the children of a thread use, too. */
export const budgets: readonly CountedLimit[] = ['maxTurns', 'maxTokens', 'maxCostUsd'];
const names: readonly CountedLimit[] = ['maxVisits', 'maxSteps', ...budgets];

function firstOf(
  allowance: Allowance,
  isOver: (used: number, limit: number) => boolean,
  verb: string,
  among: readonly CountedLimit[] = names,
  ofCaller?: ThreadId,
): LimitReached | undefined {
  const { role, ofThread, ofRole, more, usedByThread, usedByRole, caller } = allowance;
  // Visits are counted for the role, also where the workflow or the thread limits them.
  const { maxVisits, ...others } = { ...DEFAULT_LIMITS, ...ofThread };
  const sets: { limits: Limits; whose: string; usedBy: Used }[] = [
    {
      limits: combineLimits(ofRole, maxVisits === undefined ? {} : { maxVisits }),
      whose: ` of ${role}`,
      usedBy: usedByRole,
    },
    { limits: others, whose: '', usedBy: usedByThread },
  ];
  for (const name of among) {
    for (const { limits, whose, usedBy } of sets) {
      const allowed = limits[name];
      if (allowed === undefined) continue;
      const limit = rounded(allowed + (more[name] ?? 0));
      const used = rounded(counted[name].of(usedBy));
      if (!isOver(used, limit)) continue;
      const what = name === 'maxVisits' ? `visits to ${role}` : `${counted[name].unit}${whose}`;
      const where = ofCaller === undefined ? '' : ` in thread ${ofCaller}, which called it,`;
      const missing = roundUp(name, allowed + Math.max(0, used - limit));
      const isShared = allowance.isShared === true && budgets.includes(name);
      const text = `the limit of ${limit} ${what}${where} is ${verb}${isShared ? ', child threads included' : ''}`;
      return { name, limit, used, missing, text, caller: ofCaller };
    }
  }
  // What people have allowed a child is theirs to spend, whatever its callers may.
  const above = caller && { ...caller.allowance, more: sumOf(caller.allowance.more, more) };
  return above && firstOf(above, isOver, verb, budgets, caller.thread);
}

/** Without what adding up fractions leaves behind. */
function rounded(amount: number): number {
  return Number(amount.toFixed(9));
}

/** To whole numbers, and to cents. */
function roundUp(name: CountedLimit, amount: number): number {
  return name === 'maxCostUsd' ? Math.ceil(amount * 100) / 100 : Math.ceil(amount);
}

/** Returns the command that raises a limit at which a thread waits, for a hint. */
export function hintToRaise(thread: ThreadId, { name, missing, caller = thread }: LimitReached): string {
  return `run 'uwf thread resume ${caller} --${counted[name].option} ${missing}' to let it use ${missing} more`;
}

/** A thread waits at a limit, which only a person's word raises. */
export class WaitsAtLimit extends UwfError {
  constructor(thread: ThreadId, reached: LimitReached) {
    const { name, used, text } = reached;
    super(`thread ${thread} waits at a limit: ${text} (${used} used)`, {
      code: 'waits-at-limit',
      kind: 'usage',
      hint: hintToRaise(thread, reached),
      facts: { thread, limit: name, used },
    });
  }
}

export class TurnTimeout extends UwfError {
  constructor(role: string, isIdle: boolean, limitMs: number) {
    super(
      isIdle
        ? `${role} gave no sign of life for ${limitMs / 1000} s`
        : `${role} did not finish within ${limitMs / 1000} s`,
      {
        code: isIdle ? 'turn-idle' : 'turn-timeout',
        kind: 'timeout',
        hint: `raise limits.${isIdle ? 'idleTimeoutMs' : 'timeoutMs'}, or resume the thread to try again`,
      },
    );
  }
}

export class BudgetExceeded extends UwfError {
  constructor(reason: string) {
    super(reason, {
      code: 'budget-exceeded',
      kind: 'timeout',
      hint: 'raise the limit, or resume the thread with more',
    });
  }
}

/** A person or a signal stopped the engine. */
export class Interrupted extends UwfError {
  constructor(thread: string, cause?: unknown) {
    super('stopped before the step was finished; what it has used counts, and the next turn stores it', {
      code: 'interrupted',
      kind: 'interrupted',
      // Cancelling a thread stops its process first, and ends the thread afterwards.
      hint: `'uwf thread run ${thread}' goes on from the last step, unless the thread was cancelled`,
      cause,
    });
  }
}

/**
 * The clocks of one turn: total time, and time since the agent's last sign of life.
 *
 * `signal` is aborted with a {@link TurnTimeout} when one runs out, or with the engine's own reason.
 */
export class TurnClock {
  readonly signal: AbortSignal;
  readonly #controller = new AbortController();
  readonly #engine: AbortSignal;
  readonly #stopWithEngine = (): void => this.#controller.abort(this.#engine.reason);
  #reason: Error | undefined;
  readonly #role: string;
  readonly #idleMs: number | undefined;
  readonly #total: NodeJS.Timeout | undefined;
  #idle: NodeJS.Timeout | undefined;

  constructor(role: string, limits: Limits, signal: AbortSignal) {
    this.signal = this.#controller.signal;
    this.#engine = signal;
    // Not `AbortSignal.any`: what waits for its signal would be kept until the engine's own is aborted, turn after turn.
    if (signal.aborted) this.#stopWithEngine();
    else signal.addEventListener('abort', this.#stopWithEngine, { once: true });
    this.#role = role;
    this.#idleMs = limits.idleTimeoutMs;
    const { timeoutMs } = limits;
    if (timeoutMs !== undefined) this.#total = this.#start(false, timeoutMs);
    this.touch();
  }

  /** The agent gave a sign of life. */
  touch(): void {
    if (this.#idleMs === undefined) return;
    clearTimeout(this.#idle);
    this.#idle = this.#start(true, this.#idleMs);
  }

  /** Ends the turn because of something that only ending it can put right; `failure` is that then. */
  fail(failure: Error): void {
    this.#reason ??= failure;
    this.#controller.abort(failure);
  }

  stop(): void {
    this.#engine.removeEventListener('abort', this.#stopWithEngine);
    clearTimeout(this.#total);
    clearTimeout(this.#idle);
  }

  /** What ended the turn, if a clock or a budget did. */
  get ranOut(): TurnTimeout | BudgetExceeded | undefined {
    const reason = this.#reason;
    return reason instanceof TurnTimeout || reason instanceof BudgetExceeded ? reason : undefined;
  }

  /** What ended the turn, if {@link fail} did. */
  get failure(): Error | undefined {
    return this.ranOut === undefined ? this.#reason : undefined;
  }

  #start(isIdle: boolean, ms: number): NodeJS.Timeout {
    const timeout = new TurnTimeout(this.#role, isIdle, ms);
    return setTimeout(() => this.fail(timeout), Math.min(ms, MAX_TIMER_MS));
  }
}

/** Limits that cannot be kept, because an agent does not report what they count. */
type UnkeptLimits = {
  limits: readonly CountedLimit[];
  /** `agent 'coder' reports no cost and has no price, so maxCostUsd does not hold for it` */
  text: string;
  hint: string;
  /** Whether no turn may run under them. */
  isRefused: boolean;
};

/** Whether an agent reports what limits count; absent where that is not known. */
type Reports = KnownReports & { turns?: boolean };

const reported = [
  ['maxTurns', 'turns'],
  ['maxTokens', 'tokens'],
  ['maxCostUsd', 'cost'],
] as const;

/** Finds the limits that an agent's turns would pass; `undefined` if there are none, as far as is known. */
export function findUnkept(
  agent: string,
  reports: Reports,
  sets: readonly (ThreadLimits | undefined)[],
): UnkeptLimits | undefined {
  const lacks = (name: keyof Reports): boolean => reports[name] === false;
  const budgets = reported.map(([name, what]) => ({ name, isKept: !lacks(what) }));
  const limits = budgets.flatMap(({ name, isKept }) => (!isKept && isSet(sets, name) ? [name] : []));
  if (limits.length === 0) return undefined;
  const needsPrice = !lacks('tokens') && limits.includes('maxCostUsd');
  const what = needsPrice ? 'no cost and has no price' : lacks('tokens') ? 'no tokens' : 'no turns';
  const kept = ['maxSteps', ...budgets.flatMap(({ name, isKept }) => (isKept ? [name] : []))].join(', ');
  const hold = `${kept} and timeoutMs hold`;
  return {
    limits,
    text: `agent '${agent}' reports ${lacks('tokens') && lacks('cost') ? 'neither tokens nor cost' : what}, so ${limits.join(' and ')} ${limits.length > 1 ? 'do' : 'does'} not hold for it`,
    hint: needsPrice ? `add a price to agents.${agent}; without one, ${hold}` : hold,
    isRefused: sets.some((set) => set?.unknownUsage === 'refuse'),
  };
}

function isSet(sets: readonly (ThreadLimits | undefined)[], name: CountedLimit): boolean {
  return sets.some((limits) => limits?.[name] !== undefined);
}

function setsOf({ ofThread, ofRole, caller }: Allowance): ThreadLimits[] {
  return [ofThread, ofRole, ...(caller === undefined ? [] : setsOf(caller.allowance))];
}

/** What an agent reports, by the usage of a turn. */
export function reportedIn(usage: Usage | null): Reports {
  const { inputTokens = 0, outputTokens = 0, turns = 0, costUsd } = usage ?? {};
  return { turns: turns > 0, tokens: inputTokens + outputTokens > 0, cost: costUsd !== undefined };
}

/** Looks at what a turn's agent reports, for the limits that hold for the turn. */
export type UsageWatch = {
  /** Why the turn may not run; `undefined` if it may. */
  refusal: string | undefined;
  /** The turn begins. */
  began: () => void;
  /** The turn has left a step, and this is what it used. */
  ended: (usage: Usage | null) => void;
};

/**
 * Finds out, before a role's turn, whether its limits can be kept: by the role's last step, if the same agent took it, else by
 * what is known of the agent. If they cannot, it is told when the agent's first turn begins or has left its step; once in a run.
 * @param turn.reports `undefined` for an agent that asks no model
 * @param turn.last the role's last step, if it has one
 */
export async function watchUsage(
  engine: Machine & Telling,
  thread: ThreadId,
  turn: { allowance: Allowance; record: AgentRecord; reports: KnownReports | undefined; last: ObjectId | undefined },
): Promise<UsageWatch> {
  const { allowance, record, reports } = turn;
  const { role } = allowance;
  const sets = setsOf(allowance);
  const isLimited = reported.some(([name]) => isSet(sets, name));
  const silent = { began: () => {}, ended: () => {} };
  if (reports === undefined || !isLimited) return { refusal: undefined, ...silent };
  const find = (known: Reports): UnkeptLimits | undefined => findUnkept(record.name, known, sets);
  const place = { thread, role, agent: record.name };
  const root = engine.caller?.root ?? thread;
  const tell = (unkept: UnkeptLimits | undefined): void => {
    const key = `${root} ${unkept?.text}`;
    if (unkept === undefined || engine.told.has(key)) return;
    engine.told.add(key);
    const { limits, text, hint } = unkept;
    engine.tell({ event: 'limits.unkept', ...place, limits, text, hint });
  };
  const used = await usedBy(engine, record, turn.last);
  const unkept = find(used === undefined ? reports : reportedIn(used));
  const refusal = unkept?.isRefused ? `${unkept.text}, and unknownUsage is 'refuse'; ${unkept.hint}` : undefined;
  if (used !== undefined || refusal !== undefined) return { refusal, ...silent };
  return { refusal, began: () => tell(unkept), ended: (usage) => tell(find(reportedIn(usage))) };
}

/** What the last step has used, if this agent took it as it is configured now. */
async function usedBy(
  { repository }: Reading,
  record: AgentRecord,
  last: ObjectId | undefined,
): Promise<Usage | null | undefined> {
  const step = last && (await readThreadCommit(repository, last));
  const isIts = step?.kind === 'step' && step.node.agent === encodeNode(builtIn.agent, record).hash;
  return isIts ? step.node.usage : undefined;
}
