import type { JsonObject } from '../../json.ts';
import { closedObject, count } from './schema-parts.ts';

/** What a turn cost. */
export type Usage = {
  inputTokens: number;
  outputTokens: number;
  /** How often the model was asked. */
  turns: number;
  /** In US dollars; absent where the agent does not say. */
  costUsd?: number;
};

export const costUsd: JsonObject = { type: 'number', minimum: 0 };

/** Usage, or null where the agent reports none. */
export const usageOrNull: JsonObject = {
  anyOf: [
    closedObject({ inputTokens: count, outputTokens: count, turns: count, costUsd }, ['costUsd']),
    { type: 'null' },
  ],
};
