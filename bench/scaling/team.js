import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { quietEnvironment } from '../lib/quiet-environment.js';
import { uwf } from '../lib/run-command.js';
import { cpuOf, startHttpHost } from './hosts.js';

const STEPS = 5;

const workflow = `name: work
roles:
  a: { description: a, schema: { properties: { $status: { const: done } }, required: [$status] } }
moderator:
  - { from: __start__, to: a, when: null }
  - { from: a, to: a, when: "$visits('a') < ${STEPS}" }
  - { from: a, to: __end__, when: null }
`;

/**
 * Has real workers of this machine work off threads of five steps at a host of this machine.
 *
 * @param {string} root a folder for it
 * @param {{ workers: number, threads: number, turnSeconds: number }} options
 * @returns the time from the start of the workers to the end of the last one, and CPU time for each step
 */
export async function runTeam(root, { workers, threads, turnSeconds }) {
  const person = { GIT_AUTHOR_NAME: 'Bench', GIT_AUTHOR_EMAIL: 'b@example.org' };
  const committer = { GIT_COMMITTER_NAME: 'Bench', GIT_COMMITTER_EMAIL: 'b@example.org' };
  const env = { ...quietEnvironment(), ...person, ...committer };
  const run = (cwd, program, ...args) => execFileSync(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const at = (name) => join(root, name);
  mkdirSync(at('team.git'), { recursive: true });
  run(at('team.git'), 'git', 'init', '--quiet', '--bare', '--initial-branch=main');
  run(at('team.git'), 'git', 'config', 'http.receivepack', 'true');
  const host = await startHttpHost(root, 'team.git');
  try {
    const laptop = at('laptop');
    run(root, 'git', 'init', '--quiet', '--initial-branch=main', laptop);
    mkdirSync(join(laptop, '.uwf/workflows'), { recursive: true });
    writeFileSync(join(laptop, '.uwf/workflows/work.yaml'), workflow);
    const argv = ['sh', '-c', `sleep ${turnSeconds}; echo done`];
    const agents = { robot: { package: 'builtin:command', config: { argv, statuses: { default: 'done' } } } };
    writeFileSync(join(laptop, '.uwf/config.yaml'), JSON.stringify({ agents, defaultAgent: 'robot' }));
    run(laptop, 'git', 'add', '.');
    run(laptop, 'git', 'commit', '--quiet', '--message', 'one');
    run(laptop, 'git', 'remote', 'add', 'origin', host.url);
    run(laptop, 'git', 'push', '--quiet', 'origin', 'main');
    const clones = Array.from({ length: workers }, (_, number) => at(`worker-${number}`));
    for (const clone of clones) run(root, 'git', 'clone', '--quiet', host.url, clone);
    for (let thread = 0; thread < threads; thread += 1) {
      run(laptop, process.execPath, uwf, 'thread', 'start', 'work', '-p', `${thread}`);
    }
    run(laptop, process.execPath, uwf, 'push', 'origin');
    const [workersMs, hostMs] = [cpuOf(process.pid).children, host.cpuMs()];
    const startedMs = performance.now();
    const ended = clones.map(async (cwd, number) => {
      const args = [uwf, 'worker', '--remote', 'origin', '--drain', '--poll', '1s', '--name', `w${number}`];
      const worker = spawn(process.execPath, args, { cwd, env, stdio: 'ignore' });
      await once(worker, 'close');
    });
    await Promise.all(ended);
    const tookMs = performance.now() - startedMs;
    const left = run(at('team.git'), 'git', 'for-each-ref', 'refs/threads').toString();
    if (left !== '') throw new Error(`threads have not ended: ${left}`);
    const steps = threads * STEPS;
    return {
      tookMs,
      workerCpuMs: (cpuOf(process.pid).children - workersMs) / steps,
      hostCpuMs: (host.cpuMs() - hostMs) / steps,
    };
  } finally {
    host.stop();
  }
}
