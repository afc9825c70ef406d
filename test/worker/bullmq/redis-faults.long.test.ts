import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Server } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { inspect } from 'node:util';
import { Redis } from 'ioredis';
import { describe, expect, onTestFinished, test } from 'vitest';
import { messageOf, UwfError } from '../../../src/errors.ts';
import { openBullQueue } from '../../../src/worker/bullmq/bull-queue.ts';
import type { TurnJob, TurnQueue, Work } from '../../../src/worker/turn-queue.ts';
import { TurnDesk } from '../../contracts/turn-desk.ts';
import { freePort } from '../../helpers/free-port.ts';
import { noRedisServer, startRedisServer } from '../../helpers/redis-server.ts';
import type { RedisServer } from '../../helpers/redis-server.ts';
import { startTypeScript } from '../../helpers/run-typescript.ts';
import { createTemporaryFolder } from '../../helpers/temporary-repository.ts';
import { turnJob } from './turn-job.ts';

// `.ci/run` sets it where no server can be had: what cannot be installed there is no fault of the change.
const isLeftOut = process.env['SUITE_WITHOUT_REDIS'] === '1';
if (noRedisServer !== undefined && !isLeftOut) throw new Error(noRedisServer);

const LOCK_MS = 1_200;

async function open(url: string, lockMs = LOCK_MS): Promise<TurnQueue> {
  const queue = await openBullQueue(url, lockMs);
  onTestFinished(() => queue.close());
  return queue;
}

type Machine = { queue: TurnQueue; desk: TurnDesk; work: Work; troubles: string[] };

async function startMachine(url: string, labels: string[] = [], atOnce = 2): Promise<Machine> {
  const queue = await open(url);
  const desk = new TurnDesk();
  const troubles: string[] = [];
  const work = await queue.work(desk.take, {
    atOnce,
    labels,
    onTrouble: (trouble) =>
      troubles.push(`${messageOf(trouble)}${trouble instanceof UwfError ? ` (${trouble.hint})` : ''}`),
  });
  onTestFinished(() => work.giveBack());
  return { queue, desk, work, troubles };
}

/** Offers until the server takes it, as a worker's sweep does. */
async function offerAtLast(queue: TurnQueue, job: TurnJob): Promise<void> {
  for (;;) {
    try {
      return await queue.offer([job]);
    } catch {
      await delay(50);
    }
  }
}

/** The jobs that the server still knows. */
async function jobsIn(server: RedisServer): Promise<string[]> {
  const keys = await server.admin.keys('uwf:turns*');
  return keys.filter((key) => /-[0-9a-f]{40}/.test(key));
}

async function untilNoJobs(server: RedisServer): Promise<void> {
  while ((await jobsIn(server)).length > 0) await delay(20);
}

/** A worker in a process of its own, and the lines it prints. */
async function startHolder(
  url: string,
  env: Record<string, string> = {},
): Promise<{ pid: number; line(start: string): Promise<string> }> {
  const { process: child } = await startTypeScript(join(import.meta.dirname, 'hold-turns.ts'), [url, String(LOCK_MS)], {
    env,
  });
  const lines = createInterface({ input: child.stdout! });
  const said: string[] = [];
  lines.on('line', (line) => said.push(line));
  onTestFinished(() => void child.kill('SIGKILL'));
  const line = async (start: string): Promise<string> => {
    for (;;) {
      const found = said.find((each) => each.startsWith(start));
      if (found !== undefined) return found;
      await once(lines, 'line');
    }
  };
  // It has started, so it has one.
  return { pid: child.pid!, line };
}

/** Something that listens where the server did, and hangs up. */
async function hangUpAt(port: number, times: number): Promise<void> {
  const server: Server = createServer();
  await new Promise<void>((resolve) => {
    let calls = 0;
    server.on('connection', (socket) => {
      socket.destroy();
      if (++calls === times) resolve();
    });
    server.listen(port, '127.0.0.1');
  });
  await new Promise((resolve) => server.close(resolve));
}

