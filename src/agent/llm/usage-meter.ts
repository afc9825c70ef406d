import type { LanguageModelUsage } from 'ai';

import type { Usage } from '../contract.ts';
import type { TokenPrice } from './llm-config.ts';

/** Counts what the answers of a model have cost. */
export class UsageMeter {
  readonly #price: TokenPrice | undefined;
  #inputTokens = 0;
  #outputTokens = 0;
  #turns = 0;

  constructor(price: TokenPrice | undefined) {
    this.#price = price;
  }

  /** Takes in one answer and gives what it alone has cost. */
  add({ inputTokens = 0, outputTokens = 0 }: LanguageModelUsage): Usage {
    this.#inputTokens += inputTokens;
    this.#outputTokens += outputTokens;
    this.#turns += 1;
    return this.#usageOf(inputTokens, outputTokens, 1);
  }

  get total(): Usage {
    return this.#usageOf(this.#inputTokens, this.#outputTokens, this.#turns);
  }

  #usageOf(inputTokens: number, outputTokens: number, turns: number): Usage {
    const usage = { inputTokens, outputTokens, turns };
    if (this.#price === undefined) return usage;
    const { inputPerMTok, outputPerMTok } = this.#price;
    return { ...usage, costUsd: (inputTokens * inputPerMTok + outputTokens * outputPerMTok) / 1_000_000 };
  }
}
