import { expect, test } from 'vitest';

import { builtInAgents } from '../../src/agent/built-in-agents.ts';
import { createAgent as createCommand } from '../../src/agent/command/command-agent.ts';
import type { AgentRequest, ChildOutcome } from '../../src/agent/contract.ts';
import { createAgent as createHuman } from '../../src/agent/human/human-agent.ts';
import { createAgent as createScripted } from '../../src/agent/scripted/scripted-agent.ts';
import { createAgent as createWorkflow } from '../../src/agent/workflow/workflow-agent.ts';
import { describeAgent } from '../contracts/agent.ts';
import type { AgentCases } from '../contracts/agent.ts';
import { fixtureAgent } from '../helpers/agent-request.ts';

const env = { PATH: process.env['PATH'] ?? '' };
const askNobody = (): Promise<string> => Promise.reject(new Error('nobody is to be asked'));
const childThatEnds = (): Promise<ChildOutcome> =>
  Promise.resolve({
    kind: 'ended',
    endHash: '0123456789ABC',
    threadId: '01JD0000000000000000000001',
    returnCode: 0,
    outcome: 'completed',
    summary: 'Done.',
  });
const childThatHangs: AgentRequest['runChild'] = ({ signal }) =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }));

const cases: Record<string, AgentCases> = {
  command: {
    replying: () => ({ agent: createCommand({ argv: [process.execPath, fixtureAgent('echo.js')] }) }),
    hanging: () => ({
      agent: createCommand({ argv: [process.execPath, fixtureAgent('ignore-sigterm.js')], graceMs: 50 }),
    }),
  },
  human: {
    replying: () => ({ agent: createHuman({}), changes: { answer: 'Done.' } }),
    hanging: () => ({ agent: createHuman({ editor: 'sleep 60; : ' }), changes: { askPerson: askNobody, env } }),
  },
  scripted: {
    replying: () => ({ agent: createScripted({ replies: { worker: ['Done.'] } }) }),
    hanging: () => ({ agent: createScripted({ replies: { worker: [{ delayMs: 60_000, reply: 'Done.' }] } }) }),
  },
  workflow: {
    replying: () => ({ agent: createWorkflow({ workflow: 'develop' }), changes: { runChild: childThatEnds } }),
    hanging: () => ({ agent: createWorkflow({ workflow: 'develop' }), changes: { runChild: childThatHangs } }),
  },
};

test('every built-in agent is held to the contract', () => {
  expect(Object.keys(cases)).toEqual(Object.keys(builtInAgents));
});

for (const [name, of] of Object.entries(cases)) describeAgent(`builtin:${name}`, of);
