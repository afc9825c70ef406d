import { assertJsonValue } from '../../cas/canonical.ts';
import { isJsonObject } from '../../json.ts';
import { LAST_TIME_MS } from '../../schema/built-in/schema-parts.ts';
import { AgentBroken } from '../agent-errors.ts';
import type { Agent, AgentEvent, AgentReply, AgentRequest, Usage } from '../contract.ts';

/**
 * Wraps an agent of an npm package, so that only what the contract describes comes out of it.
 *
 * An event that is not as the contract has it goes no further, and neither does the turn's reply: the turn then rejects.
 * Events of kinds that this version does not know are left out, and so are events after the end of the turn.
 * @returns an agent whose turns reject with `AgentBroken` where the contract is broken
 */
export function holdToContract(agent: Agent, reference: string): Agent {
  return {
    answers: agent.answers === true,
    close: async () => agent.close?.(),
    async run(request: AgentRequest) {
      let broken: AgentBroken | undefined;
      let isOver = false;
      const emit = (event: AgentEvent): void => {
        if (isOver || !isKnownEvent(event)) return;
        const faults = eventFaults(event);
        // Not thrown here: agents emit events from callbacks whose errors nothing catches, and uwf would end.
        if (faults.length === 0) request.emit(event);
        else broken ??= contractBroken(reference, `told an event '${event.kind}'`, faults);
      };
      try {
        const reply = await agent.run({ ...request, emit });
        const faults = replyFaults(reply);
        if (faults.length > 0) throw contractBroken(reference, 'gave a reply', faults);
        if (broken !== undefined) throw broken;
        return reply;
      } finally {
        isOver = true;
      }
    },
  };
}

function contractBroken(reference: string, what: string, faults: readonly string[]): AgentBroken {
  return new AgentBroken(`the agent package '${reference}' ${what} that breaks the contract: ${faults.join('; ')}`, {
    hint: "look for a newer version, or tell its author of 'uwf/agent-contract'",
  });
}

/** Says what is wrong with a value, as the end of a sentence (`must be a text`); `undefined` where nothing is. */
type Rule = (value: unknown) => string | undefined;
type Rules<Shape> = { [Key in Exclude<keyof Shape, 'kind'>]-?: Rule };

const text: Rule = (value) => (typeof value === 'string' ? undefined : 'must be a text');
const count: Rule = (value) =>
  Number.isSafeInteger(value) && Number(value) >= 0 ? undefined : 'must be a whole number from 0';
/** A later time could not be read back from the suspension that it is stored in. */
const time: Rule = (value) =>
  count(value) ?? (Number(value) <= LAST_TIME_MS ? undefined : `must be at most ${LAST_TIME_MS}`);
const amount: Rule = (value) =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? undefined : 'must be a number from 0';
const flag: Rule = (value) => (typeof value === 'boolean' ? undefined : 'must be true or false');
const texts: Rule = (value) =>
  Array.isArray(value) && value.every((item) => typeof item === 'string') ? undefined : 'must be a list of texts';
const group: Rule = (value) =>
  Number.isSafeInteger(value) && Number(value) > 1 ? undefined : 'must be the number of a process group';
const optional =
  (rule: Rule): Rule =>
  (value) =>
    value === undefined ? undefined : rule(value);
const oneOf =
  (...words: readonly string[]): Rule =>
  (value) =>
    typeof value === 'string' && words.includes(value) ? undefined : `must be ${words.join(' or ')}`;

const json: Rule = (value) => {
  try {
    assertJsonValue(value);
    return undefined;
  } catch (error) {
    return error instanceof Error ? `must be JSON: ${error.message}` : 'must be JSON';
  }
};
const object: Rule = (value) => (isJsonObject(value) ? json(value) : 'must be an object');

const usageRules: Rules<Usage> = {
  inputTokens: count,
  outputTokens: count,
  turns: count,
  costUsd: optional(amount),
  cacheReadTokens: optional(count),
  cacheWriteTokens: optional(count),
  isAtLeast: optional((value) => (value === true ? undefined : 'must be true')),
};
const usage: Rule = (value) => {
  if (!isJsonObject(value)) return 'must be an object';
  const [fault] = faultsOf(value, usageRules);
  return fault === undefined ? undefined : `is not one: its ${fault}`;
};

type Kinds<Union extends { kind: string }> = {
  [Kind in Union['kind']]: Rules<Extract<Union, { kind: Kind }>>;
};

const eventRules: Kinds<AgentEvent> = {
  'turn-start': { input: text },
  'turn-end': { usage: optional(usage) },
  text: { text },
  thought: { text },
  plan: { text },
  'tool-call': { id: text, name: text, arguments: json },
  'tool-result': { id: text, result: text, durationMs: amount, isError: optional(flag) },
  refusal: { text },
  pause: { text, durationMs: amount },
  usage: { usage },
  session: { session: text },
  'process-group': { pgid: group },
};

const replyRules: Kinds<AgentReply> = {
  reply: {
    text,
    meta: optional(object),
    usage: optional(usage),
    session: optional(text),
    agentVersion: optional(text),
    stopReason: optional(text),
    childThreads: optional(texts),
    isFinal: optional(flag),
  },
  suspend: {
    reason: text,
    cause: oneOf('agent', 'human', 'permission', 'child', 'limit'),
    text: optional(text),
    due: optional(time),
    usage: optional(usage),
    session: optional(text),
  },
  'failed-attempt': {
    reason: text,
    text,
    usage: optional(usage),
    session: optional(text),
    isFinal: optional(flag),
  },
};

/**
 * Says what is wrong with an event of an agent, one sentence for each mistake: `text must be a text`. Empty: nothing.
 *
 * Fields that the contract does not know are let be: a later version may.
 */
export function eventFaults(event: unknown): string[] {
  return faultsByKind(event, eventRules);
}

function isKnownEvent(event: unknown): boolean {
  return rulesFor(event, eventRules) !== undefined;
}

/** Says what is wrong with what an agent's turn resolved with, as {@link eventFaults} does. */
export function replyFaults(reply: unknown): string[] {
  return faultsByKind(reply, replyRules);
}

function faultsByKind(value: unknown, kinds: Readonly<Record<string, Record<string, Rule>>>): string[] {
  if (!isJsonObject(value)) return ['it must be an object'];
  const rules = rulesFor(value, kinds);
  return rules === undefined ? [`its kind must be ${Object.keys(kinds).join(' or ')}`] : faultsOf(value, rules);
}

function rulesFor(
  value: unknown,
  kinds: Readonly<Record<string, Record<string, Rule>>>,
): Record<string, Rule> | undefined {
  const kind = isJsonObject(value) ? value['kind'] : undefined;
  return typeof kind === 'string' && Object.hasOwn(kinds, kind) ? kinds[kind] : undefined;
}

function faultsOf(value: object, rules: Readonly<Record<string, Rule>>): string[] {
  const fields = new Map<string, unknown>(Object.entries(value));
  return Object.entries(rules).flatMap(([name, rule]) => {
    const fault = rule(fields.get(name));
    return fault === undefined ? [] : [`${name} ${fault}`];
  });
}
