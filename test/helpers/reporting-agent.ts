import { installAgent } from './install-agent.ts';
import type { Act } from './plot.ts';

export type { Act } from './plot.ts';

/** Does the {@link Act}s of each visit, or of each attempt; in `folder` it notes that it ran, and waits for files. */
const source = `
const { appendFileSync, existsSync } = require('node:fs');
const { resolve } = require('node:path');
exports.packageDescriptor = { name: 'reporting-agent', version: '1.0.0', capabilities: [], configSchema: { type: 'object' } };
const sleep = (ms) => new Promise((wake) => setTimeout(wake, ms));
exports.createAgent = ({ roles, folder }) => ({
  async run(request) {
    if (folder) appendFileSync(resolve(folder, 'runs'), request.role + '\\n');
    const acts = roles[request.role];
    for (const act of acts[Math.min(request.visit + request.attempt, acts.length - 1)]) {
      request.signal.throwIfAborted();
      if (act.waitMs) await sleep(act.waitMs);
      while (act.waitFor && !existsSync(resolve(folder ?? '.', act.waitFor))) { request.signal.throwIfAborted(); await sleep(5); }
      if (act.kill) { await sleep(100); process.kill(process.pid, 'SIGKILL'); await sleep(10_000); }
      if (act.reply) return act.reply;
      const text = JSON.stringify(act.emit);
      for (let time = 1; act.emit && time <= (act.times ?? 1); time += 1) {
        request.emit(act.times ? JSON.parse(text.replaceAll('#', String(time))) : act.emit);
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

/** A configuration in which it runs every role; for each role the acts of each visit, or of each attempt. */
export function reportingConfig<More extends object>(
  roles: Record<string, Act[][]>,
  more: More = {} as More,
): {
  agents: Record<string, { name: string; package: string; config: never }>;
  defaultAgent: string;
  roles: Record<string, string>;
} & More {
  // The configuration is JSON.
  const agent = { name: 'reporter', package: 'reporting-agent', config: { roles } as never };
  return { agents: { reporter: agent }, defaultAgent: 'reporter', roles: {}, ...more };
}
