import type { LanguageModelUsage } from 'ai';

import { addUsage } from '../../schema/built-in/schema-parts.ts';
import type { Usage } from '../contract.ts';

/** Counts what the answers of a model have used. */
export class UsageMeter {
  #total: Usage = { inputTokens: 0, outputTokens: 0, turns: 0 };

  /** Takes in one answer and gives what it alone has used. */
  add({ inputTokens, outputTokens, inputTokenDetails: caches }: LanguageModelUsage): Usage {
    const { cacheReadTokens, cacheWriteTokens } = caches;
    const usage: Usage = {
      inputTokens: inputTokens ?? 0,
      outputTokens: outputTokens ?? 0,
      turns: 1,
      // The library says 0 as well where the server said nothing.
      ...(cacheReadTokens && { cacheReadTokens }),
      ...(cacheWriteTokens && { cacheWriteTokens }),
      ...((inputTokens === undefined || outputTokens === undefined) && { isAtLeast: true }),
    };
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
