import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describeRemote } from '../../contracts/remote.ts';
import type { RemoteFixture } from '../../contracts/remote-fixture.ts';
import { startGitHttpServer } from '../../helpers/git-http-server.ts';
import { createTemporaryFolder, createTemporaryRepository } from '../../helpers/temporary-repository.ts';
import { connectTo, counterOf, takeOnlyBranches } from './remote-scene.ts';

async function overHttp(refPrefix?: string): Promise<RemoteFixture> {
  const server = createTemporaryRepository({ bare: true });
  server.git('config', 'http.receivepack', 'true');
  const http = await startGitHttpServer(dirname(server.dir));
  const url = http.urlOf(basename(server.dir));
  const count = counterOf(() => http.requests.filter(({ method }) => method === 'POST').length);
  return {
    server,
    ...(refPrefix !== undefined && { refPrefix }),
    connect: () => connectTo(url, {}, refPrefix),
    countExchanges: count,
    cut: (cut) => http.cut(cut),
    hasCut: () => http.hasCut,
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

/** Its host takes only branches and tags. */
async function belowPrefix(): Promise<RemoteFixture> {
  const fixture = await overHttp('refs/heads/uwf/');
  takeOnlyBranches(fixture.server);
  return fixture;
}

describeRemote('native git over http', () => overHttp(), { list: 1, fetch: 2, push: 1 });
describeRemote('native git in a folder', inFolder, { list: 1, fetch: 1, push: 1 }, 0);
describeRemote('native git over http, below a prefix', belowPrefix, { list: 1, fetch: 2, push: 1 });