describe.skipIf(noRedisServer !== undefined)('a worker on Redis', () => {
  test('goes on when the server is wiped: a turn at work is not begun twice, and offers work at once', async () => {
    const server = await startRedisServer();
    const { queue, desk, troubles } = await startMachine(server.url, ['gpu']);
    const [held, other] = [turnJob(['gpu']), turnJob(['gpu'])];
    await queue.offer([held]);
    const turn = await desk.next();
    await server.wipe();
    await queue.offer([held, other]);
    expect((await desk.next()).job).toEqual(other);
    expect(turn.lock.signal.aborted).toBe(false);
    turn.answer('done');
    desk.taken[1]?.answer('done');
    await untilNoJobs(server);
    expect(desk.taken).toHaveLength(2);
    // What sets of needs there are is known again as well.
    const later = await startMachine(server.url, ['gpu']);
    const job = turnJob(['gpu']);
    await queue.offer([job]);
    await Promise.race([later.desk.next(), desk.next()]);
    expect([...troubles, ...later.troubles]).toEqual([]);
  });

  test('is offered thousands of jobs at once by a client whose scripts the server has forgotten', async () => {
    const server = await startRedisServer();
    const queue = await open(server.url);
    await queue.offer([turnJob()]);
    await server.wipe();
    const jobs = Array.from({ length: 2_000 }, () => turnJob());
    await queue.offer(jobs);
    expect(await jobsIn(server)).toHaveLength(jobs.length);
  });

  test('tells in one line that the server is away and in one that it is back, and takes what is offered then', async () => {
    const server = await startRedisServer();
    const { queue, desk, troubles } = await startMachine(server.url);
    const held = turnJob();
    await queue.offer([held]);
    const turn = await desk.next();
    await server.stop();
    await hangUpAt(server.port, 12);
    await expect(queue.offer([turnJob()])).rejects.toMatchObject({ code: 'queue-unreachable', kind: 'environment' });
    // A turn that ends meanwhile ends well.
    turn.answer('done');
    await server.start();
    const next = turnJob();
    await offerAtLast(queue, next);
    expect((await desk.next()).job).toEqual(next);
    expect(troubles).toEqual([
      expect.stringMatching(/^Redis at 127\.0\.0\.1:\d+ is lost.*; trying again$/),
      expect.stringMatching(/^Redis at 127\.0\.0\.1:\d+ is back$/),
    ]);
  });

  test('keeps its turns when the server hangs for longer than locks live', async () => {
    const server = await startRedisServer();
    const one = await startMachine(server.url);
    const two = await startMachine(server.url);
    const job = turnJob();
    await one.queue.offer([job]);
    const [desk, turn] = await Promise.race([one, two].map(async ({ desk: at }) => [at, await at.next()] as const));
    server.pause();
    await delay(LOCK_MS * 1.5);
    server.resume();
    const last = turnJob();
    await offerAtLast(one.queue, last);
    await Promise.race([one.desk.hasTaken(desk === one.desk ? 2 : 1), two.desk.hasTaken(desk === two.desk ? 2 : 1)]);
    // Long enough for all workers to have looked for lost locks several times.
    await delay(LOCK_MS * 2);
    expect(turn.lock.signal.aborted).toBe(false);
    for (const each of [...one.desk.taken, ...two.desk.taken]) each.answer('done');
    await untilNoJobs(server);
    expect([...one.desk.taken, ...two.desk.taken]).toHaveLength(2);
  });

  test('gets the job of a worker that was killed, and knows of it', async () => {
    const server = await startRedisServer();
    const queue = await open(server.url);
    const job = turnJob();
    await queue.offer([job]);
    const holder = await startHolder(server.url);
    expect(await holder.line('taken')).toBe(`taken ${job.thread}`);
    const { desk } = await startMachine(server.url);
    process.kill(holder.pid, 'SIGKILL');
    const turn = await desk.next();
    expect([turn.job, turn.lock.losses]).toEqual([job, ['a worker fell silent']]);
  });

  test('stops the turn of a job that it lost while it was frozen', async () => {
    const server = await startRedisServer();
    const queue = await open(server.url);
    const job = turnJob();
    await queue.offer([job]);
    const holder = await startHolder(server.url);
    await holder.line('taken');
    process.kill(holder.pid, 'SIGSTOP');
    const { desk } = await startMachine(server.url);
    const turn = await desk.next();
    process.kill(holder.pid, 'SIGCONT');
    expect(await holder.line('stopped')).toBe(`stopped ${job.thread}`);
    expect(turn.lock.signal.aborted).toBe(false);
    turn.answer('done');
    await untilNoJobs(server);
  });

  test('drops what another program wrote into its queue', async () => {
    const server = await startRedisServer();
    const { queue, desk, troubles } = await startMachine(server.url);
    const { Queue } = await import('bullmq');
    const foreign = new Queue('turns', { connection: { host: '127.0.0.1', port: server.port }, prefix: 'uwf' });
    await foreign.add('mail', { to: 'x' });
    await foreign.close();
    const job = turnJob();
    await queue.offer([job]);
    expect((await desk.next()).job).toEqual(job);
    expect(troubles).toEqual([expect.stringContaining('a job in the queue is none of uwf; it is dropped')]);
  });

  test('shows no password: neither in errors, nor when the server changes it', async () => {
    const server = await startRedisServer(['--requirepass', 'hidden@word']);
    const wrong = `redis://:wrong%40hidden@127.0.0.1:${server.port}`;
    const fault = await openBullQueue(wrong, LOCK_MS).catch((error: unknown) => error);
    expect(fault).toMatchObject({ code: 'queue-unreachable', message: expect.stringContaining('WRONGPASS') });
    expect(fault).toMatchObject({ hint: expect.stringContaining('has to be started again') });
    expect(inspect(fault, { depth: Infinity, showHidden: true })).not.toMatch(/wrong(@|%40)hidden/);

    const { queue, troubles } = await startMachine(`redis://:hidden%40word@127.0.0.1:${server.port}`);
    await queue.offer([turnJob()]);
    const admin = new Redis({ port: server.port, host: '127.0.0.1', password: 'hidden@word' });
    await admin.config('SET', 'requirepass', 'another');
    await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    admin.disconnect();
    while (troubles.length === 0) await delay(20);
    const refused = await queue.offer([turnJob()]).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 'queue-unreachable' });
    expect(inspect([refused, troubles], { depth: Infinity, showHidden: true })).not.toMatch(/hidden(@|%40)word/);
    expect(troubles).toEqual([expect.stringContaining('is lost')]);
  });

  test('says what to do about a server that is full', async () => {
    const server = await startRedisServer();
    const { queue, work, troubles } = await startMachine(server.url);
    await queue.offer([turnJob()]);
    await server.admin.config('SET', 'maxmemory', '1');
    const refused = await queue.offer([turnJob()]).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 'queue-unreachable', hint: expect.stringContaining('raise its maxmemory') });
    while (troubles.length === 0) await delay(20);
    expect(troubles.filter((text) => text.includes('raise its maxmemory'))).toHaveLength(1);
    await work.giveBack();
  });

  test('speaks TLS with a server whose certificate it can check, and with no other', async () => {
    const folder = createTemporaryFolder();
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1,DNS:localhost'];
    const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-x509', '-days', '2'];
    execFileSync('openssl', ['req', ...kind, ...subject, '-keyout', key, '-out', cert], { stdio: 'ignore' });
    const tlsPort = await freePort();
    const tls = [
      '--tls-port',
      String(tlsPort),
      '--tls-cert-file',
      cert,
      '--tls-key-file',
      key,
      '--tls-auth-clients',
      'no',
    ];
    const server = await startRedisServer(tls);
    const url = `rediss://localhost:${tlsPort}`;
    const stranger = await startHolder(url);
    expect(await stranger.line('failed')).toMatch(
      /^failed Redis at localhost:\d+ does not take the command: self-signed certificate/,
    );
    const holder = await startHolder(url, { NODE_EXTRA_CA_CERTS: cert });
    const job = turnJob();
    await (await open(server.url)).offer([job]);
    expect(await holder.line('taken')).toBe(`taken ${job.thread}`);
  });
});
