import { basename, dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { until } from '../faults/scene.ts';
import { startGitHttpServer } from '../helpers/git-http-server.ts';
import { startRedisServer } from '../helpers/redis-server.ts';
import { runGit } from '../helpers/temporary-repository.ts';
import { expectWhole, Farm } from './farm.ts';

/** A campaign by hand takes more of both. */
const THREADS = Number(process.env['SUITE_WORKER_THREADS'] ?? 4);
const AWAY_MS = Number(process.env['SUITE_WORKER_AWAY_MS'] ?? 4_000);

test.each(['git', 'Redis'])(
  'each worker over %s tells an outage once, and its end',
  async (kind) => {
    const redis = kind === 'Redis' ? await startRedisServer() : undefined;
    const options = ['--poll', '1s', ...(redis ? ['--queue', redis.url] : [])];
    const farm = new Farm(3, [...options, '--label', 'docker', '--at-once', '4'], 0.5);
    const server = await startGitHttpServer(dirname(farm.host));
    runGit(farm.host, ['config', 'http.receivepack', 'true']);
    for (const { scene } of farm.machines) scene.git('remote', 'set-url', 'origin', server.urlOf(basename(farm.host)));
    const threads = await farm.startThreads(THREADS);
    const said = farm.machines.map(() => '');
    for (const at of farm.machines.keys()) {
      const { process } = farm.startWorker(at);
      process.stderr?.on('data', (chunk: Buffer) => (said[at] += chunk.toString()));
    }
    const haveSaid = (words: string) => (): boolean => said.every((text) => text.includes(words));
    await until('each worker has turns at work', () => farm.begun().length >= Math.min(9, THREADS));
    server.cut({ direction: 'down', afterBytes: 0 });
    await redis?.stop();
    await delay(AWAY_MS);
    await until('each worker has noticed', haveSaid('origin cannot be reached'));
    server.cut(undefined);
    await redis?.start();
    await farm.untilDone(undefined, 600_000);
    await until('each worker has looked', haveSaid('origin is back'));
    for (const { worker } of farm.machines) worker?.process.kill('SIGTERM');
    for (const { worker } of farm.machines) await worker?.outcome;
    // Which turn or look notices it first, and in which words, is left open. A Redis that has forgotten who has a turn lets another
    // worker take it too: whose step came second is told of each.
    const isSecond = /is not published: the remote has steps of it that are not here/u;
    const lines = said.map((text) => text.split('\n').filter((line) => !redis || !isSecond.test(line)));
    const kinds = lines.map((all) =>
      all
        .join('\n')
        .match(/^uwf: .*?(?=$| cannot be reached| is lost)/gm)
        ?.toSorted(),
    );
    const names = ['origin', ...(redis ? [`Redis at 127.0.0.1:${redis.port}`] : [])];
    const expected = names.flatMap((name) => [`uwf: ${name}`, `uwf: ${name} is back`]);
    expect(kinds).toEqual(farm.machines.map(() => expected.toSorted()));
    await expectWhole(farm, threads);
  },
  900_000,
);
