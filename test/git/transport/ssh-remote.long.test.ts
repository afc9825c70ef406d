import { describe } from 'vitest';
import { describeBrokenRemote } from '../../contracts/remote-broken.ts';
import { describeRemoteFetch } from '../../contracts/remote-fetch.ts';
import type { RemoteFixture } from '../../contracts/remote-fixture.ts';
import { describeManyRefs } from '../../contracts/remote-many.ts';
import { describeRemotePush } from '../../contracts/remote-push.ts';
import { noSshServer, startSshServer } from '../../helpers/ssh-server.ts';
import { createTemporaryRepository } from '../../helpers/temporary-repository.ts';
import { connectTo, counterOf } from './remote-scene.ts';

const name = 'native git over ssh';
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

// `.ci/run` sets it where no sshd can be had: what cannot be installed there is no fault of the change.
const isLeftOut = process.env['SUITE_WITHOUT_SSHD'] === '1';
if (noSshServer !== undefined && !isLeftOut) throw new Error(noSshServer);

// A connection takes half a second, too long for the tests of every change.
describe.skipIf(noSshServer !== undefined)('with an sshd', () => {
  describeManyRefs(name, overSsh, costs);
  describeBrokenRemote(name, overSsh, 2);
  describeRemoteFetch(name, overSsh, costs);
  describeRemotePush(name, overSsh);
});
