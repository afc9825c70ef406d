import { renameSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { ObjectId } from '../../src/git/format/object-id.ts';
import { RemoteUnreachable } from '../../src/git/transport/git-output.ts';
import type { RemoteRef } from '../../src/git/transport/remote.ts';
import { writeChain } from '../helpers/commit-chain.ts';
import { expectCleanFsck } from '../helpers/temporary-repository.ts';
import { nameThere } from './remote-acts.ts';
import type { CreateRemoteFixture } from './remote-fixture.ts';
import { ref } from './store-fixture.ts';

/**
 * What every remote has to do when the other side is not there, or goes away.
 *
 * @param cuts at how many places each direction is cut; `SUITE_CUTS` makes it more; 0 for connections that cannot be cut
 */
export function describeBrokenRemote(name: string, create: CreateRemoteFixture, cuts = 6): void {
  describe(`${name} as a remote that breaks`, () => {
    test('says that it cannot be reached where no repository is, and leaves nothing behind', async () => {
      const fixture = await create();
      const side = await fixture.connect();
      const [one] = (await writeChain(side.repository, undefined, 'one')) as [ObjectId];
      const before = side.files();
      renameSync(fixture.server.dir, `${fixture.server.dir}-elsewhere`);
      try {
        await expect(side.remote.list(['refs/*'])).rejects.toThrow(RemoteUnreachable);
        await expect(side.remote.fetch({ refs: ['refs/*'] })).rejects.toThrow(RemoteUnreachable);
        const edits = [{ name: ref('threads/a'), value: one }];
        await expect(side.remote.push({ edits })).rejects.toThrow(RemoteUnreachable);
      } finally {
        renameSync(`${fixture.server.dir}-elsewhere`, fixture.server.dir);
      }
      expect(side.files()).toEqual(before);
    });

    if (cuts === 0) return;

    test('a fetch that is cut anywhere changes nothing, and the next one completes', async () => {
      const fixture = await create();
      if (fixture.cut === undefined) throw new Error('the fixture cannot cut its connections');
      const [from, to] = [await fixture.connect(), await fixture.connect()];
      const heads = await writeChain(
        from.repository,
        undefined,
        ...Array.from({ length: 300 }, (_, at) => `step ${at}`),
      );
      const edits = heads.slice(-20).map((value, at) => ({ name: ref(`threads/t${at}`), value }));
      await from.remote.push({ edits });
      const before = to.files();
      for (const afterBytes of places(40_000, cuts)) {
        fixture.cut({ direction: 'down', afterBytes });
        const error: unknown = await to.remote.fetch({ refs: ['refs/threads/*'] }).then(
          (incoming) => incoming.discard(),
          (failure: unknown) => failure,
        );
        if (fixture.hasCut?.() === true) expect(error).toBeInstanceOf(RemoteUnreachable);
        else expect(error).toBeUndefined();
        expect(to.files()).toEqual(before);
      }
      fixture.cut(undefined);
      const incoming = await to.remote.fetch({ refs: ['refs/threads/*'] });
      expect(incoming.refs.map(({ id }: RemoteRef) => id).toSorted()).toEqual(heads.slice(-20).toSorted());
      await (await incoming.accept(incoming.refs.map(({ id }) => id))).release();
      await incoming.discard();
      to.expectSound();
    });

    test('a push that is cut anywhere is made or not, and the next one completes', async () => {
      const fixture = await create();
      if (fixture.cut === undefined) throw new Error('the fixture cannot cut its connections');
      const side = await fixture.connect();
      const messages = Array.from({ length: 300 }, (_, at) => `step ${at}`);
      const heads = await writeChain(side.repository, undefined, ...messages);
      const values = heads.slice(-20);
      const edits = values.map((value, at) => ({ name: ref(`threads/t${at}`), value }));
      const before = side.files();
      for (const direction of ['up', 'down'] as const) {
        for (const afterBytes of places(direction === 'up' ? 40_000 : 1_500, cuts)) {
          fixture.cut({ direction, afterBytes });
          const error: unknown = await side.remote.push({ edits }).catch((failure: unknown) => failure);
          if (fixture.hasCut?.() === true) expect(error).toBeInstanceOf(RemoteUnreachable);
          fixture.cut(undefined);
          const there = fixture.server.git('for-each-ref', '--format=%(objectname)').split('\n').filter(Boolean);
          expect([[], values.toSorted()]).toContainEqual(there.toSorted());
          expectCleanFsck(fixture.server.dir);
          expect(side.files()).toEqual(before);
          for (const { name: made } of there.length > 0 ? edits : [])
            fixture.server.git('update-ref', '-d', nameThere(fixture, made));
        }
      }
      const results = await side.remote.push({ edits });
      expect(results.filter(({ outcome }) => outcome !== 'done' && outcome !== 'unchanged')).toEqual([]);
    });
  });
}

/** Places spread over a range by the golden ratio, so that a few lie as well as many. */
function places(within: number, cuts: number): number[] {
  return Array.from({ length: Number(process.env['SUITE_CUTS'] ?? cuts) }, (_, at) =>
    Math.floor(within * ((0.31 + at * 0.618_034) % 1)),
  );
}
