import { describe, expect, test } from 'vitest';
import type { ObjectId } from '../../src/git/format/object-id.ts';
import { writeChain } from '../helpers/commit-chain.ts';
import { absent, pushAll, take, threadRef, threads } from './remote-acts.ts';
import type { CreateRemoteFixture, RemoteCosts } from './remote-fixture.ts';

/** What every remote has to do with many refs. */
export function describeManyRefs(name: string, create: CreateRemoteFixture, costs: RemoteCosts): void {
  describe(`${name} as a remote of many refs`, () => {
    test('1,000 threads go and come in as many exchanges as one', async () => {
      const fixture = await create();
      const [from, to] = [await fixture.connect(), await fixture.connect()];
      const names = Array.from({ length: 1_000 }, (_, number) => `t${String(number).padStart(4, '0')}`);
      const heads: ObjectId[] = await writeChain(from.repository, undefined, ...names);
      fixture.countExchanges();
      await pushAll(
        from,
        names.map((each, at) => ({ name: threadRef(each), value: heads[at] ?? absent })),
      );
      expect(fixture.countExchanges()).toBeLessThanOrEqual(costs.push);
      const incoming = await to.remote.fetch(threads);
      expect(fixture.countExchanges()).toBeLessThanOrEqual(costs.fetch);
      expect(incoming.refs).toHaveLength(1_000);
      await take(to, incoming, Object.fromEntries(names.map((each, at) => [each, heads[at] ?? absent])));
      to.expectSound();
      expect((await to.repository.refs.list('refs/threads/')).map(({ id }) => id)).toEqual(heads);
    });
  });
}
