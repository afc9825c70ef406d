import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ObjectId } from '../../src/git/format/object-id.ts';
import type { PushEdit } from '../../src/git/transport/remote.ts';
import { writeChain } from '../helpers/commit-chain.ts';
import { nameThere, pushAll, threadRef } from './remote-acts.ts';
import type { CreateRemoteFixture } from './remote-fixture.ts';
import { ref } from './store-fixture.ts';

/** What every remote has to do with edits. */
export function describeRemotePush(name: string, create: CreateRemoteFixture): void {
  type Commits = Readonly<Record<'one' | 'two' | 'three' | 'other', ObjectId>>;

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
        ['refs/history/2026-11-21/c', 'refs/threads/b'].map((name) => `${nameThere(fixture, name)} ${two}`).join('\n'),
      );
      fixture.server.git('fsck', '--strict', '--full');
      expect(await side.remote.push({ edits: [] })).toEqual([]);
    });

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
      expect(fixture.server.git('rev-parse', nameThere(fixture, 'refs/threads/a'))).toBe(two);
    });

    test('ends a thread: a history ref for the active one', async () => {
      const fixture = await create();
      const side = await fixture.connect();
      const [one, two] = (await writeChain(side.repository, undefined, 'one', 'two')) as [ObjectId, ObjectId];
      await pushAll(side, [{ name: threadRef('a'), value: one }]);
      await pushAll(side, [
        { name: ref('history/2026-11-21/a'), value: two, expected: null },
        { name: threadRef('a'), value: null, expected: one, via: two },
      ]);
      expect(fixture.server.git('for-each-ref', '--format=%(refname)')).toBe(
        nameThere(fixture, 'refs/history/2026-11-21/a'),
      );
    });

    test.for<[string, (commits: Commits) => PushEdit[]]>([
      ['has moved', ({ one, other }) => [{ name: threadRef('a'), value: null, expected: one, via: other }]],
      ['has moved, with nothing to move it to', ({ one }) => [{ name: threadRef('a'), value: null, expected: one }]],
      ['is gone', ({ one }) => [{ name: threadRef('gone'), value: null, expected: one }]],
      [
        'was to be kept by a ref that is gone',
        ({ one, two }) => [
          { name: threadRef('a'), value: null, expected: two },
          { name: threadRef('gone'), value: one, expected: one },
        ],
      ],
    ])('makes no edit of a push that deletes a ref which %s', async ([, edits]) => {
      const fixture = await create();
      const side = await fixture.connect();
      const [one, two] = (await writeChain(side.repository, undefined, 'one', 'two')) as [ObjectId, ObjectId];
      const [three, other] = (await writeChain(side.repository, one, 'three', 'other')) as [ObjectId, ObjectId];
      await pushAll(side, [{ name: threadRef('a'), value: two }]);
      const before = fixture.server.git('for-each-ref');
      const results = await side.remote.push({
        edits: [{ name: threadRef('new'), value: one, expected: null }, ...edits({ one, two, three, other })],
        isForward: true,
      });
      expect(results.filter(({ outcome }) => outcome === 'moved')).toHaveLength(1);
      expect(results.filter(({ outcome }) => outcome === 'done' || outcome === 'unchanged')).toEqual([]);
      expect(fixture.server.git('for-each-ref')).toBe(before);
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
      const made = fixture.server.git('for-each-ref', nameThere(fixture, 'refs/threads/b')) !== '';
      expect(made).toBe(results[0]?.outcome === 'done');
      await pushAll(side, [{ name: threadRef('c'), value: one }]);
    });
  });
}
