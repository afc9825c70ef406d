import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';

import type { Agent, AgentRequest } from '../../src/agent/contract.ts';
import { isGroupAlive } from '../../src/agent/process-group.ts';
import { descendantsOf, runningProcesses } from '../../src/agent/process-table.ts';
import { agentRequest } from '../helpers/agent-request.ts';
import type { ObservedRequest } from '../helpers/agent-request.ts';

/** An agent and what a turn of it needs beyond the usual request. */
export type AgentCase = { agent: Agent; changes?: Partial<AgentRequest> };

/** What a kind of agent has to show: a turn that ends with a reply, and one that never ends by itself. */
export type AgentCases = { replying: () => AgentCase; hanging: () => AgentCase };

/** What every agent promises to the engine, whatever it does for its reply. */
export function describeAgent(name: string, cases: AgentCases): void {
  describe(`${name} keeps the contract of agents`, () => {
    test('a turn gives a reply with a text, and nothing that JSON cannot carry', async () => {
      const { agent, request } = prepare(cases.replying());
      const reply = await agent.run(request);
      expect(reply).toMatchObject({ kind: 'reply', text: expect.any(String) });
      expect(JSON.parse(JSON.stringify(reply))).toEqual(reply);
    });

    test('one agent takes several turns, at the same time too', async () => {
      const { agent, changes } = cases.replying();
      const [first, ...others] = await Promise.all([1, 2, 3].map(() => agent.run(agentRequest(changes))));
      expect(first).toHaveProperty('kind', 'reply');
      for (const other of others) expect(other).toEqual(first);
      expect(await agent.run(agentRequest(changes))).toEqual(first);
    });

    test('events come before the reply and none after it, a process group before what it says', async () => {
      const { agent, request } = prepare(cases.replying());
      expect(await agent.run(request)).toHaveProperty('kind', 'reply');
      const kinds = request.events.map(({ kind }) => kind);
      await pause(50);
      expect(request.events).toHaveLength(kinds.length);
      expect(kinds.lastIndexOf('process-group')).toBeLessThanOrEqual(0);
    });

    test('a turn that is over leaves no process and no listener behind', async () => {
      const { signal } = new AbortController();
      const { agent, request } = prepare(cases.replying(), { signal });
      await agent.run(request);
      expect(livingGroups(request)).toEqual([]);
      expect(getEventListeners(signal, 'abort')).toEqual([]);
    });

    test('a turn that was aborted before it began rejects with the reason and does nothing', async () => {
      const { agent, request } = prepare(cases.replying(), { signal: AbortSignal.abort(new Error('not now')) });
      await expect(agent.run(request)).rejects.toThrow('not now');
      expect(request.events).toEqual([]);
    });

    test('a turn that is aborted rejects with the reason, and leaves no process and no listener behind', async () => {
      const controller = new AbortController();
      const { agent, request } = prepare(cases.hanging(), { signal: controller.signal });
      const before = descendantsOf(process.pid);
      const turn = agent.run(request);
      await Promise.race([turn, pause(200)]);
      const started = descendantsOf(process.pid).filter((pid) => !before.includes(pid));
      const reason = new Error('enough');
      controller.abort(reason);
      await expect(turn).rejects.toBe(reason);
      expect(livingGroups(request)).toEqual([]);
      expect(runningProcesses()?.filter(({ pid }) => started.includes(pid))).toEqual([]);
      expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
    });
  });
}

function prepare(
  { agent, changes }: AgentCase,
  more: Partial<AgentRequest> = {},
): { agent: Agent; request: ObservedRequest } {
  return { agent, request: agentRequest({ ...changes, ...more }) };
}

function livingGroups({ events }: ObservedRequest): number[] {
  const groups = events.map((event) => (event.kind === 'process-group' ? event.pgid : 0));
  return groups.filter((pgid) => isGroupAlive(pgid));
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
