import { readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { openRemote } from '../../../src/git/transport/open-remote.ts';
import { startGitHttpServer } from '../../helpers/git-http-server.ts';
import { runTypeScript, startTypeScript } from '../../helpers/run-typescript.ts';
import {
  createTemporaryRepository,
  expectCleanFsck,
  isolatedGitEnvironment as env,
  runGit,
  type TemporaryRepository,
} from '../../helpers/temporary-repository.ts';

const script = join(import.meta.dirname, '../../faults/fetch-in-child.ts');

/** How many kills there are, spread over the time a fetch takes. */
const kills = Number(process.env['SUITE_KILLS'] ?? 6);

/** A bare repository with so many threads of a commit each. */
function createServer(threads: number): TemporaryRepository {
  const server = createTemporaryRepository({ bare: true });
  for (let at = 0; at < threads; at++) {
    const blob = runGit(server.dir, ['hash-object', '-w', '--stdin'], `${at}`);
    const tree = runGit(server.dir, ['mktree'], `100644 blob ${blob}\toutput.md\n`);
    server.git('update-ref', `refs/threads/t${at}`, server.git('commit-tree', '-m', `${at}`, tree));
  }
  return server;
}

/** The files that keep a pack from git. */
function keepsOf({ dir }: TemporaryRepository): string[] {
  return readdirSync(join(dir, '.git/objects/pack')).filter((name) => name.endsWith('.keep'));
}

function incomingOf({ dir }: TemporaryRepository): string[] {
  return readdirSync(join(dir, '.git/uwf/incoming'));
}

/** Brings what the other side has, as a command that finds this repository would, and lets go of it. */
async function fetchAll(local: TemporaryRepository, from: string): Promise<void> {
  const repository = await local.open();
  const remote = await openRemote(repository, from, { env });
  await (await remote.fetch({ refs: ['refs/threads/*'] })).discard();
  await repository.close();
}

test('a fetch that is killed at whatever call leaves nothing that the next one does not remove', async () => {
  const server = createServer(2);
  let kept = 0;
  for (let at = 1; ; at++) {
    const local = createTemporaryRepository();
    const faults = { UWF_FAULT: 'kill', UWF_FAULT_AT: String(at) };
    const { signal, code } = await runTypeScript(script, [local.dir, server.dir], {
      withFaults: true,
      env: { ...env, ...faults },
    });
    if (signal === null) {
      expect(code).toBe(0);
      break;
    }
    expectCleanFsck(local.dir);
    if (keepsOf(local).length > 0) kept += 1;
    await fetchAll(local, server.dir);
    expect(keepsOf(local), `killed at call ${at}`).toEqual([]);
    expect(incomingOf(local), `killed at call ${at}`).toEqual([]);
    // A pack without an index is one that was not finished: nothing but the one who wrote it knows of it.
    expect(local.git('count-objects', '-v')).not.toMatch(/no corresponding/);
    local.remove();
  }
  // With the pack's name, its index, the refs and each call for them; otherwise it was killed beside what this is about.
  expect(kept).toBeGreaterThan(5);
}, 120_000);

test('a disk that is full at whatever call leaves no pack without an index', async () => {
  const server = createServer(1);
  let failures = 0;
  for (let at = 1; ; at++) {
    const local = createTemporaryRepository();
    const faults = { UWF_FAULT: 'ENOSPC', UWF_FAULT_AT: String(at) };
    const { code, stderr } = await runTypeScript(script, [local.dir, server.dir], {
      withFaults: true,
      env: { ...env, ...faults },
    });
    if (code === 0) break;
    failures += 1;
    expect(stderr).toContain('StorageFull');
    expect(local.git('count-objects', '-v'), `full at call ${at}`).toMatch(/^garbage: 0$/m);
    local.remove();
  }
  expect(failures).toBeGreaterThan(10);
}, 120_000);

test('what guards the packs of a fetch stays while that is at work, whoever fetches meanwhile', async () => {
  const server = createServer(1);
  const local = createTemporaryRepository();
  const repository = await local.open();
  const remote = await openRemote(repository, server.dir, { env });
  const incoming = await remote.fetch({ refs: ['refs/threads/*'] });
  const guard = await incoming.accept(incoming.refs.map(({ id }) => id));
  const kept = keepsOf(local);
  expect(kept).toHaveLength(1);
  expect((await runTypeScript(script, [local.dir, server.dir], { env })).code).toBe(0);
  expect(keepsOf(local)).toEqual(kept);
  await guard.release();
  await incoming.discard();
  expect(keepsOf(local)).toEqual([]);
  await repository.close();
});

test(
  'fetches that are killed at any moment leave nothing that the next one does not remove',
  { timeout: 600_000 },
  async () => {
    const server = createServer(50);
    const http = await startGitHttpServer(dirname(server.dir));
    const url = http.urlOf(basename(server.dir));
    const local = createTemporaryRepository();
    let tookMs = 0;
    // The first one is bundled, too.
    for (let tries = 1; tries <= 2; tries++) {
      const whole = createTemporaryRepository();
      const start = performance.now();
      expect((await runTypeScript(script, [whole.dir, url], { env })).code).toBe(0);
      tookMs = performance.now() - start;
    }
    const forgetThreads = (): void => {
      const names = local.git('for-each-ref', '--format=%(refname)').split('\n').filter(Boolean);
      for (const name of names) local.git('update-ref', '-d', name);
    };
    let killed = 0;
    for (let at = 0; at < kills; at++) {
      const { process: child, outcome } = await startTypeScript(script, [local.dir, url], { env });
      await delay((tookMs * (at + 0.5)) / kills);
      child.kill('SIGKILL');
      if ((await outcome).signal === 'SIGKILL') killed += 1;
      expectCleanFsck(local.dir);
      forgetThreads();
    }
    expect(killed).toBeGreaterThan(0);
    expect((await runTypeScript(script, [local.dir, url], { env })).code).toBe(0);
    expect(incomingOf(local)).toEqual([]);
    expect(keepsOf(local)).toEqual([]);
    expectCleanFsck(local.dir);
  },
);
