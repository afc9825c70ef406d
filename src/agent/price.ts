import type { Usage } from '../schema/built-in/schema-parts.ts';
import type { Agent, AgentEvent, AgentReply, TokenPrice } from './contract.ts';
import { numberSchema, objectSchema, type SchemaOf } from '../schema/typed-schema.ts';

const dollars = (description: string, example: number): SchemaOf<number> =>
  numberSchema(description, 0, { examples: [example] });

/** JSON Schema of {@link TokenPrice}. */
export const priceSchema: SchemaOf<TokenPrice> = objectSchema(
  { inputPerMTok: dollars('that the model reads', 3), outputPerMTok: dollars('that the model writes', 15) },
  {
    cacheReadPerMTok: dollars('of those read from a cache (as inputPerMTok)', 0.3),
    cacheWritePerMTok: dollars('of those written to a cache (as inputPerMTok)', 3.75),
  },
  { description: 'US dollars for a million tokens, for an agent that reports tokens and no cost' },
);

/**
 * Gives an agent whose usage has the cost of its tokens, wherever the agent reports tokens without a cost of its own. It is told
 * the price with each request.
 */
export function withPrice(agent: Agent, price: TokenPrice): Agent {
  return {
    answers: agent.answers === true,
    close: async () => agent.close?.(),
    run: async (request) => {
      const emit = (event: AgentEvent): void => request.emit(pricedIn(event, price));
      return pricedIn(await agent.run({ ...request, price, emit }), price);
    },
  };
}

function pricedIn<T extends AgentEvent | AgentReply>(said: T, price: TokenPrice): T {
  return 'usage' in said && said.usage !== undefined ? { ...said, usage: priced(said.usage, price) } : said;
}

/**
 * Adds to a usage what its tokens cost. One that has a cost, or no tokens, stays as it is.
 *
 * No server asks more for what it reads from a cache than for other input, but some do for what they write to one.
 */
export function priced(usage: Usage, price: TokenPrice): Usage {
  const { inputTokens, outputTokens, cacheReadTokens = 0, cacheWriteTokens = 0 } = usage;
  if (usage.costUsd !== undefined || inputTokens + outputTokens === 0) return usage;
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
