import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadSource } from '../lib/load-source.js';
import { median } from '../lib/median.js';
import { cpuOf } from './hosts.js';
import { threadId } from './host-repository.js';

const port = 40_000 + (process.pid % 20_000);
const HEAD = '1'.repeat(40);

/** The address of the server that `startRedis` starts. */
export const redisUrl = `redis://127.0.0.1:${port}`;

/** Starts a Redis server that keeps nothing, and waits until it answers. */
export async function startRedis() {
  const words = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
  const server = spawn('redis-server', words, { stdio: 'ignore' });
  for (;;) {
    await sleep(50);
    try {
      execFileSync('redis-cli', ['-p', String(port), 'ping'], { stdio: 'ignore' });
      return server;
    } catch {}
  }
}

/** Ends it, and waits until it has ended: the next one uses the same port. */
export async function stopRedis(server) {
  server.kill('SIGKILL');
  await once(server, 'exit');
}

/**
 * Offers jobs to a Redis server of its own and has workers take them, all workers in this process.
 *
 * @param {{ workers: number, jobs: number, late: number }} options `late`: jobs that are offered one by one to workers that wait
 * @returns a second: `offered` in batches and `done`; `waitMs` from the offer of a late one to its start; the server's CPU time
 */
export async function runRedis({ workers, jobs, late }) {
  const { openBullQueue } = await loadSource('src/worker/bullmq/bull-queue.ts');
  const server = await startRedis();
  const open = () => openBullQueue(redisUrl, 30_000);
  const queue = await open();
  const queues = await Promise.all(Array.from({ length: workers }, open));
  try {
    const job = (number) => ({ remote: 'origin', thread: threadId(number), head: HEAD, needs: [] });
    const cpuMs = cpuOf(server.pid).own;
    let fromMs = performance.now();
    for (let from = 0; from < jobs; from += 500) {
      await queue.offer(Array.from({ length: Math.min(500, jobs - from) }, (_, at) => job(from + at)));
    }
    const offered = (1000 * jobs) / (performance.now() - fromMs);
    const offerCpuMs = (cpuOf(server.pid).own - cpuMs) / jobs;
    let done = 0;
    let taken = () => {};
    const told = async () => {
      done += 1;
      taken();
      return 'done';
    };
    fromMs = performance.now();
    const allDone = new Promise((resolve) => (taken = () => done === jobs && resolve(undefined)));
    const options = { atOnce: 4, labels: [], onTrouble: () => {} };
    const works = await Promise.all(queues.map((one) => one.work(told, options)));
    await allDone;
    const doneASecond = (1000 * jobs) / (performance.now() - fromMs);
    const doneCpuMs = (cpuOf(server.pid).own - cpuMs) / jobs - offerCpuMs;
    const waits = [];
    for (let number = 0; number < late; number += 1) {
      await sleep(20);
      const begun = new Promise((resolve) => (taken = () => resolve(undefined)));
      const offeredMs = performance.now();
      await queue.offer([job(jobs + number)]);
      await begun;
      waits.push(performance.now() - offeredMs);
    }
    await Promise.all(works.map((work) => work.finish()));
    return { offered, done: doneASecond, waitMs: median(waits), offerCpuMs, doneCpuMs };
  } finally {
    await Promise.all([queue, ...queues].map((one) => one.close()));
    await stopRedis(server);
  }
}
