import type { JsonObject, JsonValue } from '../../json.ts';
import type { Usage } from '../contract.ts';

/** One visit of a role in a script. Of `fail`, `suspend` and `reply` the first that is given happens. */
export type ScriptEntry = {
  /** Texts that are put into the thread's store first; `{{ put[0] }}` in `reply` and `meta` is the first one's hash. */
  put?: string[];
  /** Waits so long before anything else comes, in ms. */
  delayMs?: number;
  /** The attempt fails, for this reason. */
  fail?: string;
  /** Suspends the thread, for this reason; once it was answered, `reply` follows, with the answer as `{{ answer }}`. */
  suspend?: string;
  /** The reply, front matter and all. */
  reply?: string;
  /** The structured result apart from the text. */
  meta?: JsonObject;
  usage?: Usage;
  /** What comes at the second try of the same visit, at the third …; without it, the same again. */
  retries?: (string | ScriptEntry)[];
};

/** Replies by role, one entry for each visit; a text alone is an entry with just that reply. */
export type Script = Record<string, (string | ScriptEntry)[]>;

const entrySchema: JsonObject = {
  anyOf: [
    { type: 'string' },
    {
      type: 'object',
      additionalProperties: false,
      anyOf: [{ required: ['reply'] }, { required: ['meta'] }, { required: ['fail'] }, { required: ['suspend'] }],
      properties: {
        put: {
          description: "texts that are put into the thread's store first; '{{ put[0] }}' is the first one's hash",
          type: 'array',
          items: { type: 'string' },
        },
        delayMs: { description: 'how long it waits first, in ms', type: 'integer', minimum: 0 },
        fail: { description: 'the attempt fails, for this reason', type: 'string' },
        suspend: { description: 'the thread waits, for this reason', type: 'string' },
        reply: { description: 'the reply, front matter and all', type: 'string' },
        meta: { description: 'the fields of the reply apart from the text', type: 'object' },
        usage: {
          description: 'what the turn is said to have used',
          type: 'object',
          additionalProperties: false,
          required: ['inputTokens', 'outputTokens', 'turns'],
          properties: {
            inputTokens: { description: 'tokens in', type: 'integer', minimum: 0 },
            outputTokens: { description: 'tokens out', type: 'integer', minimum: 0 },
            turns: { description: 'how often a model was asked', type: 'integer', minimum: 0 },
            costUsd: { description: 'US dollars', type: 'number', minimum: 0 },
            cacheReadTokens: { description: 'of the tokens in, those read from a cache', type: 'integer', minimum: 0 },
            cacheWriteTokens: {
              description: 'of the tokens in, those written to a cache',
              type: 'integer',
              minimum: 0,
            },
            isAtLeast: { description: 'that not all of it is known', const: true },
          },
        },
        retries: {
          description: 'what comes at the second try of the same visit, at the third …',
          type: 'array',
          items: { $ref: '#/$defs/entry' },
        },
      },
    },
  ],
};

/** JSON Schema of a {@link Script}; its `$ref`s need {@link scriptDefinitions} at the root. */
export const scriptSchema: JsonObject = {
  type: 'object',
  additionalProperties: { type: 'array', items: { $ref: '#/$defs/entry' } },
};

/** The `$defs` that {@link scriptSchema} refers to. */
export const scriptDefinitions: JsonObject = { entry: entrySchema };

/**
 * Picks what a script says for one try of one visit; `undefined` where it says nothing any more.
 * @param isRepeating the last entry stands for all visits after it
 */
export function pickEntry(
  entries: readonly (string | ScriptEntry)[],
  { visit, attempt, isRepeating }: { visit: number; attempt: number; isRepeating: boolean },
): ScriptEntry | undefined {
  const picked = entries[isRepeating ? Math.min(visit, entries.length - 1) : visit];
  if (picked === undefined) return undefined;
  const entry = asEntry(picked);
  if (attempt === 0 || entry.retries === undefined) return entry;
  const retry = entry.retries[attempt - 1];
  return retry === undefined ? undefined : asEntry(retry);
}

/** Replaces `{{ put[0] }}` and `{{ answer }}` in a text, or in every text of a value. An unknown one stays as it is. */
export function fillIn<T extends JsonValue>(
  value: T,
  words: { put: readonly string[]; answer: string | undefined },
): T {
  // Texts become texts, lists lists, objects objects: the shape stays.
  return fill(value, words) as T;
}

function fill(value: JsonValue, words: { put: readonly string[]; answer: string | undefined }): JsonValue {
  if (typeof value === 'string') {
    return value
      .replace(/\{\{\s*put\[(\d+)\]\s*\}\}/gu, (placeholder, index: string) => words.put[Number(index)] ?? placeholder)
      .replace(/\{\{\s*answer\s*\}\}/gu, (placeholder) => words.answer ?? placeholder);
  }
  if (Array.isArray(value)) return value.map((item) => fill(item, words));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fill(item, words)]));
}

function asEntry(entry: string | ScriptEntry): ScriptEntry {
  return typeof entry === 'string' ? { reply: entry } : entry;
}
