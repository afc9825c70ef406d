import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, test } from 'vitest';
import { describeRemote } from '../../contracts/remote.ts';
import type { RemoteFixture } from '../../contracts/remote-fixture.ts';
import { startGitHttpServer } from '../../helpers/git-http-server.ts';
import { noSshServer, startSshServer } from '../../helpers/ssh-server.ts';
import { createTemporaryFolder, createTemporaryRepository } from '../../helpers/temporary-repository.ts';
import { connectTo } from './remote-scene.ts';

async function overHttp(): Promise<RemoteFixture> {
  const server = createTemporaryRepository({ bare: true });
  server.git('config', 'http.receivepack', 'true');
  const http = await startGitHttpServer(dirname(server.dir));
  const url = http.urlOf(basename(server.dir));
  const count = counterOf(() => http.requests.filter(({ method }) => method === 'POST').length);
  return {
    server,
    connect: () => connectTo(url),
    countExchanges: count,
    cut: (cut) => http.cut(cut),
    hasCut: () => http.hasCut,
  };
}

async function overSsh(): Promise<RemoteFixture> {
  const server = createTemporaryRepository({ bare: true });
  const { urlOf, env, proxy } = await startSshServer();
  return {
    server,
    connect: () => connectTo(urlOf(server.dir), env),
    countExchanges: counterOf(() => proxy.connections),
    cut: (cut) => proxy.cut(cut),
    hasCut: () => proxy.hasCut,
  };
}

async function inFolder(): Promise<RemoteFixture> {
  const server = createTemporaryRepository({ bare: true });
  // git says in its trace which programs it starts.
  const trace = join(createTemporaryFolder(), 'trace');
  writeFileSync(trace, '');
  const started = /run_command: .*git-(?:upload|receive)-pack '/g;
  return {
    server,
    connect: () => connectTo(server.dir, { GIT_TRACE: trace }),
    countExchanges: counterOf(() =>
      existsSync(trace) ? (readFileSync(trace, 'utf8').match(started)?.length ?? 0) : 0,
    ),
  };
}

/** How much a count has grown since it was asked for last. */
function counterOf(total: () => number): () => number {
  let before = 0;
  return () => {
    const now = total();
    const grown = now - before;
    before = now;
    return grown;
  };
}

describeRemote('native git over http', overHttp, { list: 1, fetch: 2, push: 1 });
describeRemote('native git in a folder', inFolder, { list: 1, fetch: 1, push: 1 });
if (noSshServer === undefined) {
  describeRemote('native git over ssh', overSsh, { list: 1, fetch: 1, push: 1 });
} else {
  describe('native git over ssh as a remote', () => {
    test.skip(noSshServer, () => {});
  });
}
