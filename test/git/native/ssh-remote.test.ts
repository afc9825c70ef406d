import { describe } from 'vitest';
import { describeBrokenRemote } from '../../contracts/remote-broken.ts';
import { describeRemoteFetch } from '../../contracts/remote-fetch.ts';
import type { RemoteFixture } from '../../contracts/remote-fixture.ts';
import { describeManyRefs } from '../../contracts/remote-many.ts';
import { describeRemotePush } from '../../contracts/remote-push.ts';
import { noSshServer, startSshServer } from '../../helpers/ssh-server.ts';
import { createTemporaryRepository } from '../../helpers/temporary-repository.ts';
import { connectTo, counterOf } from './remote-scene.ts';

const name = `native git over ssh${noSshServer === undefined ? '' : ` (not run: ${noSshServer})`}`;
const costs = { list: 1, fetch: 1, push: 1 };

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

describe.skipIf(noSshServer !== undefined)('with an sshd', () => {
  describeManyRefs(name, overSsh, costs);
  describeBrokenRemote(name, overSsh, 2);
});

// Shaking hands takes half a second, and once hands are shaken it is the same talk as in a folder.
describe.runIf(noSshServer === undefined && process.env['SUITE_SSH'] === 'full')('all of it with an sshd', () => {
  describeRemoteFetch(name, overSsh, costs);
  describeRemotePush(name, overSsh);
});
