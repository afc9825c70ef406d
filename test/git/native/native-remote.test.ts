import { dirname, basename } from 'node:path';
import { describeRemote } from '../../contracts/remote.ts';
import { startGitHttpServer } from '../../helpers/git-http-server.ts';
import { createTemporaryRepository } from '../../helpers/temporary-repository.ts';
import { connectTo } from './remote-scene.ts';

describeRemote(
  'native git over http',
  async () => {
    const server = createTemporaryRepository({ bare: true });
    server.git('config', 'http.receivepack', 'true');
    const http = await startGitHttpServer(dirname(server.dir));
    const url = http.urlOf(basename(server.dir));
    let counted = 0;
    return {
      server,
      connect: () => connectTo(url),
      countExchanges: () => {
        const before = counted;
        counted = http.requests.filter(({ method }) => method === 'POST').length;
        return counted - before;
      },
      cut: (cut) => http.cut(cut),
      hasCut: () => http.hasCut,
    };
  },
  { list: 1, fetch: 2, push: 1 },
);
