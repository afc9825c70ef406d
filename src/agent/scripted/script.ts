import type { JsonObject } from '../../json.ts';
import type { Usage } from '../contract.ts';
import {
  integerSchema,
  listSchema,
  numberSchema,
  objectSchema,
  recordSchema,
  textSchema,
  asValidated,
} from '../typed-schema.ts';
import type { SchemaOf } from '../typed-schema.ts';
import { readRegularFile } from '../../git/system/files.ts';
import { isJsonObject } from '../../json.ts';
import { AgentBroken } from '../agent-errors.ts';
import { checkValue } from '../extract/check-value.ts';

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

const entryReference: SchemaOf<string | ScriptEntry> = { $ref: '#/$defs/entry' };

const isTrue: SchemaOf<true> = { description: 'that not all of it is known', const: true };

const usageSchema: SchemaOf<Usage> = objectSchema(
  {
    inputTokens: integerSchema('tokens in', 0),
    outputTokens: integerSchema('tokens out', 0),
    turns: integerSchema('how often a model was asked', 0),
  },
  {
    costUsd: numberSchema('US dollars', 0),
    cacheReadTokens: integerSchema('of the tokens in, those read from a cache', 0),
    cacheWriteTokens: integerSchema('of the tokens in, those written to a cache', 0),
    isAtLeast: isTrue,
  },
  { description: 'what the turn is said to have used' },
);

const entrySchema: SchemaOf<string | ScriptEntry> = {
  anyOf: [
    textSchema(),
    objectSchema(
      {},
      {
        put: listSchema(
          textSchema(),
          "texts that are put into the thread's store first; '{{ put[0] }}' is the first one's hash",
        ),
        delayMs: integerSchema('how long it waits first, in ms', 0),
        fail: textSchema('the attempt fails, for this reason'),
        suspend: textSchema('the thread waits, for this reason'),
        reply: textSchema('the reply, front matter and all'),
        meta: { description: 'the fields of the reply apart from the text', type: 'object' },
        usage: usageSchema,
        retries: listSchema(entryReference, 'what comes at the second try of the same visit, at the third …'),
      },
      { anyOf: [{ required: ['reply'] }, { required: ['meta'] }, { required: ['fail'] }, { required: ['suspend'] }] },
    ),
  ],
};

/** JSON Schema of a {@link Script}; its `$ref`s need {@link scriptDefinitions} at the root. */
export const scriptSchema: SchemaOf<Script> = recordSchema(listSchema(entryReference));

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

/** Replaces `{{ put[0] }}` and `{{ answer }}` in a text. An unknown one stays as it is. */
export function fillIn(text: string, words: { put: readonly string[]; answer: string | undefined }): string {
  return text
    .replace(/\{\{\s*put\[(\d+)\]\s*\}\}/gu, (placeholder, index: string) => words.put[Number(index)] ?? placeholder)
    .replace(/\{\{\s*answer\s*\}\}/gu, (placeholder) => words.answer ?? placeholder);
}

function asEntry(entry: string | ScriptEntry): ScriptEntry {
  return typeof entry === 'string' ? { reply: entry } : entry;
}

/** A script is written by hand. */
const MAX_BYTES = 1024 * 1024;

/**
 * Reads a script from a YAML or JSON file: lists of replies by role.
 * @throws {AgentBroken} when it cannot be read, or is not a script; the message names the file and the place
 */
export async function loadScript(file: string): Promise<Script> {
  const hint = 'write lists of replies by role: \'writer: ["first reply", "second reply"]\'';
  const source = read(file);
  const yaml = await import('yaml');
  const document = yaml.parseDocument(source, { version: '1.2', logLevel: 'silent' });
  const [fault] = document.errors;
  // The mistake and its place, without the text of the file: a link may lead to any file.
  const mistake = fault?.message.replace(/:?\n[^]*$/u, '');
  if (mistake !== undefined) throw new AgentBroken(`the script ${file} is not YAML: ${mistake}`, { hint });
  const script: unknown = document.toJS();
  if (!isJsonObject(script)) throw new AgentBroken(`the script ${file} does not list replies by role`, { hint });
  const mistakes = await checkValue({ ...scriptSchema, $defs: scriptDefinitions }, script, 'script');
  if (mistakes.length > 0) throw new AgentBroken(`the script ${file} is not valid: ${mistakes.join('; ')}`, { hint });
  return asValidated(script, scriptSchema);
}

function read(file: string): string {
  try {
    return readRegularFile(file, MAX_BYTES).toString('utf8');
  } catch (cause) {
    throw new AgentBroken(`the script ${file} cannot be read`, { hint: "correct 'file' of the agent", cause });
  }
}
