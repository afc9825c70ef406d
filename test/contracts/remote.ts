import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ObjectId } from '../../src/git/object-id.ts';
import { parseObjectId } from '../../src/git/object-id.ts';
import type { FetchRequest, IncomingObjects, PushEdit } from '../../src/git/remote.ts';
import { writeChain } from '../helpers/commit-chain.ts';
import { describeBrokenRemote } from './remote-broken.ts';
import type { CreateRemoteFixture, RemoteCosts, RemoteSide } from './remote-fixture.ts';
import { ref } from './store-fixture.ts';

const absent = parseObjectId('0123456789abcdef0123456789abcdef01234567');
const threads: FetchRequest = { refs: ['refs/threads/*'] };

const threadRef = (name: string) => ref(`threads/${name}`);

/** Pushes and expects every edit to be made. */
async function pushAll({ remote }: RemoteSide, edits: readonly PushEdit[]): Promise<void> {
  const results = await remote.push({ edits });
  expect(results.filter(({ outcome }) => outcome !== 'done')).toEqual([]);
  expect(results.map(({ name }) => name)).toEqual(edits.map(({ name }) => name));
}

/** Accepts, and takes the guard away after a ref leads there, as callers do. */
async function take({ repository }: RemoteSide, incoming: IncomingObjects, names: Record<string, ObjectId>) {
  const guard = await incoming.accept(Object.values(names));
  const edits = Object.entries(names).map(([name, value]) => ({ name: threadRef(name), expected: null, value }));
  await repository.refs.update(edits);
  await guard.release();
  await incoming.discard();
}

