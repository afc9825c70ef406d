import { installAgent } from './install-agent.ts';

/** A call of a child thread, as the agent of a test makes it. */
export type Called = { workflow: string; prompt: string; key?: string };

/** The agent's calls in one attempt of its turn: groups in sequence, the calls of a group at once. */
export type CallingTry = {
  calls?: Called[][];
  /** Calls without waiting for their results. */
  loose?: Called[];
  /** The reply is to be refused. */
  isBad?: boolean;
  /** Ends of children that it names without calling them in this attempt: they ended in an earlier one. */
  names?: 'earlier';
};

const source = `
const { existsSync, readFileSync } = require('node:fs');
exports.packageDescriptor = { name: 'calling-agent', version: '1.0.0', capabilities: [], configSchema: { type: 'object' } };
exports.createAgent = (config) => {
  const earlier = [];
  return {
    async run(request) {
      const tries = config.file && existsSync(config.file) ? JSON.parse(readFileSync(config.file, 'utf8')) : config.tries;
      const { calls = [], loose = [], isBad, names } = tries[Math.min(request.attempt, tries.length - 1)];
      const call = (one) => request.runChild({ ...one, signal: request.signal });
      for (const one of loose) void call(one);
      const said = [];
      const named = names ? [...earlier] : [];
      for (const group of calls) {
        const outcomes = await Promise.all(group.map(call));
        for (const [place, outcome] of outcomes.entries()) {
          if (outcome.kind === 'ended') earlier.push(outcome.endHash);
          else return { kind: 'suspend', cause: 'child', reason: outcome.reason };
          said.push(group[place].prompt + ' -> ' + outcome.summary.trim());
        }
      }
      if (isBad) return { kind: 'reply', text: 'No front matter.' };
      return { kind: 'reply', text: said.join('\\n') + '\\n', meta: { $status: 'done' }, childThreads: named };
    },
  };
};
`;

/** Installs the agent as an npm package of a repository. */
export function installCallingAgent(repositoryFolder: string): void {
  installAgent(repositoryFolder, 'calling-agent', source);
}
