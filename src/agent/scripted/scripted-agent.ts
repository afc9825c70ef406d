import { setTimeout as sleep } from 'node:timers/promises';
import { readRegularFile } from '../../git/system/files.ts';
import { isJsonObject, type JsonObject, mapTexts } from '../../json.ts';
import { MAX_TIMER_MS } from '../../time/clock.ts';
import { AgentBroken } from '../agent-errors.ts';
import type { Agent, AgentReply, AgentRequest, PackageDescriptor, Usage } from '../contract.ts';
import { describeBuiltIn } from '../describe-built-in.ts';
import { checkValue } from '../extract/extract-reply.ts';
import {
  asValidated,
  flagSchema,
  integerSchema,
  listSchema,
  numberSchema,
  objectSchema,
  recordSchema,
  type SchemaOf,
  textSchema,
} from '../../schema/typed-schema.ts';

/** One visit of a role in a script. Of `fail`, `suspend` and `reply` the first that is given happens. */
type ScriptEntry = {
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
const scriptSchema: SchemaOf<Script> = recordSchema(listSchema(entryReference));

/** The `$defs` that {@link scriptSchema} refers to. */
const scriptDefinitions: JsonObject = { entry: entrySchema };

/**
 * Picks what a script says for one try of one visit; `undefined` where it says nothing any more.
 * @param isRepeating the last entry stands for all visits after it
 */
function pickEntry(
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
function fillIn(text: string, words: { put: readonly string[]; answer: string | undefined }): string {
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

const repliesSchema: SchemaOf<Script> = { description: 'the replies by role', ...scriptSchema };

const configSchema = objectSchema(
  {},
  {
    file: textSchema("a YAML or JSON file of replies by role; a relative path starts at the repository's top", {
      minLength: 1,
      'x-uwf-path': true,
    }),
    replies: repliesSchema,
    repeat: flagSchema('the last reply of a role stands for all its later visits'),
  },
  { oneOf: [{ required: ['file'] }, { required: ['replies'] }], $defs: scriptDefinitions },
);

/** `builtin:scripted`: says what a script tells it to, by role and visit; for tests and dry runs. */
export const packageDescriptor: PackageDescriptor = describeBuiltIn('scripted', ['streaming'], configSchema);

/**
 * Makes an agent that replies from a script.
 *
 * A script lists entries by role, one for each visit; see `ScriptEntry` for what an entry can do. Visits beyond the last
 * entry are an error, unless `repeat` is set.
 */
export function createAgent(config: JsonObject): Agent {
  const { file, replies, repeat = false } = asValidated(config, configSchema);
  let loading: Promise<Script> | undefined;
  return {
    answers: true,
    run: async (request: AgentRequest): Promise<AgentReply> => {
      request.signal.throwIfAborted();
      loading ??= file === undefined ? Promise.resolve(replies ?? {}) : loadScript(file);
      return perform(findEntry(await loading, request, repeat), request);
    },
  };
}

function findEntry(script: Script, { role, visit, attempt }: AgentRequest, isRepeating: boolean): ScriptEntry {
  const entries = Object.hasOwn(script, role) ? script[role] : undefined;
  if (entries === undefined) {
    throw new AgentBroken(`the script has no replies for role '${role}'`, {
      hint: `add '${role}: [...]' to it; it has: ${Object.keys(script).join(', ') || 'nothing'}`,
    });
  }
  const entry = pickEntry(entries, { visit, attempt, isRepeating });
  if (entry !== undefined) return entry;
  const which = attempt === 0 ? `visit ${visit + 1}` : `try ${attempt + 1} of visit ${visit + 1}`;
  throw new AgentBroken(`the script has no reply for role '${role}' at ${which}`, {
    hint: attempt === 0 ? "add one, or set 'repeat: true'" : "add one to the entry's 'retries'",
  });
}

async function perform(entry: ScriptEntry, request: AgentRequest): Promise<AgentReply> {
  const put: string[] = [];
  for (const text of entry.put ?? []) put.push(await request.cas.put(text));
  const { signal } = request;
  // The timer rejects with an error of its own; the caller that aborted gave the reason.
  if (entry.delayMs !== undefined)
    await sleep(Math.min(entry.delayMs, MAX_TIMER_MS), undefined, { signal }).catch(() => signal.throwIfAborted());
  const usage = entry.usage === undefined ? {} : { usage: entry.usage };
  if (entry.fail !== undefined)
    return { kind: 'failed-attempt', reason: entry.fail, text: entry.reply ?? '', ...usage };
  const hasReply = entry.reply !== undefined || entry.meta !== undefined;
  if (entry.suspend !== undefined && (request.answer === undefined || !hasReply)) {
    return { kind: 'suspend', cause: 'agent', reason: entry.suspend, ...usage };
  }
  const words = { put, answer: request.answer };
  const text = fillIn(entry.reply ?? '', words);
  if (text !== '') request.emit({ kind: 'text', text });
  const meta = entry.meta === undefined ? {} : { meta: mapTexts(entry.meta, (text) => fillIn(text, words)) };
  return { kind: 'reply', text, ...meta, ...usage };
}
