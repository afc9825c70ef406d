import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
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
 * Makes a host of this machine, a repository with threads of five steps that are pushed there, and clones of it.
 *
 * @param {string} root a folder for it
 * @param {{ clones: number, threads: number, turnSeconds: number }} options
 */
async function makeTeam(root, { clones: count, threads, turnSeconds }) {
  const person = { GIT_AUTHOR_NAME: 'Bench', GIT_AUTHOR_EMAIL: 'b@example.org' };
  const committer = { GIT_COMMITTER_NAME: 'Bench', GIT_COMMITTER_EMAIL: 'b@example.org' };
  const env = { ...quietEnvironment(), ...person, ...committer };
  const run = (cwd, program, ...args) =>
    execFileSync(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] }).toString();
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
    const clones = Array.from({ length: count }, (_, number) => at(`worker-${number}`));
    for (const clone of clones) run(root, 'git', 'clone', '--quiet', host.url, clone);
    for (let thread = 0; thread < threads; thread += 1) {
      run(laptop, process.execPath, uwf, 'thread', 'start', 'work', '-p', `${thread}`);
    }
    run(laptop, process.execPath, uwf, 'push', '--all', 'origin');
    return { host, laptop, clones, env, run };
  } catch (error) {
    host.stop();
    throw error;
  }
}

/**
 * Has real workers of this machine work off threads of five steps at a host of this machine.
 *
 * @param {string} root a folder for it
 * @param {{ workers: number, threads: number, turnSeconds: number, queue?: string }} options
 * @returns the time from the start of the workers to the end of the last one, and CPU time for each step
 */
export async function runTeam(root, { workers, threads, turnSeconds, queue }) {
  const { host, clones, env, run } = await makeTeam(root, { clones: workers, threads, turnSeconds });
  try {
    const [workersMs, hostMs] = [cpuOf(process.pid).children, host.cpuMs()];
    const startedMs = performance.now();
    const ended = clones.map(async (cwd, number) => {
      const args = [uwf, 'worker', '--remote', 'origin', '--drain', '--poll', '1s', '--name', `w${number}`];
      if (queue !== undefined) args.push('--queue', queue);
      const worker = spawn(process.execPath, args, { cwd, env, stdio: ['ignore', 'ignore', 'pipe'] });
      let said = '';
      worker.stderr.on('data', (data) => (said = (said + data).slice(-2_000)));
      const [code] = await once(worker, 'close');
      return `w${number} ended with ${code}: ${said}`;
    });
    const outcomes = await Promise.all(ended);
    const tookMs = performance.now() - startedMs;
    const left = run(join(root, 'team.git'), 'git', 'for-each-ref', 'refs/threads');
    if (left !== '') throw new Error(`threads have not ended: ${left}\n${outcomes.join('\n')}`);
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

/**
 * Has one worker look at threads of which it takes none, once in five seconds.
 *
 * @param {string} root a folder for it
 * @param {{ threads: number, seconds: number }} options
 * @returns memory of the worker alone, and how much of a core it takes with its children
 */
export async function watchIdle(root, { threads, seconds }) {
  const { host, clones, env } = await makeTeam(root, { clones: 1, threads, turnSeconds: 0 });
  const args = [uwf, 'worker', '--remote', 'origin', '--role', 'nobody', '--poll', '5s'];
  const worker = spawn(process.execPath, args, { cwd: clones[0], env, stdio: 'ignore' });
  const ended = once(worker, 'exit');
  try {
    // It fetches them all at its start, and saves memory after an idle minute.
    await sleep(100_000);
    const begunMs = cpuOf(worker.pid);
    const samples = [];
    for (let second = 0; second < seconds; second += 1) {
      await sleep(1000);
      samples.push(residentKiB(worker.pid) / 1024);
    }
    const { own, children } = cpuOf(worker.pid);
    return {
      'MiB, mean': samples.reduce((sum, sample) => sum + sample, 0) / samples.length,
      'MiB, most': Math.max(...samples),
      '% of a core': (own + children - begunMs.own - begunMs.children) / (10 * seconds),
    };
  } finally {
    // Its git ends with it, so that the folder can be removed.
    worker.kill();
    await ended;
    host.stop();
  }
}

function residentKiB(pid) {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}

/**
 * Runs threads of five steps one after the other with `uwf thread run`, where they were started.
 *
 * @returns the time of all, and CPU time for each step
 */
export async function runAlone(root, { threads, turnSeconds }) {
  const { host, laptop, run } = await makeTeam(root, { clones: 0, threads, turnSeconds });
  host.stop();
  const refs = run(laptop, 'git', 'for-each-ref', '--format=%(refname:lstrip=2)', 'refs/threads').trim().split('\n');
  const beganMs = cpuOf(process.pid).children;
  const startedMs = performance.now();
  for (const thread of refs) run(laptop, process.execPath, uwf, 'thread', 'run', thread);
  const tookMs = performance.now() - startedMs;
  return { tookMs, workerCpuMs: (cpuOf(process.pid).children - beganMs) / (threads * STEPS) };
}
