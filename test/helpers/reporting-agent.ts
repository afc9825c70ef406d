import { installAgent } from './install-agent.ts';
import type { AgentEvent, AgentReply } from '../../src/agent/contract.ts';

/** The acts of a test's agent in its turn, in order. */
export type ReportedAct =
  | { emit: AgentEvent }
  /** The same event repeated; `#` in its texts becomes the number of the repetition. */
  | { emit: AgentEvent; times: number }
  | { waitMs: number }
  /** Continues when the file exists. */
  | { waitFor: string }
  | { reply: AgentReply }
  /** Kills the engine's process at once, like a power cut. */
  | { kill: true };

const source = `
const { appendFileSync, existsSync } = require('node:fs');
exports.packageDescriptor = { name: 'reporting-agent', version: '1.0.0', capabilities: [], configSchema: { type: 'object' } };
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
exports.createAgent = (config) => ({
  async run(request) {
    if (config.countIn) appendFileSync(config.countIn, request.role + '\\n');
    const acts = config.roles[request.role];
    for (const act of acts[Math.min(request.visit + request.attempt, acts.length - 1)]) {
      request.signal.throwIfAborted();
      if (act.waitMs) await sleep(act.waitMs);
      while (act.waitFor && !existsSync(act.waitFor)) { request.signal.throwIfAborted(); await sleep(5); }
      if (act.kill) { await sleep(100); process.kill(process.pid, 'SIGKILL'); await sleep(10_000); }
      if (act.reply) return act.reply;
      if (act.emit && !act.times) request.emit(act.emit);
      const text = JSON.stringify(act.emit);
      for (let time = 1; time <= (act.times ?? 0); time += 1) {
        request.emit(JSON.parse(text.replaceAll('#', String(time))));
        if (time % 100 === 0) await sleep(0);
      }
    }
    throw new Error('the agent of this test says nothing');
  },
});
`;

/** Installs the agent as an npm package of a repository, so that its roles report a test's events. */
export function installReportingAgent(repositoryFolder: string): void {
  installAgent(repositoryFolder, 'reporting-agent', source);
}

/**
 * A configuration in which it runs every role; for each role the acts of each visit, or of each attempt.
 * @param countIn a file to which each try adds a line
 */
export function reportingConfig<More extends object>(
  roles: Record<string, ReportedAct[][]>,
  more: More = {} as More,
  countIn?: string,
): {
  agents: Record<string, { name: string; package: string; config: never }>;
  defaultAgent: string;
  roles: Record<string, string>;
} & More {
  // The configuration is JSON.
  const agent = { name: 'reporter', package: 'reporting-agent', config: { roles, countIn } as never };
  return { agents: { reporter: agent }, defaultAgent: 'reporter', roles: {}, ...more };
}
