import { type JsonObject, keysOf } from '../../json.ts';

// Pieces of the built-in schemas. They are part of frozen hashes: an edited character renames every node.

/** The dialect of every schema uwf writes. */
export const DIALECT = 'https://json-schema.org/draft/2020-12/schema';

/** A schema of an object with these properties and no others. */
export function closedObject(properties: JsonObject, optional: readonly string[] = []): JsonObject {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', properties, required, additionalProperties: false };
}

/** A built-in schema: a closed object under the name of its type. */
export function builtInObject(
  title: string,
  description: string,
  properties: JsonObject,
  optional: readonly string[] = [],
): JsonObject {
  return { $schema: DIALECT, title, description, ...closedObject(properties, optional) };
}

/**
 * A link to a node. `cas_type` names the types the node may have: a built-in type's name, or a type's hash; without it any
 * type will do.
 */
export function ref(...types: readonly string[]): JsonObject {
  return { type: 'string', ...link(types) };
}

export function refOrNull(...types: readonly string[]): JsonObject {
  return { type: ['string', 'null'], ...link(types) };
}

export function refList(...types: readonly string[]): JsonObject {
  return { type: 'array', items: ref(...types) };
}

function link(types: readonly string[]): JsonObject {
  const [only, ...others] = types;
  if (only === undefined) return { format: 'cas_ref' };
  return { format: 'cas_ref', cas_type: others.length === 0 ? only : [...types] };
}

export const anyText: JsonObject = { type: 'string' };

export const word: JsonObject = { type: 'string', minLength: 1 };

export const positive: JsonObject = { type: 'integer', minimum: 1 };

/** A whole number from 0 on: a count, or a duration in ms. */
export const count: JsonObject = { type: 'integer', minimum: 0 };

/** A point in time, in ms since 1970-01-01T00:00:00Z. */
export const timeMs: JsonObject = { type: 'integer', minimum: 0 };

/** The last point in time of which a date can be made; {@link timeMs} is frozen without it. Source: ECMA-262, time values. */
export const LAST_TIME_MS = 8.64e15;

/** A place in the workflow's list of rules, counted from 0, or null. */
export const ruleOrNull: JsonObject = { type: ['integer', 'null'], minimum: 0 };

/** What redaction took out of a node's texts. */
export type Redacted = {
  /** How many values, at least 1. */
  count: number;
  /** The version of the table of rules. */
  table: string;
};

export const redacted: JsonObject = closedObject({ count: positive, table: word });

export const objectId: JsonObject = { type: 'string', pattern: '^(?:[0-9a-f]{40}|[0-9a-f]{64})$' };

export const anyObject: JsonObject = { type: 'object' };

/** A flag that is either set or absent. */
export const isSet: JsonObject = { const: true };

/** How the turns of a role are kept apart from the main work tree. */
export const isolations = ['none', 'shared', 'worktree', 'strict'] as const;
export type Isolation = (typeof isolations)[number];
export const isolation: JsonObject = { enum: [...isolations] };

/** An object whose keys are names. */
export function mapOf(values: JsonObject): JsonObject {
  return { type: 'object', propertyNames: { minLength: 1 }, additionalProperties: values };
}

/**
 * What a turn cost. `inputTokens + outputTokens` is all that was used, whatever the agent: limits count it.
 */
export type Usage = {
  /** All tokens of the model's input, also those that were read from a cache or written to one. */
  inputTokens: number;
  /** All tokens of the model's output, its thoughts included. */
  outputTokens: number;
  /** How often the model was asked. */
  turns: number;
  /** In US dollars; absent where the agent does not say. */
  costUsd?: number;
  /** Those of `inputTokens` that were read from a cache; absent where the agent does not say. */
  cacheReadTokens?: number;
  /** Those of `inputTokens` that were written to a cache; absent where the agent does not say. */
  cacheWriteTokens?: number;
  /** Present where a part of the tokens or of the cost is not known: it was no less than this. */
  isAtLeast?: true;
};

export const costUsd: JsonObject = { type: 'number', minimum: 0 };

export const usage: JsonObject = closedObject(
  {
    inputTokens: count,
    outputTokens: count,
    turns: count,
    costUsd,
    cacheReadTokens: count,
    cacheWriteTokens: count,
    isAtLeast: isSet,
  },
  ['costUsd', 'cacheReadTokens', 'cacheWriteTokens', 'isAtLeast'],
);

/** Usage, or null where the agent reports none. */
export const usageOrNull: JsonObject = { anyOf: [usage, { type: 'null' }] };

