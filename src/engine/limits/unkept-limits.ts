import { encodeNode } from '../../cas/node.ts';
import type { KnownReports } from '../../agent/load/load-agent.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import { builtIn } from '../../schema/built-in.ts';
import type { AgentRecord } from '../../schema/built-in/workflow.ts';
import type { CountedLimit, ThreadLimits, Usage } from '../../schema/built-in/schema-parts.ts';
import { readThreadCommit } from '../../thread/thread-commit.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import type { Machine, Reading, Telling } from '../engine-context.ts';
import type { Allowance } from './limits.ts';

/** Limits that cannot be kept, because an agent does not report what they count. */
export type UnkeptLimits = {
  limits: readonly CountedLimit[];
  /** `agent 'coder' reports no cost and has no price, so maxCostUsd does not hold for it` */
  text: string;
  hint: string;
  /** Whether no turn may run under them. */
  isRefused: boolean;
};

/** Whether an agent reports what limits count; absent where that is not known. */
type Reports = KnownReports & { turns?: boolean };

/** What each budget counts. */
const counted = [
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
  const budgets = counted.map(([name, what]) => ({ name, isKept: !lacks(what) }));
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
  const isLimited = counted.some(([name]) => isSet(sets, name));
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
