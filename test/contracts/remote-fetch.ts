import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ObjectId } from '../../src/git/format/object-id.ts';
import { writeChain } from '../helpers/commit-chain.ts';
import { absent, nameThere, pushAll, take, threadRef, threads } from './remote-acts.ts';
import type { CreateRemoteFixture, RemoteCosts } from './remote-fixture.ts';
import { ref } from './store-fixture.ts';

/** What every remote has to do when it is asked for what it has. */
export function describeRemoteFetch(name: string, create: CreateRemoteFixture, costs: RemoteCosts): void {
  describe(`${name} as a remote: list and fetch`, () => {
    test('lists nothing where nothing is, and fetches nothing', async () => {
      const side = await (await create()).connect();
      expect(await side.remote.list(['refs/threads/*'])).toEqual([]);
      const before = side.files();
      const incoming = await side.remote.fetch(threads);
      expect(incoming.refs).toEqual([]);
      await incoming.discard();
      await incoming.discard();
      expect(side.files()).toEqual(before);
    });

    test('lists the refs that match a pattern or a name, and no others, in one exchange', async () => {
      const fixture = await create();
      const side = await fixture.connect();
      const [one, two] = (await writeChain(side.repository, undefined, 'one', 'two')) as [ObjectId, ObjectId];
      await pushAll(side, [
        { name: threadRef('a'), value: one },
        { name: threadRef('b'), value: two },
        { name: ref('threadsandmore/c'), value: two },
        { name: ref('workflows/w'), value: two },
      ]);
      fixture.countExchanges();
      const listed = await side.remote.list(['refs/threads/*', 'refs/workflows/w']);
      expect(fixture.countExchanges()).toBeLessThanOrEqual(costs.list);
      expect(listed).toEqual([
        { name: 'refs/threads/a', id: one },
        { name: 'refs/threads/b', id: two },
        { name: 'refs/workflows/w', id: two },
      ]);
      expect(await side.remote.list(['refs/workflows/'])).toEqual([]);
      expect(await side.remote.list([])).toEqual([]);
    });

    test('brings what a ref leads to, apart from the repository until it is accepted', async () => {
      const fixture = await create();
      const [from, to] = [await fixture.connect(), await fixture.connect()];
      const chain = (await writeChain(from.repository, undefined, 'one', 'two', 'three')) as [ObjectId, ...ObjectId[]];
      const head = chain[2] as ObjectId;
      await pushAll(from, [{ name: threadRef('a'), value: head }]);

      const incoming = await to.remote.fetch(threads);
      expect(incoming.refs).toEqual([{ name: 'refs/threads/a', id: head }]);
      for (const id of chain) {
        expect((await incoming.objects.read(id))?.type).toBe('commit');
        expect(await incoming.objects.has(id)).toBe(true);
        expect(await to.repository.objects.has(id)).toBe(false);
      }
      await take(to, incoming, { a: head });
      expect((await to.repository.objects.read(head))?.type).toBe('commit');
      to.expectSound();
    });

    test('leaves no trace of what is not accepted', async () => {
      const fixture = await create();
      const [from, to] = [await fixture.connect(), await fixture.connect()];
      const [head] = (await writeChain(from.repository, undefined, 'one')) as [ObjectId];
      await pushAll(from, [{ name: threadRef('a'), value: head }]);
      const before = to.files();
      const incoming = await to.remote.fetch(threads);
      await incoming.discard();
      await incoming.discard();
      expect(to.files()).toEqual(before);
      expect(await to.repository.objects.has(head)).toBe(false);
    });

    test('accepts some tips and nothing that only others lead to', async () => {
      const fixture = await create();
      const [from, to] = [await fixture.connect(), await fixture.connect()];
      const [base] = (await writeChain(from.repository, undefined, 'base')) as [ObjectId];
      const [good] = (await writeChain(from.repository, base, 'good')) as [ObjectId];
      const [bad] = (await writeChain(from.repository, base, 'bad')) as [ObjectId];
      await pushAll(from, [
        { name: threadRef('bad'), value: bad },
        { name: threadRef('good'), value: good },
      ]);
      const incoming = await to.remote.fetch(threads);
      await take(to, incoming, { good });
      expect(await to.repository.objects.has(base)).toBe(true);
      expect(await to.repository.objects.has(good)).toBe(true);
      expect(await to.repository.objects.has(bad)).toBe(false);
      to.expectSound();
    });

    test('accepts no tips at all', async () => {
      const fixture = await create();
      const [from, to] = [await fixture.connect(), await fixture.connect()];
      const [head] = (await writeChain(from.repository, undefined, 'one')) as [ObjectId];
      await pushAll(from, [{ name: threadRef('a'), value: head }]);
      const before = to.files();
      const incoming = await to.remote.fetch(threads);
      await (await incoming.accept([])).release();
      await incoming.discard();
      expect(to.files()).toEqual(before);
    });

    test('tells of refs that have not changed, and reads what they lead to from the repository', async () => {
      const fixture = await create();
      const [from, to] = [await fixture.connect(), await fixture.connect()];
      const [one] = (await writeChain(from.repository, undefined, 'one')) as [ObjectId];
      await pushAll(from, [{ name: threadRef('a'), value: one }]);
      await take(to, await to.remote.fetch(threads), { a: one });

      const known = [{ name: 'refs/threads/a', id: one }];
      fixture.countExchanges();
      const again = await to.remote.fetch({ ...threads, known });
      expect(fixture.countExchanges()).toBeLessThanOrEqual(costs.list);
      expect(again.refs).toEqual(known);
      expect(await again.objects.has(one)).toBe(true);
      await (await again.accept([one])).release();
      await again.discard();

      const [two] = (await writeChain(from.repository, one, 'two')) as [ObjectId];
      await pushAll(from, [
        { name: threadRef('a'), value: two },
        { name: threadRef('b'), value: one },
      ]);
      const more = await to.remote.fetch({ ...threads, known });
      expect(more.refs).toEqual([
        { name: 'refs/threads/a', id: two },
        { name: 'refs/threads/b', id: one },
      ]);
      await take(to, more, { b: one });
      expect(await to.repository.objects.has(two)).toBe(false);
      to.expectSound();
    });

    test('does not tell of what the remote has no longer, whatever is known', async () => {
      const fixture = await create();
      const [from, to] = [await fixture.connect(), await fixture.connect()];
      const [one] = (await writeChain(from.repository, undefined, 'one')) as [ObjectId];
      await pushAll(from, [
        { name: threadRef('a'), value: one },
        { name: threadRef('b'), value: one },
      ]);
      const incoming = await to.remote.fetch(threads);
      await take(to, incoming, { a: one });
      await pushAll(from, [{ name: threadRef('b'), value: null, expected: one }]);
      const again = await to.remote.fetch({ ...threads, known: incoming.refs });
      expect(again.refs).toEqual([{ name: 'refs/threads/a', id: one }]);
      await again.discard();
    });

    test('asks for single names, and leaves out what is excepted', async () => {
      const fixture = await create();
      const [from, to] = [await fixture.connect(), await fixture.connect()];
      const [one] = (await writeChain(from.repository, undefined, 'one')) as [ObjectId];
      const [other] = (await writeChain(from.repository, undefined, 'other')) as [ObjectId];
      await pushAll(from, [
        { name: threadRef('a'), value: one },
        { name: threadRef('b'), value: other },
        { name: ref('workflows/w'), value: one },
      ]);
      const single = await to.remote.fetch({ refs: ['refs/threads/a', 'refs/threads/nothing'] });
      expect(single.refs).toEqual([{ name: 'refs/threads/a', id: one }]);
      expect(await single.objects.has(other)).toBe(false);
      await single.discard();
      const most = await to.remote.fetch({ refs: ['refs/threads/*', 'refs/workflows/*'], except: ['refs/threads/b'] });
      expect(most.refs).toEqual([
        { name: 'refs/threads/a', id: one },
        { name: 'refs/workflows/w', id: one },
      ]);
      expect(await most.objects.has(other)).toBe(false);
      await most.discard();
    });

    test('brings what is found under unpleasant names, and what cannot be told apart from a folder', async () => {
      const fixture = await create();
      const side = await fixture.connect();
      const [head] = (await writeChain(side.repository, undefined, 'one')) as [ObjectId];
      await pushAll(side, [{ name: threadRef('plain'), value: head }]);
      const names = [
        "'quoted'",
        '"$(false)"',
        '-x',
        ';false',
        'a',
        'a/b',
        'ü',
        'long'.repeat(60),
        '%2e',
        'HEAD',
        "q'of",
      ];
      const lines = names.map((strange) => `${head} ${nameThere(fixture, `refs/threads/${strange}`)}\n`).toSorted();
      // A server may say what it likes; git's own can be made to by what lies in its packed-refs.
      mkdirSync(join(fixture.server.dir, nameThere(fixture, 'refs/threads')), { recursive: true });
      writeFileSync(join(fixture.server.dir, 'packed-refs'), lines.join(''));
      const to = await fixture.connect();
      const expected = [...names, 'plain'].map((strange) => `refs/threads/${strange}`).toSorted();
      expect((await to.remote.list(['refs/threads/*'])).map((told) => told.name).toSorted()).toEqual(expected);
      const incoming = await to.remote.fetch(threads);
      expect(incoming.refs.map((told) => told.name).toSorted()).toEqual(expected);
      await take(to, incoming, { plain: head });
      to.expectSound();
    });

    test('is stopped by its signal, and leaves nothing behind', async () => {
      const fixture = await create();
      const side = await fixture.connect();
      const before = side.files();
      const stopped = AbortSignal.abort(new Error('enough'));
      await expect(side.remote.fetch({ ...threads, signal: stopped })).rejects.toThrow('enough');
      await expect(side.remote.list(['refs/*'], stopped)).rejects.toThrow('enough');
      await expect(
        side.remote.push({ edits: [{ name: threadRef('a'), value: absent }], signal: stopped }),
      ).rejects.toThrow('enough');
      expect(side.files()).toEqual(before);
    });
  });
}
