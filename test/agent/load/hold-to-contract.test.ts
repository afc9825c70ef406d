import { describe, expect, test } from 'vitest';

import { AgentBroken } from '../../../src/agent/agent-errors.ts';
import type { Agent, AgentEvent, AgentReply, AgentRequest } from '../../../src/agent/contract.ts';
import { eventFaults, holdToContract, replyFaults } from '../../../src/agent/load/hold-to-contract.ts';
import { agentRequest } from '../../helpers/agent-request.ts';

/** An agent as JavaScript lets one be written: nothing that it gives is checked by a compiler. */
function careless(run: (request: Omit<AgentRequest, 'emit'> & { emit(event: unknown): void }) => unknown): Agent {
  return holdToContract({ run: async (request) => (await run(request)) as AgentReply }, 'mine');
}

const done = { kind: 'reply', text: 'Done.' };

test('what keeps the contract comes through as it is', async () => {
  const events: AgentEvent[] = [
    { kind: 'turn-start', input: 'Do it.' },
    { kind: 'tool-call', id: '1', name: 'ls', arguments: null },
    { kind: 'tool-result', id: '1', result: '', durationMs: 0.5, isError: true },
    { kind: 'usage', usage: { inputTokens: 1, outputTokens: 2, turns: 1, costUsd: 0.1 } },
    { kind: 'turn-end' },
  ];
  const reply = { ...done, meta: { a: [1] }, session: undefined };
  const request = agentRequest();
  const agent = careless(({ emit }) => {
    for (const event of events) emit(event);
    return reply;
  });
  expect(await agent.run(request)).toBe(reply);
  expect(request.events).toEqual(events);
});

test('an event of a later version is left out, and so is one that comes after the reply', async () => {
  let late: (() => void) | undefined;
  const request = agentRequest();
  const agent = careless(({ emit }) => {
    emit({ kind: 'smell', text: 'burnt' });
    late = () => emit({ kind: 'text', text: 'too late' });
    return done;
  });
  await agent.run(request);
  late?.();
  expect(request.events).toEqual([]);
});

test('an event that breaks the contract goes no further and ends the turn, but not where it was told', async () => {
  const request = agentRequest();
  let isThrown = false;
  const agent = careless(({ emit }) => {
    try {
      emit({ kind: 'text', text: Buffer.from('no text') });
    } catch {
      isThrown = true;
    }
    return done;
  });
  await expect(agent.run(request)).rejects.toThrow(
    "told an event 'text' that breaks the contract: text must be a text",
  );
  expect(isThrown).toBe(false);
  expect(request.events).toEqual([]);
});

test.each([
  [undefined, 'it must be an object'],
  ['Done.', 'it must be an object'],
  [{ text: 'Done.' }, 'its kind must be reply or suspend or failed-attempt'],
  [{ kind: 'reply' }, 'text must be a text'],
  [{ ...done, meta: { at: new Date(0) } }, 'meta must be JSON'],
  [{ ...done, usage: { inputTokens: 1.5, outputTokens: 0, turns: 1 } }, 'usage is not one: its inputTokens must be'],
  [{ kind: 'suspend', reason: 'why', cause: 'mood' }, 'cause must be agent or human or permission or child or limit'],
])('a reply %j is none', async (reply, words) => {
  const error = await careless(() => reply)
    .run(agentRequest())
    .catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(AgentBroken);
  expect(error).toHaveProperty('message', expect.stringContaining(words));
});

test('what the agent itself throws comes through', async () => {
  const agent = careless(() => Promise.reject(new Error('no network')));
  await expect(agent.run(agentRequest())).rejects.toThrow(/^no network$/u);
});

test('an agent that has something to close is closed', async () => {
  let isClosed = false;
  const agent = holdToContract(
    { run: () => Promise.reject(new Error('never')), close: async () => void (isClosed = true) },
    'mine',
  );
  await agent.close?.();
  expect(isClosed).toBe(true);
  await expect(careless(() => done).close?.()).resolves.toBeUndefined();
});

describe('the group of a process', () => {
  test.each([0, 1, -5, 1.5, '77', undefined])('is never %j', (pgid) => {
    expect(eventFaults({ kind: 'process-group', pgid })).toEqual(['pgid must be the number of a process group']);
  });
});

test('every mistake of a reply is named', () => {
  expect(replyFaults({ kind: 'failed-attempt', session: 7 })).toEqual([
    'reason must be a text',
    'text must be a text',
    'session must be a text',
  ]);
});

test('the time at which a suspended turn makes sense again is one that a date can be made of', () => {
  const dueAt = (due: unknown): string[] => replyFaults({ kind: 'suspend', reason: 'busy', cause: 'limit', due });
  for (const due of [undefined, 0, 8.64e15]) expect(dueAt(due)).toEqual([]);
  expect(dueAt(8.64e15 + 1)).toEqual(['due must be at most 8640000000000000']);
  expect(dueAt(-1)).toEqual(['due must be a whole number from 0']);
});
