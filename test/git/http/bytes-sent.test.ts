import { execFile } from 'node:child_process';
import { basename, dirname } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { openHttpRemote } from '../../../src/git/http/open-http-remote.ts';
import { parseObjectId } from '../../../src/git/object-id.ts';
import { parseRefName } from '../../../src/git/ref-name.ts';
import { startGitHttpServer, type GitHttpServer } from '../../helpers/git-http-server.ts';
import { createTemporaryRepository, isolatedGitEnvironment } from '../../helpers/temporary-repository.ts';
import type { TemporaryRepository } from '../../helpers/temporary-repository.ts';
import { addManySteps } from '../../thread/long-thread.ts';
import { startLoop } from '../../thread/thread-fixture.ts';

/** How long the thread is; SUITE_HTTP_STEPS makes it longer. */
const steps = Number(process.env['SUITE_HTTP_STEPS'] ?? 300);

/** Pushes with git, while this process serves. */
async function pushByGit(dir: string, url: string, refspec: string): Promise<void> {
  await promisify(execFile)('git', ['push', '--quiet', url, refspec], { cwd: dir, env: isolatedGitEnvironment });
}

/** Two servers that have the same, and a thread here that both have but for its last step. */
async function createScene() {
  const local = createTemporaryRepository();
  const repository = await local.open();
  const state = await startLoop(repository);
  const head = await addManySteps(repository, state, steps, 0);
  const before = parseObjectId(local.git('rev-parse', `${head}~1`));
  const servers: { server: TemporaryRepository; http: GitHttpServer; url: string }[] = [];
  for (const _ of ['git', 'uwf']) {
    const server = createTemporaryRepository({ bare: true });
    server.git('config', 'http.receivepack', 'true');
    const http = await startGitHttpServer(dirname(server.dir));
    const url = http.urlOf(basename(server.dir));
    servers.push({ server, http, url });
    await pushByGit(local.dir, url, `${before}:refs/threads/${state.id}`);
    http.forget();
  }
  const [there, here] = servers;
  const remote = openHttpRemote(repository, { name: 'origin', url: here!.url, isConfigured: true });
  const received = ({ http }: (typeof servers)[number]): number => {
    const bytes = http.requests.reduce((sum, request) => sum + request.received + request.sent, 0);
    http.forget();
    return bytes;
  };
  return {
    local,
    repository,
    head,
    name: parseRefName(`refs/threads/${state.id}`),
    remote,
    git: there!,
    bytes: () => ({ byGit: received(there!), byUwf: received(here!) }),
    server: here!.server,
  };
}

test('one more step is sent in hardly more bytes than git sends', async () => {
  const { local, head, name, remote, git, bytes, server } = await createScene();
  await pushByGit(local.dir, git.url, `${head}:${name}`);
  expect(await remote.push({ edits: [{ name, value: head }] })).toEqual([{ name, outcome: 'done' }]);
  const { byGit, byUwf } = bytes();
  expect(byUwf).toBeLessThan(byGit * 1.3);
  server.git('fsck', '--strict', '--full');
});

test('a fork from the middle is sent in hardly more bytes than git sends', async () => {
  const { local, head, remote, git, bytes, server } = await createScene();
  const middle = parseObjectId(local.git('rev-parse', `${head}~${Math.floor(steps / 2)}`));
  const tree = local.git('rev-parse', `${head}^{tree}`);
  const fork = parseObjectId(local.git('commit-tree', '-p', middle, '-m', 'fork', tree));
  const name = parseRefName('refs/threads/fork');
  local.git('update-ref', 'refs/threads/other', `${head}~1`);
  await pushByGit(local.dir, git.url, `${fork}:${name}`);
  expect(await remote.push({ edits: [{ name, value: fork }] })).toEqual([{ name, outcome: 'done' }]);
  const { byGit, byUwf } = bytes();
  expect(byUwf).toBeLessThan(byGit * 1.3);
  server.git('fsck', '--strict', '--full');
});
