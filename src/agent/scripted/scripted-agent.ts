import { setTimeout as sleep } from 'node:timers/promises';

import type { JsonObject } from '../../json.ts';
import { AgentBroken } from '../agent-errors.ts';
import type { Agent, AgentReply, AgentRequest, PackageDescriptor } from '../contract.ts';
import { loadScript } from './load-script.ts';
import { fillIn, pickEntry, scriptDefinitions, scriptSchema } from './script.ts';
import type { Script, ScriptEntry } from './script.ts';

/** The configuration of `builtin:scripted`; exactly one of `file` and `replies` is given. */
type ScriptedConfig = { file?: string; replies?: Script; repeat?: boolean };

/** `builtin:scripted`: says what a script tells it to, by role and visit; for tests and dry runs. */
export const packageDescriptor: PackageDescriptor = {
  name: 'builtin:scripted',
  version: '1.0.0',
  capabilities: ['streaming'],
  configSchema: {
    type: 'object',
    additionalProperties: false,
    oneOf: [{ required: ['file'] }, { required: ['replies'] }],
    properties: {
      file: {
        description: "a YAML or JSON file of replies by role; a relative path starts at the repository's top",
        type: 'string',
        minLength: 1,
        'x-uwf-path': true,
      },
      replies: { description: 'the replies by role', ...scriptSchema },
      repeat: { description: 'the last reply of a role stands for all its later visits', type: 'boolean' },
    },
    $defs: scriptDefinitions,
  },
};

/**
 * Makes an agent that replies from a script.
 *
 * A script lists entries by role, one for each visit; see `ScriptEntry` for what an entry can do. Visits beyond the last
 * entry are an error, unless `repeat` is set.
 * @param config has been checked against `packageDescriptor.configSchema`
 */
export function createAgent(config: JsonObject): Agent {
  // The schema that config was checked against describes this very type.
  const { file, replies, repeat = false } = config as ScriptedConfig;
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
  if (entry.delayMs !== undefined) await pause(entry.delayMs, request.signal);
  const usage = entry.usage === undefined ? {} : { usage: entry.usage };
  if (entry.fail !== undefined)
    return { kind: 'failed-attempt', reason: entry.fail, text: entry.reply ?? '', ...usage };
  if (entry.suspend !== undefined && (request.answer === undefined || !hasReply(entry))) {
    return { kind: 'suspend', cause: 'agent', reason: entry.suspend, ...usage };
  }
  const words = { put, answer: request.answer };
  const text = fillIn(entry.reply ?? '', words);
  if (text !== '') request.emit({ kind: 'text', text });
  const meta = entry.meta === undefined ? {} : { meta: fillIn(entry.meta, words) };
  return { kind: 'reply', text, ...meta, ...usage };
}

function hasReply(entry: ScriptEntry): boolean {
  return entry.reply !== undefined || entry.meta !== undefined;
}

async function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(delayMs, undefined, { signal });
  } catch {
    // The timer rejects with an error of its own; whoever aborted gave the reason.
    throw signal.reason;
  }
}
