import type { PromptResponse } from '@agentclientprotocol/sdk/unstable';
import { isJsonObject, type JsonValue, parseJson } from '../../json.ts';
import { addUsage } from '../../schema/built-in/schema-parts.ts';
import type { Usage } from '../contract.ts';
import { satisfiesRange } from '../version-range.ts';

/** A session as it was left: by another process, or in another turn. */
type LeftSession = {
  id: string;
  /** What it had cost, as the agent told it last; `undefined` where it told nothing. */
  costUsd: number | undefined;
};

/** The name under which the engine keeps a session for the role's next turn. */
export function nameOfSession({ id, costUsd }: LeftSession): string {
  return costUsd === undefined && !id.startsWith('{') ? id : JSON.stringify({ id, costUsd });
}

/** Reads such a name; a name of an older uwf is the id alone. */
export function readSessionName(name: string): LeftSession {
  const value = parseJson(name);
  if (!isJsonObject(value) || typeof value['id'] !== 'string') return { id: name, costUsd: undefined };
  const { id, costUsd } = value;
  return { id, costUsd: typeof costUsd === 'number' && costUsd >= 0 ? costUsd : undefined };
}

/**
 * How an agent counts the cost of a session that a new process goes on with:
 *
 * - `sum`: on from what it was, as ACP has it
 * - `anew`: from 0
 * - `unknown`: probably as ACP has it; no version was tried
 */
type CostCounting = 'sum' | 'anew' | 'unknown';

/** What was tried: test/agents/usage.agents.ts. */
const countings: readonly { name: string; versions: string; counting: CostCounting }[] = [
  { name: 'OpenCode', versions: '>=1', counting: 'sum' },
  // Its SDK keeps the cost with the session since 0.3.277.
  { name: '@agentclientprotocol/claude-agent-acp', versions: '>=0.80.0', counting: 'sum' },
  { name: '@agentclientprotocol/claude-agent-acp', versions: '<0.80.0', counting: 'anew' },
];

/** Tells how an agent counts, by how it calls itself. */
export async function costCountingOf(agent?: { name: string; version: string } | null): Promise<CostCounting> {
  for (const { name, versions, counting } of countings) {
    if (agent?.name === name && (await satisfiesRange(agent.version, versions))) return counting;
  }
  return 'unknown';
}

/** What is known of the cost of a prompt. */
export type CostOfPrompt = { costUsd?: number; isAtLeast?: true };

/** Follows what an agent says that a session has cost so far, and gives each prompt its share. */
export class SessionCost {
  readonly #counting: CostCounting;
  /** What was told before by this process. */
  #toldUsd: number | undefined;
  /** What another process left; `undefined` for a session that is new. */
  readonly #left: LeftSession | undefined;

  constructor(counting: CostCounting, left: LeftSession | undefined) {
    this.#counting = counting;
    this.#left = left;
  }

  /** What the session has cost, as it was told last. */
  get usd(): number | undefined {
    return this.#toldUsd ?? this.#left?.costUsd;
  }

  /**
   * Gives the share of a prompt in which the agent told a cost of the session; of one in which it told none, that it is
   * unknown where it told one before. What an earlier prompt has cost that nothing was told of is in the next one's share.
   */
  share(sumUsd: number | undefined): CostOfPrompt {
    const share = this.soFar(sumUsd);
    this.#toldUsd = sumUsd ?? this.#toldUsd;
    return share;
  }

