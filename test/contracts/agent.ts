import { afterAll } from 'vitest';

import { builtInAgents } from '../../src/agent/load/agent-binding.ts';
import type { ChildOutcome } from '../../src/agent/contract.ts';
import type { AgentContract } from '../../src/agent/contract-suite/describe-agent.ts';
import { fixtureAgent } from '../helpers/agent-request.ts';
import { bundledAcpAgent } from '../helpers/bundled-acp-agent.ts';
import { startModelServer } from '../helpers/model-server.ts';

/** What a built-in agent is held to, but for its package: that is found by its name. */
type BuiltInContract = Omit<AgentContract, 'package'>;

const done = '---\n$status: done\n---\nDone.';
const outputSchema = { type: 'object', properties: { $status: { const: 'done' } }, required: ['$status'] };
const childThatEnds: ChildOutcome = {
  kind: 'ended',
  endHash: '0123456789ABC',
  threadId: '01JD0000000000000000000001',
  returnCode: 0,
  outcome: 'completed',
  summary: 'Done.',
};

const modelServer = await startModelServer([{ text: done, thought: 'Hm.' }], afterAll);
const silentServer = await startModelServer([{ silent: true }], afterAll);

/** Every built-in agent, by its name: a new one adds itself here. */
const contracts: Record<string, BuiltInContract> = {
  acp: {
    config: { command: [process.execPath, bundledAcpAgent, 'work', 'reply'], graceMs: 200, mcp: false },
    refusedConfigs: [{}, { command: [] }, { command: ['agent'], permissions: 'sometimes' }],
    replies: { request: { outputSchema }, reply: { text: '---\n$status: done\n---\nDo the work.\n' } },
    hangs: { config: { command: [process.execPath, bundledAcpAgent, 'hang'], graceMs: 50, mcp: false } },
  },
  command: {
    config: { argv: [process.execPath, fixtureAgent('echo.js'), '$status: done'] },
    refusedConfigs: [{}, { argv: [] }, { argv: 'npm test' }],
    replies: { request: { outputSchema }, reply: { text: '---\n$status: done\n---\nDo the work.\n' } },
    hangs: { config: { argv: [process.execPath, fixtureAgent('ignore-sigterm.js')], graceMs: 50 } },
  },
  human: {
    config: {},
    refusedConfigs: [{ editor: '' }],
    replies: { request: { outputSchema, answer: 'Done.' }, reply: { text: 'Done.', meta: { $status: 'done' } } },
    hangs: {
      config: { editor: 'sleep 60; : ' },
      request: { askPerson: () => Promise.reject(new Error('nobody is to be asked')) },
    },
  },
  llm: {
    config: { baseUrl: modelServer.url, model: 'scripted' },
    refusedConfigs: [{}, { baseUrl: 'ftp://x', model: 'm' }, { baseUrl: modelServer.url, model: 'm', maxCostUsd: -1 }],
    replies: { request: { outputSchema }, reply: { text: done } },
    hangs: { config: { baseUrl: silentServer.url, model: 'scripted' } },
  },
  scripted: {
    config: { replies: { worker: [done] } },
    refusedConfigs: [{}, { file: 'replies.yaml', replies: {} }],
    replies: { request: { outputSchema }, reply: { text: done } },
    hangs: { config: { replies: { worker: [{ delayMs: 60_000, reply: done }] } } },
  },
  workflow: {
    config: { workflow: 'develop' },
    refusedConfigs: [{}, { workflow: 'develop', statuses: { sometimes: 'done' } }],
    replies: {
      request: { outputSchema, runChild: () => Promise.resolve(childThatEnds) },
      reply: { meta: { $status: 'done' }, childThreads: ['0123456789ABC'] },
    },
    hangs: {
      request: {
        // The engine rejects with the reason of the signal.
        runChild: ({ signal }) =>
          new Promise((_, reject) =>
            signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }),
          ),
      },
    },
  },
};

/** The contracts of the built-in agents, by name, each with its package. */
export function builtInContracts(): Promise<[name: string, contract: AgentContract][]> {
  return Promise.all(
    Object.entries(contracts).map(async ([name, contract]): Promise<[string, AgentContract]> => {
      const load = builtInAgents[name];
      if (load === undefined) throw new Error(`there is no builtin:${name}`);
      return [name, { package: await load(), ...contract }];
    }),
  );
}
