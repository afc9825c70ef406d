import { readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startGitHttpServer } from '../../helpers/git-http-server.ts';
import { runTypeScript, startTypeScript } from '../../helpers/run-typescript.ts';
import {
  createTemporaryRepository,
  expectCleanFsck,
  isolatedGitEnvironment as env,
  runGit,
} from '../../helpers/temporary-repository.ts';

const script = join(import.meta.dirname, '../../faults/fetch-in-child.ts');

/** How many kills there are, spread over the time a fetch takes. */
const kills = Number(process.env['SUITE_KILLS'] ?? 6);

test(
  'a fetch that is killed leaves one stale folder at most, which the next one removes',
  { timeout: 600_000 },
  async () => {
    const server = createTemporaryRepository({ bare: true });
    for (let at = 0; at < 50; at++) {
      const blob = runGit(server.dir, ['hash-object', '-w', '--stdin'], `${at}`);
      const tree = runGit(server.dir, ['mktree'], `100644 blob ${blob}\toutput.md\n`);
      server.git('update-ref', `refs/threads/t${at}`, server.git('commit-tree', '-m', `${at}`, tree));
    }
    const http = await startGitHttpServer(dirname(server.dir));
    const url = http.urlOf(basename(server.dir));
    const local = createTemporaryRepository();
    const start = performance.now();
    const whole = createTemporaryRepository();
    expect((await runTypeScript(script, [whole.dir, url], { env })).code).toBe(0);
    const tookMs = performance.now() - start;
    const incoming = join(local.dir, '.git/uwf/incoming');
    for (let at = 0; at < kills; at++) {
      const { process: child, outcome } = await startTypeScript(script, [local.dir, url], { env });
      await delay((tookMs * (at + 0.5)) / kills);
      child.kill('SIGKILL');
      await outcome;
      expectCleanFsck(local.dir);
      // It was faster than the blow.
      if (local.git('for-each-ref', 'refs/threads/') !== '') break;
    }
    for (const name of local.git('for-each-ref', '--format=%(refname)').split('\n').filter(Boolean)) {
      local.git('update-ref', '-d', name);
    }
    expect((await runTypeScript(script, [local.dir, url], { env })).code).toBe(0);
    expect(readdirSync(incoming)).toEqual([]);
    expect(readdirSync(join(local.dir, '.git/objects/pack')).filter((name) => name.endsWith('.keep'))).toEqual([]);
    expectCleanFsck(local.dir);
  },
);
