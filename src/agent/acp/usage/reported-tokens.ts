import type { PromptResponse } from '@agentclientprotocol/sdk/unstable';

import { isJsonObject } from '../../../json.ts';
import type { JsonValue } from '../../../json.ts';
import { addUsage } from '../../../schema/built-in/schema-parts.ts';
import type { Usage } from '../../contract.ts';

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
export function fullest(...reports: readonly (Usage | undefined)[]): Usage | undefined {
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
