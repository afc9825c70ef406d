import { describeBuiltIn } from '../describe-built-in.ts';
import { setTimeout as sleep } from 'node:timers/promises';

import { mapTexts } from '../../json.ts';
import type { JsonObject } from '../../json.ts';
import { MAX_TIMER_MS } from '../../max-timer.ts';
import { AgentBroken } from '../agent-errors.ts';
import type { Agent, AgentReply, AgentRequest, PackageDescriptor } from '../contract.ts';
import { asValidated, flagSchema, objectSchema, textSchema } from '../typed-schema.ts';
import type { SchemaOf } from '../typed-schema.ts';
import { loadScript } from './script.ts';
import { fillIn, pickEntry, scriptDefinitions, scriptSchema } from './script.ts';
import type { Script, ScriptEntry } from './script.ts';

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
 * @param config has been checked against `packageDescriptor.configSchema`
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