/** What the children of each role have used, with all that these called, where it is known. */
export type UsageByRole = Record<string, Usage>;

export const usageByRole: JsonObject = mapOf(usage);

/**
 * Adds up two usages. A count that only one of them has is the sum's as well; a cost that only one has is less than all of
 * it, where the other one has used tokens.
 */
export function addUsage(sum: Usage | null, more: Usage | null | undefined): Usage | null {
  if (!more) return sum;
  if (!sum) return more;
  const added: Usage = {
    inputTokens: sum.inputTokens + more.inputTokens,
    outputTokens: sum.outputTokens + more.outputTokens,
    turns: sum.turns + more.turns,
  };
  for (const name of ['costUsd', 'cacheReadTokens', 'cacheWriteTokens'] as const) {
    if (sum[name] !== undefined || more[name] !== undefined) added[name] = (sum[name] ?? 0) + (more[name] ?? 0);
  }
  const isUnpriced = (usage: Usage): boolean =>
    usage.costUsd === undefined && usage.inputTokens + usage.outputTokens > 0 && added.costUsd !== undefined;
  const isAtLeast = sum.isAtLeast ?? more.isAtLeast ?? (isUnpriced(sum) || isUnpriced(more));
  return { ...added, ...(isAtLeast && { isAtLeast }) };
}

/**
 * Stops for a role, a workflow or a thread; an absent one does not limit.
 *
 * A role's count its own steps, the others' the thread's. Where several name the same limit each holds.
 */
export type Limits = {
  /** Steps of the thread, all roles together. */
  maxSteps?: number;
  /** Steps of one role. */
  maxVisits?: number;
  /** Wall time of one turn, in ms. */
  timeoutMs?: number;
  /** Time without a sign of life from the agent, in ms. */
  idleTimeoutMs?: number;
  /** How often models are asked. */
  maxTurns?: number;
  /** Tokens in and out. */
  maxTokens?: number;
  /** In US dollars, as far as agents say what they cost. */
  maxCostUsd?: number;
  /** Nesting of child threads; 0 allows none. */
  maxDepth?: number;
};

/** What comes of an agent that does not report what a limit counts: a warning, or a suspension before its next turn. */
type UnknownUsage = 'warn' | 'refuse';

/** Limits of a workflow or of a configuration. */
export type ThreadLimits = Limits & { unknownUsage?: UnknownUsage };

export const limitBounds: Record<keyof Limits, JsonObject> = {
  maxSteps: positive,
  maxVisits: positive,
  timeoutMs: positive,
  idleTimeoutMs: positive,
  maxTurns: positive,
  maxTokens: positive,
  maxCostUsd: { type: 'number', exclusiveMinimum: 0 },
  maxDepth: { type: 'integer', minimum: 0 },
};

export const limitNames: readonly (keyof Limits)[] = keysOf(limitBounds);

/** The limits that count over a thread's life. */
export type CountedLimit = 'maxSteps' | 'maxVisits' | 'maxTurns' | 'maxTokens' | 'maxCostUsd';

/** What is added to limits that count over a thread's life. */
export type MoreLimits = Pick<Limits, CountedLimit>;

export const countedLimits: readonly CountedLimit[] = ['maxSteps', 'maxVisits', 'maxTurns', 'maxTokens', 'maxCostUsd'];

export const moreLimits: JsonObject = closedObject(
  Object.fromEntries(countedLimits.map((name) => [name, limitBounds[name]])),
  countedLimits,
);

export const limitsSchema: JsonObject = closedObject(limitBounds, limitNames);

export const unknownUsages: readonly UnknownUsage[] = ['warn', 'refuse'];

export const threadLimitsSchema: JsonObject = closedObject(
  { ...limitBounds, unknownUsage: { enum: [...unknownUsages] } },
  [...limitNames, 'unknownUsage'],
);

/** Says what is wrong with the value of a limit, after its name; `undefined` if nothing is. */
export function faultOfLimit(name: keyof Limits, value: unknown): string | undefined {
  const { type, minimum, exclusiveMinimum } = limitBounds[name];
  if (type === 'integer') {
    const isFrom = Number.isSafeInteger(value) && Number(value) >= Number(minimum);
    return isFrom ? undefined : `must be a whole number from ${Number(minimum)}`;
  }
  const isAbove = Number.isFinite(value) && Number(value) > Number(exclusiveMinimum);
  return isAbove ? undefined : `must be a number above ${Number(exclusiveMinimum)}`;
}
