import { describeBrokenRemote } from './remote-broken.ts';
import { describeRemoteFetch } from './remote-fetch.ts';
import type { CreateRemoteFixture, RemoteCosts } from './remote-fixture.ts';
import { describeManyRefs } from './remote-many.ts';
import { describeRemotePush } from './remote-push.ts';

/** What every remote has to do. `cuts` is that of {@link describeBrokenRemote}. */
export function describeRemote(name: string, create: CreateRemoteFixture, costs: RemoteCosts, cuts?: number): void {
  describeRemoteFetch(name, create, costs);
  describeRemotePush(name, create);
  describeManyRefs(name, create, costs);
  describeBrokenRemote(name, create, cuts);
}
