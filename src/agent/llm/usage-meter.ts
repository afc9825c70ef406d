import type { LanguageModelUsage } from 'ai';

import { addUsage } from '../../schema/built-in/usage.ts';
import type { Usage } from '../contract.ts';
import type { TokenPrice } from './llm-config.ts';

/** Counts what the answers of a model have cost. */
export class UsageMeter {
  readonly #price: TokenPrice | undefined;
  #total: Usage = { inputTokens: 0, outputTokens: 0, turns: 0 };

  constructor(price: TokenPrice | undefined) {
    this.#price = price;
    if (price) this.#total.costUsd = 0;
  }

  /** Takes in one answer and gives what it alone has cost. */
  add({ inputTokens, outputTokens, inputTokenDetails: caches }: LanguageModelUsage): Usage {
    const { cacheReadTokens, cacheWriteTokens } = caches;
    const tokens: Usage = {
      inputTokens: inputTokens ?? 0,
      outputTokens: outputTokens ?? 0,
      turns: 1,
      // The library says 0 as well where the server said nothing.
      ...(cacheReadTokens && { cacheReadTokens }),
      ...(cacheWriteTokens && { cacheWriteTokens }),
      ...((inputTokens === undefined || outputTokens === undefined) && { isAtLeast: true }),
    };
    const usage = this.#price ? priced(tokens, this.#price) : tokens;
    this.#total = addUsage(this.#total, usage) ?? usage;
    return usage;
  }

  /** Takes in an answer that broke off: it was paid for, and its server did not say how much. */
  addUnknown(): Usage {
    this.#total = { ...this.#total, isAtLeast: true };
    return this.#total;
  }

  get total(): Usage {
    return this.#total;
  }
}

/** No server asks more for what it reads from a cache than for other input, but some do for what they write to one. */
function priced(usage: Usage, price: TokenPrice): Usage {
  const { inputTokens, outputTokens, cacheReadTokens = 0, cacheWriteTokens = 0 } = usage;
  const { inputPerMTok, outputPerMTok, cacheReadPerMTok = inputPerMTok, cacheWritePerMTok = inputPerMTok } = price;
  const plain = Math.max(0, inputTokens - cacheReadTokens - cacheWriteTokens);
  const costs = [
    plain * inputPerMTok,
    cacheReadTokens * cacheReadPerMTok,
    cacheWriteTokens * cacheWritePerMTok,
    outputTokens * outputPerMTok,
  ];
  const isUnknown = cacheWriteTokens > 0 && price.cacheWritePerMTok === undefined;
  const costUsd = costs.reduce((sum, cost) => sum + cost, 0) / 1_000_000;
  return { ...usage, costUsd, ...(isUnknown && { isAtLeast: true }) };
}
