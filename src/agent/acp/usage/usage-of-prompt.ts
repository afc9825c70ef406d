import type { PromptResponse } from '@agentclientprotocol/sdk/unstable';

import type { Usage } from '../../contract.ts';
import { fullest, tokensOfAnswer } from './reported-tokens.ts';
import type { CostOfPrompt } from './session-cost.ts';
import type { UpdateReader } from '../turn/update-reader.ts';

/**
 * What a prompt has used, by all that the agent told; `undefined` where it ended in order and its model said nothing. It is at
 * least that where the agent told nothing, where it was cut off, and where it told of its last request alone, as opencode does.
 * @param response undefined where the agent gave no answer
 */
export function usageOfPrompt(
  response: PromptResponse | undefined,
  reader: UpdateReader,
  cost: CostOfPrompt,
): Usage | undefined {
  const { requests, contextTokens } = reader;
  const tokens = fullest(requests, tokensOfAnswer(response));
  const turns = Math.max(reader.turns, requests?.turns ?? 0);
  const isCutOff = response === undefined || response.stopReason === 'cancelled';
  if (tokens === undefined && turns === 0 && !isCutOff) return undefined;
  const { inputTokens, outputTokens } = tokens ?? { inputTokens: 0, outputTokens: 0 };
  // What the context holds is what the last request was given, and for some what it said.
  const isLastAlone =
    turns > 1 && tokens !== requests && [inputTokens, inputTokens + outputTokens].includes(contextTokens ?? -1);
  const isAtLeast = tokens?.isAtLeast ?? cost.isAtLeast ?? (tokens === undefined || isLastAlone || isCutOff);
  return { ...tokens, inputTokens, outputTokens, turns, ...cost, ...(isAtLeast && { isAtLeast }) };
}
