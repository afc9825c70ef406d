import { basename, dirname } from 'node:path';
import type { CreateRemoteFixture, RemoteSide } from '../../contracts/remote-fixture.ts';
import { describeRemote } from '../../contracts/remote.ts';
import { startGitHttpServer } from '../../helpers/git-http-server.ts';
import { createTemporaryRepository } from '../../helpers/temporary-repository.ts';
import { connectFromDisk, connectFromMemory } from './http-side.ts';

/** A server over HTTP, and sides of one kind; every request counts. */
function fixtureOf(connect: (url: string) => Promise<RemoteSide>): CreateRemoteFixture {
  return async () => {
    const server = createTemporaryRepository({ bare: true });
    server.git('config', 'http.receivepack', 'true');
    const http = await startGitHttpServer(dirname(server.dir));
    return {
      server,
      connect: () => connect(http.urlOf(basename(server.dir))),
      countExchanges: () => {
        const count = http.requests.length;
        http.forget();
        return count;
      },
      cut: (cut) => http.cut(cut),
      hasCut: () => http.hasCut,
    };
  };
}

const costs = { list: 1, fetch: 2, push: 2 };
describeRemote('HTTP in this process, from a disk,', fixtureOf(connectFromDisk), costs);
describeRemote('HTTP in this process, from memory,', fixtureOf(connectFromMemory), costs);