  /** The same for a prompt that goes on. */
  soFar(sumUsd: number | undefined): CostOfPrompt {
    const known = this.usd;
    if (sumUsd === undefined) return known === undefined ? {} : { isAtLeast: true };
    const isFirst = this.#toldUsd === undefined;
    if (!isFirst || this.#left === undefined) return exact(sumUsd - (isFirst ? 0 : (known ?? 0)));
    if (this.#counting === 'anew') return exact(sumUsd);
    if (known === undefined) return { isAtLeast: true };
    if (sumUsd >= known) return { ...exact(sumUsd - known), ...(this.#counting === 'unknown' && { isAtLeast: true }) };
    // The sum was lost, all of it or the newest part: an agent that keeps it ended before it could write it down.
    return this.#counting === 'sum' ? { isAtLeast: true } : exact(sumUsd);
  }
}

/** Without what taking away fractions leaves behind. */
function exact(costUsd: number): CostOfPrompt {
  return costUsd < 0 ? { isAtLeast: true } : { costUsd: Number(costUsd.toFixed(12)) };
}

/**
 * Reads what an answer to a prompt says of tokens: ACP's `usage`, and the `_meta.quota` of the Gemini CLI and of the bridges
 * of Claude and Codex, where each model has a row of its own, subagents and titles included. The fullest of them counts.
 */
export function tokensOfAnswer(response: PromptResponse | undefined): Usage | undefined {
  const answer: unknown = response;
  const { usage, _meta: meta } = isJsonObject(answer) ? answer : {};
  const quota = isJsonObject(meta) ? meta['quota'] : undefined;
  const { token_count: count, model_usage: rows } = isJsonObject(quota) ? quota : {};
  const byModel = Array.isArray(rows)
    ? rows.map((row) => readTokens(isJsonObject(row) ? row['token_count'] : null))
    : [];
  const ofModels = byModel.reduce<Usage | null>((sum, tokens) => addUsage(sum, tokens), null) ?? undefined;
  return fullest(readTokens(usage), readTokens(count), ofModels);
}

/** Of several reports of the same, the one with the most tokens. */
function fullest(...reports: readonly (Usage | undefined)[]): Usage | undefined {
  const total = (usage: Usage): number => usage.inputTokens + usage.outputTokens;
  return reports.reduce(
    (most, report) => (report && (!most || total(report) > total(most)) ? report : most),
    undefined,
  );
}

/**
 * Reads counts of tokens as ACP names them, or as one of those agents does; `undefined` where there are none.
 *
 * For some agents the tokens of caches are part of the input and thoughts are part of the output, for others they come on
 * top: the total tells. Where it does not, the smaller reading holds, and the truth is at least that.
 */
export function readTokens(counts: JsonValue | undefined): Usage | undefined {
  if (!isJsonObject(counts)) return undefined;
  const find = (...names: readonly string[]): number | undefined =>
    names
      .map((name) => counts[name])
      .find((value): value is number => Number.isSafeInteger(value) && Number(value) >= 0);
  const input = find('inputTokens', 'input_tokens');
  const output = find('outputTokens', 'output_tokens');
  if (input === undefined || output === undefined) return undefined;
  const cacheRead = find('cachedReadTokens', 'cachedInputTokens');
  const cacheWrite = find('cachedWriteTokens', 'cacheWriteInputTokens');
  const caches = (cacheRead ?? 0) + (cacheWrite ?? 0);
  const thoughts = find('thoughtTokens', 'reasoningOutputTokens') ?? 0;
  const total = find('totalTokens', 'total_tokens') ?? (caches + thoughts === 0 ? input + output : undefined);
  const readings = [
    [input, output],
    [input + caches, output],
    [input, output + thoughts],
    [input + caches, output + thoughts],
  ] as const;
  // A part is no larger than the whole.
  const possible = readings.filter(([all, said]) => all >= caches && said >= thoughts);
  const told = possible.find(([all, said]) => all + said === total);
  const [inputTokens, outputTokens] = told ?? possible[0] ?? readings[3];
  return {
    inputTokens,
    outputTokens,
    turns: 1,
    ...(cacheRead !== undefined && { cacheReadTokens: cacheRead }),
    ...(cacheWrite !== undefined && { cacheWriteTokens: cacheWrite }),
    ...(told === undefined && { isAtLeast: true }),
  };
}

/** What the updates of a prompt told of its usage; see `UpdateReader`. */
type ToldOfPrompt = { requests: Usage | undefined; contextTokens: number | undefined; turns: number };

/**
 * What a prompt has used, by all that the agent told; `undefined` where it ended in order and its model said nothing. It is at
 * least that where the agent told nothing, where it was cut off, and where it told of its last request alone, as opencode does.
 */
export function usageOfPrompt(
  response: PromptResponse | undefined,
  told: ToldOfPrompt,
  cost: CostOfPrompt,
): Usage | undefined {
  const { requests, contextTokens } = told;
  const tokens = fullest(requests, tokensOfAnswer(response));
  const turns = Math.max(told.turns, requests?.turns ?? 0);
  const isCutOff = response === undefined || response.stopReason === 'cancelled';
  if (tokens === undefined && turns === 0 && !isCutOff) return undefined;
  const { inputTokens, outputTokens } = tokens ?? { inputTokens: 0, outputTokens: 0 };
  // What the context holds is what the last request was given, and for some what it said.
  const isLastAlone =
    turns > 1 && tokens !== requests && [inputTokens, inputTokens + outputTokens].includes(contextTokens ?? -1);
  const isAtLeast = tokens?.isAtLeast ?? cost.isAtLeast ?? (tokens === undefined || isLastAlone || isCutOff);
  return { ...tokens, inputTokens, outputTokens, turns, ...cost, ...(isAtLeast && { isAtLeast }) };
}