/** What every remote has to do. */
export function describeRemote(name: string, create: CreateRemoteFixture, costs: RemoteCosts): void {
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
      const lines = names.map((strange) => `${head} refs/threads/${strange}\n`).toSorted();
      // A server may say what it likes; git's own can be made to by what lies in its packed-refs.
      mkdirSync(join(fixture.server.dir, 'refs/threads'), { recursive: true });
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

  describe(`${name} as a remote: push`, () => {
    test('creates, moves forward and deletes, and says what was so already', async () => {
      const fixture = await create();
      const side = await fixture.connect();
      const [one, two] = (await writeChain(side.repository, undefined, 'one', 'two')) as [ObjectId, ObjectId];
      await pushAll(side, [
        { name: threadRef('a'), value: one, expected: null },
        { name: threadRef('b'), value: one },
      ]);
      const results = await side.remote.push({
        edits: [
          { name: threadRef('b'), value: two },
          { name: threadRef('a'), value: one },
          { name: ref('history/2026-11-21/c'), value: two, expected: null },
        ],
      });
      expect(results).toEqual([
        { name: 'refs/threads/b', outcome: 'done' },
        { name: 'refs/threads/a', outcome: 'unchanged' },
        { name: 'refs/history/2026-11-21/c', outcome: 'done' },
      ]);
      await pushAll(side, [{ name: threadRef('a'), value: null, expected: one }]);
      expect(fixture.server.git('for-each-ref', '--format=%(refname) %(objectname)')).toBe(
        `refs/history/2026-11-21/c ${two}\nrefs/threads/b ${two}`,
      );
      fixture.server.git('fsck', '--strict', '--full');
      expect(await side.remote.push({ edits: [] })).toEqual([]);
    });

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

    type Commits = Readonly<Record<'one' | 'two' | 'three' | 'other', ObjectId>>;
    const refusals: [string, (commits: Commits) => PushEdit][] = [
      ['a commit that does not follow what is there', ({ other }) => ({ name: threadRef('a'), value: other })],
      ['a commit that is behind what is there', ({ one }) => ({ name: threadRef('a'), value: one })],
      ['a new ref that is there', ({ two }) => ({ name: threadRef('b'), value: two, expected: null })],
      ['another value than expected', ({ two, three }) => ({ name: threadRef('b'), value: three, expected: two })],
      [
        'a deletion of another value than expected',
        ({ one }) => ({ name: threadRef('a'), value: null, expected: one }),
      ],
      ['a deletion of what is not there', ({ one }) => ({ name: threadRef('nothing'), value: null, expected: one })],
      [
        'a value expected where nothing is',
        ({ one, two }) => ({ name: threadRef('nothing'), value: two, expected: one }),
      ],
      [
        'the expected value, which the new one does not follow',
        ({ two, other }) => ({ name: threadRef('a'), value: other, expected: two }),
      ],
    ];
    test.for(refusals)('refuses %s, and makes no other edit of that push', async ([, edit]) => {
      const fixture = await create();
      const side = await fixture.connect();
      const chain = await writeChain(side.repository, undefined, 'one', 'two', 'three');
      const [one, two, three] = chain as [ObjectId, ObjectId, ObjectId];
      const [other] = (await writeChain(side.repository, undefined, 'other')) as [ObjectId];
      await pushAll(side, [
        { name: threadRef('a'), value: two },
        { name: threadRef('b'), value: one },
      ]);
      const before = fixture.server.git('for-each-ref');
      const results = await side.remote.push({
        edits: [
          { name: threadRef('new'), value: two },
          edit({ one, two, three, other }),
          { name: threadRef('newer'), value: one, expected: null },
        ],
      });
      expect(results.map(({ outcome }) => outcome)).toEqual(['undone', 'moved', 'undone']);
      expect(fixture.server.git('for-each-ref')).toBe(before);
    });

    test('a ref that is at the value already is unchanged, whatever was expected', async () => {
      const side = await (await create()).connect();
      const [one, two] = (await writeChain(side.repository, undefined, 'one', 'two')) as [ObjectId, ObjectId];
      await pushAll(side, [{ name: threadRef('a'), value: two }]);
      for (const expected of [null, one, two]) {
        const edits = [
          { name: threadRef('a'), value: two, expected },
          { name: threadRef('b'), value: two },
        ];
        expect((await side.remote.push({ edits }))[0]).toEqual({ name: 'refs/threads/a', outcome: 'unchanged' });
      }
    });

    test('refuses a commit where another clone has been faster, also when it is not known here', async () => {
      const fixture = await create();
      const [left, right] = [await fixture.connect(), await fixture.connect()];
      const [one, two] = (await writeChain(left.repository, undefined, 'one', 'two')) as [ObjectId, ObjectId];
      const [, other] = (await writeChain(right.repository, undefined, 'one', 'other')) as [ObjectId, ObjectId];
      await pushAll(left, [{ name: threadRef('a'), value: one }]);
      await pushAll(left, [{ name: threadRef('a'), value: two }]);
      const results = await right.remote.push({ edits: [{ name: threadRef('a'), value: other }] });
      expect(results).toMatchObject([{ name: 'refs/threads/a', outcome: 'moved' }]);
      const leased = await right.remote.push({ edits: [{ name: threadRef('a'), value: other, expected: one }] });
      expect(leased).toMatchObject([{ name: 'refs/threads/a', outcome: 'moved' }]);
      expect(fixture.server.git('rev-parse', 'refs/threads/a')).toBe(two);
    });

    test('ends a thread in one push: a history ref for the active one', async () => {
      const fixture = await create();
      const side = await fixture.connect();
      const [one, two] = (await writeChain(side.repository, undefined, 'one', 'two')) as [ObjectId, ObjectId];
      await pushAll(side, [{ name: threadRef('a'), value: one }]);
      await pushAll(side, [
        { name: ref('history/2026-11-21/a'), value: two, expected: null },
        { name: threadRef('a'), value: null, expected: one },
      ]);
      expect(fixture.server.git('for-each-ref', '--format=%(refname)')).toBe('refs/history/2026-11-21/a');
    });

    test('tells what the remote does not allow from what has moved', async () => {
      const fixture = await create();
      const side = await fixture.connect();
      const [one] = (await writeChain(side.repository, undefined, 'one')) as [ObjectId];
      const hook = '#!/bin/sh\ncase "$1" in *forbidden*) echo "not here"; exit 1;; esac\n';
      writeFileSync(join(fixture.server.dir, 'hooks/update'), hook, { mode: 0o755 });
      const results = await side.remote.push({
        edits: [
          { name: threadRef('allowed'), value: one },
          { name: threadRef('forbidden'), value: one },
        ],
      });
      expect(results).toMatchObject([
        { name: 'refs/threads/allowed', outcome: 'undone' },
        { name: 'refs/threads/forbidden', outcome: 'refused', reason: expect.stringMatching(/\S/) as string },
      ]);
      expect(fixture.server.git('for-each-ref')).toBe('');
    });

    test('a push that is refused before anything is sent says so too', async () => {
      const fixture = await create();
      const side = await fixture.connect();
      const [one] = (await writeChain(side.repository, undefined, 'one')) as [ObjectId];
      const hook = '#!/bin/sh\necho "closed today" >&2\nexit 1\n';
      writeFileSync(join(fixture.server.dir, 'hooks/pre-receive'), hook, { mode: 0o755 });
      const results = await side.remote.push({ edits: [{ name: threadRef('a'), value: one }] });
      expect(results).toMatchObject([{ name: 'refs/threads/a', outcome: 'refused' }]);
    });

    test('a server without atomic pushes makes those edits that it can', async () => {
      const fixture = await create();
      fixture.server.git('config', 'receive.advertiseAtomic', 'false');
      const side = await fixture.connect();
      const [one, two] = (await writeChain(side.repository, undefined, 'one', 'two')) as [ObjectId, ObjectId];
      await pushAll(side, [{ name: threadRef('a'), value: two }]);
      const results = await side.remote.push({
        edits: [
          { name: threadRef('b'), value: one },
          { name: threadRef('a'), value: one },
        ],
      });
      expect(results).toMatchObject([
        { outcome: expect.stringMatching(/^(done|undone)$/) as string },
        { outcome: 'moved' },
      ]);
      const made = fixture.server.git('for-each-ref', '--format=%(refname)', 'refs/threads/b') !== '';
      expect(made).toBe(results[0]?.outcome === 'done');
      await pushAll(side, [{ name: threadRef('c'), value: one }]);
    });
  });

  describeBrokenRemote(name, create);
}
