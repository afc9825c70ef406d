import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { onTestFinished } from 'vitest';
import { freePort } from './free-port.ts';
import { createTemporaryFolder } from './temporary-repository.ts';

const program = (process.env['PATH'] ?? '')
  .split(delimiter)
  .flatMap((folder) => [join(folder, 'redis-server'), join(folder, 'valkey-server')])
  .find((path) => existsSync(path));

/** The reason why no server can start here, or `undefined`. */
export const noRedisServer: string | undefined =
  program === undefined
    ? 'there is no redis-server on this machine: install it (redis-server of Debian), or set SUITE_WITHOUT_REDIS=1'
    : undefined;

/** A server of Redis that keeps nothing on disk and ends with the test. */
export type RedisServer = {
  url: string;
  port: number;
  /** A client for the test itself. */
  admin: Redis;
  /** Starts it again, empty, after `stop`. */
  start(): Promise<void>;
  /** Kills it. */
  stop(): Promise<void>;
  /** Has it hang, its connections open. */
  pause(): void;
  resume(): void;
  /** Forgets all keys and scripts, while clients stay connected. */
  wipe(): Promise<void>;
};

/** Starts a server on a free port of this machine. @param settings further ones, as `redis-server` takes them */
export async function startRedisServer(settings: readonly string[] = []): Promise<RedisServer> {
  if (program === undefined) throw new Error(noRedisServer);
  const port = await freePort();
  const folder = createTemporaryFolder();
  let server: ChildProcess | undefined;
  const words = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', '', '--appendonly', 'no'];
  const start = async (): Promise<void> => {
    server = spawn(program, [...words, ...settings], { stdio: 'ignore' });
    await untilListening(port, server);
  };
  const stop = async (): Promise<void> => {
    if (server === undefined || server.exitCode !== null || server.signalCode !== null) return;
    server.kill('SIGKILL');
    await once(server, 'exit');
  };
  await start();
  const admin = new Redis({ port, host: '127.0.0.1', lazyConnect: true });
  admin.on('error', () => {});
  onTestFinished(async () => {
    admin.disconnect();
    await stop();
  });
  const pause = (): void => void server?.kill('SIGSTOP');
  const resume = (): void => void server?.kill('SIGCONT');
  const wipe = async (): Promise<void> => {
    await admin.flushall();
    await admin.script('FLUSH');
  };
  return { url: `redis://127.0.0.1:${port}`, port, admin, start, stop, pause, resume, wipe };
}

async function untilListening(port: number, server: ChildProcess): Promise<void> {
  while (server.exitCode === null) {
    const isThere = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1');
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
      socket.once('connect', () => socket.destroy());
    });
    if (isThere) return;
    await delay(20);
  }
  throw new Error('redis-server ended');
}
