import { describe, expect, test } from 'vitest';
import { UwfError } from '../../src/errors.ts';
import type { ObjectId } from '../../src/git/format/object-id.ts';
import { BrokenPackedRefs, BrokenRef, RefNameConflict } from '../../src/git/format/errors.ts';
import { parseRefName } from '../../src/git/format/refs.ts';
import { RefMoved } from '../../src/git/repository.ts';
import { ref, writeCommits } from './store-fixture.ts';
import type { CreateFixture, StoreFixture } from './store-fixture.ts';

type Prepared = StoreFixture & { a: ObjectId; b: ObjectId; c: ObjectId };

/** What every ref store has to do. */
export function describeRefStore(name: string, create: CreateFixture): void {
  const prepare = async (): Promise<Prepared> => {
    const fixture = await create();
    const [a, b, c] = await writeCommits(fixture.objects, 'a', 'b', 'c');
    return { ...fixture, a: a!, b: b!, c: c! };
  };
  const pack = (fixture: StoreFixture, lines: string): void =>
    fixture.fs.writeFileSync(
      `${fixture.gitdir}/packed-refs`,
      `# pack-refs with: peeled fully-peeled sorted \n${lines}`,
    );
  const writeLoose = (fixture: StoreFixture, path: string, text: string): void => {
    const file = `${fixture.gitdir}/${path}`;
    fixture.fs.mkdirSync(file.slice(0, file.lastIndexOf('/')), { recursive: true });
    fixture.fs.writeFileSync(file, text);
  };

  describe(`${name} as a ref store`, () => {
    test('creates, moves and deletes a ref under its expected value', async () => {
      const { refs, a, b, reopen, expectSound } = await prepare();
      const thread = ref('threads/one');
      expect(await refs.read(thread)).toBeUndefined();
      await refs.update([{ name: thread, expected: null, value: a }]);
      expect(await refs.read(thread)).toBe(a);
      await refs.update([{ name: thread, expected: a, value: b }]);
      expect(await (await reopen()).refs.read(thread)).toBe(b);
      expectSound();
      await refs.update([{ name: thread, expected: b, value: null }]);
      expect(await refs.read(thread)).toBeUndefined();
      expect(await refs.list('refs/threads/')).toEqual([]);
    });

    test('changes nothing when one of several refs has another value', async () => {
      const { refs, a, b, c } = await prepare();
      const one = ref('threads/one');
      const two = ref('threads/two');
      const three = ref('threads/three');
      await refs.update([
        { name: one, expected: null, value: a },
        { name: two, expected: null, value: a },
      ]);
      const attempt = refs.update([
        { name: one, expected: a, value: b },
        { name: three, expected: null, value: b },
        { name: two, expected: c, value: null },
      ]);
      await expect(attempt).rejects.toThrow(RefMoved);
      await expect(attempt).rejects.toMatchObject({ ref: two, expected: c, actual: a });
      expect(await refs.list('refs/threads/')).toEqual([
        { name: one, id: a },
        { name: two, id: a },
      ]);
    });

    test.each([
      ['a ref that must not exist does', 'there', null, 'b'],
      ['a ref that must exist does not', 'absent', 'a', 'b'],
      ['a ref that is to be deleted does not exist', 'absent', 'a', null],
      ['a ref that is to be deleted has another value', 'there', 'b', null],
      ['a ref is asserted to be absent and is not', 'there', null, null],
      ['a ref is asserted to have a value and has another', 'there', 'b', 'b'],
    ] as const)('refuses when %s', async (_what, which, expected, value) => {
      const fixture = await prepare();
      const pick = (letter: 'a' | 'b' | null): ObjectId | null => (letter === null ? null : fixture[letter]);
      await fixture.refs.update([{ name: ref('threads/there'), expected: null, value: fixture.a }]);
      const edit = { name: ref(`threads/${which}`), expected: pick(expected), value: pick(value) };
      await expect(fixture.refs.update([edit])).rejects.toThrow(RefMoved);
      expect(await fixture.refs.list('refs/')).toContainEqual({ name: ref('threads/there'), id: fixture.a });
      expect(await fixture.refs.read(ref('threads/absent'))).toBeUndefined();
    });

    test('takes assertions that hold, beside changes and alone, and leaves their refs as they are', async () => {
      const { refs, a, b } = await prepare();
      await refs.update([{ name: ref('threads/kept'), expected: null, value: a }]);
      await refs.update([
        { name: ref('threads/kept'), expected: a, value: a },
        { name: ref('threads/none'), expected: null, value: null },
        { name: ref('threads/new'), expected: null, value: b },
      ]);
      await refs.update([{ name: ref('threads/none'), expected: null, value: null }]);
      await refs.update([]);
      expect(await refs.list('refs/threads/')).toEqual([
        { name: ref('threads/kept'), id: a },
        { name: ref('threads/new'), id: b },
      ]);
    });

    test('moves a ref from one name to another in one transaction', async () => {
      const { refs, a, expectSound } = await prepare();
      await refs.update([{ name: ref('threads/x'), expected: null, value: a }]);
      await refs.update([
        { name: ref('threads/x'), expected: a, value: null },
        { name: ref('history/2026-11-21/x'), expected: null, value: a },
      ]);
      expect(await refs.read(ref('threads/x'))).toBeUndefined();
      expect(await refs.read(ref('history/2026-11-21/x'))).toBe(a);
      expectSound();
    });

    test('of many compare-and-swaps from one value, exactly one wins', async () => {
      const { refs, a, b, c, reopen } = await prepare();
      const thread = ref('threads/one');
      await refs.update([{ name: thread, expected: null, value: a }]);
      const stores = [refs, (await reopen()).refs];
      const attempts = Array.from({ length: 20 }, (_, index) =>
        stores[index % 2]!.update([{ name: thread, expected: a, value: index % 3 === 0 ? b : c }]),
      );
      const outcomes = await Promise.allSettled(attempts);
      expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(1);
      for (const outcome of outcomes) {
        if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(RefMoved);
      }
    });

    test('lists below a prefix only, sorted by bytes, loose and packed as one', async () => {
      const fixture = await prepare();
      const { refs, a, b, c } = fixture;
      pack(
        fixture,
        `${a} refs/threads/b-packed\n${a} refs/threads/c-both\n${a} refs/threads-other/x\n${a} refs/threadsx\n`,
      );
      await refs.update([
        { name: ref('threads/c-both'), expected: a, value: b },
        { name: ref('threads/a/deep/er'), expected: null, value: c },
        { name: ref('threads/a.b'), expected: null, value: c },
        { name: ref('threads/é'), expected: null, value: c },
        { name: ref('threads/Z'), expected: null, value: c },
        { name: ref('threadsy'), expected: null, value: c },
      ]);
      for (const store of [refs, (await fixture.reopen()).refs]) {
        expect(await store.list('refs/threads/')).toEqual([
          { name: ref('threads/Z'), id: c },
          { name: ref('threads/a.b'), id: c },
          { name: ref('threads/a/deep/er'), id: c },
          { name: ref('threads/b-packed'), id: a },
          { name: ref('threads/c-both'), id: b },
          { name: ref('threads/é'), id: c },
        ]);
        expect(await store.list('refs/threads/a/')).toEqual([{ name: ref('threads/a/deep/er'), id: c }]);
        expect(await store.list('refs/nothing/')).toEqual([]);
      }
    });

    test('lists neither locks nor leftovers nor broken refs', async () => {
      const fixture = await prepare();
      const { refs, a } = fixture;
      await refs.update([{ name: ref('threads/good'), expected: null, value: a }]);
      writeLoose(fixture, 'refs/threads/x.lock', `${a}\n`);
      writeLoose(fixture, 'refs/threads/.hidden', `${a}\n`);
      writeLoose(fixture, 'refs/threads/empty', '');
      writeLoose(fixture, 'refs/threads/garbage', 'this is no object id\n');
      writeLoose(fixture, 'refs/threads/dangling', 'ref: refs/threads/nowhere\n');
      fixture.fs.mkdirSync(`${fixture.gitdir}/refs/threads/folder`);
      expect(await refs.list('refs/threads/')).toEqual([{ name: ref('threads/good'), id: a }]);
    });

    test('tells of every broken ref below the prefix when it lists', async () => {
      const fixture = await prepare();
      const { refs, a } = fixture;
      pack(fixture, `${a} refs/threads/behind\n`);
      await refs.update([{ name: ref('threads/good'), expected: null, value: a }]);
      writeLoose(fixture, 'refs/threads/x.lock', `${a}\n`);
      writeLoose(fixture, 'refs/threads/.hidden', `${a}\n`);
      writeLoose(fixture, 'refs/threads/behind', '');
      writeLoose(fixture, 'refs/threads/cut', a.slice(0, -1));
      writeLoose(fixture, 'refs/threads/garbage', 'this is no object id\n');
      writeLoose(fixture, 'refs/threads/null', `${'0'.repeat(a.length)}\n`);
      writeLoose(fixture, 'refs/threads/two..dots', `${a}\n`);
      writeLoose(fixture, 'refs/history/other', '');
      const told: string[] = [];
      const list = await refs.list('refs/threads/', { damaged: (damage) => told.push(damage.ref) });
      expect(list).toEqual([{ name: ref('threads/good'), id: a }]);
      expect(told.toSorted()).toEqual(
        ['behind', 'cut', 'garbage', 'null', 'two..dots'].map((name) => `refs/threads/${name}`),
      );
    });

    test.each([
      ['cut off', (lines: string) => lines.slice(0, -20)],
      ['cut off before its last newline', (lines: string) => lines.slice(0, -1)],
      ['zeroed', (lines: string) => '\0'.repeat(lines.length)],
      ['zeroed from its middle on', (lines: string) => lines.slice(0, 90) + '\0'.repeat(lines.length - 90)],
      ['of other bytes', (lines: string) => `x${lines.slice(1)}`],
    ])('raises a packed-refs that is %s, tells of it when it lists, and writes nothing over it', async (_, damage) => {
      const fixture = await prepare();
      const { a, b } = fixture;
      const lines = ['one', 'three', 'two'].map((name) => `${a} refs/threads/${name}\n`).join('');
      pack(fixture, damage(lines));
      const before = fixture.fs.readFileSync(`${fixture.gitdir}/packed-refs`, 'latin1');
      const { refs } = await fixture.reopen();
      await expect(refs.list('refs/threads/')).rejects.toThrow(BrokenPackedRefs);
      for (const edit of [
        { name: ref('threads/new'), expected: null, value: b },
        { name: ref('threads/one'), expected: a, value: null },
      ]) {
        await expect(refs.update([edit])).rejects.toThrow(BrokenPackedRefs);
      }
      const told: string[] = [];
      await refs.list('refs/threads/', { damaged: (error) => told.push(error.ref) });
      expect(told).toEqual(expect.arrayContaining(['packed-refs']));
      expect(fixture.fs.readFileSync(`${fixture.gitdir}/packed-refs`, 'latin1')).toBe(before);
    });

    test('does not take a broken ref for an absent one, nor shows the packed value behind it', async () => {
      const fixture = await prepare();
      const { refs, a, b } = fixture;
      const broken = ref('threads/broken');
      pack(fixture, `${a} ${broken}\n`);
      writeLoose(fixture, broken, '');
      await expect(refs.read(broken)).rejects.toThrow(BrokenRef);
      await expect(refs.update([{ name: broken, expected: null, value: b }])).rejects.toThrow(UwfError);
      await expect(refs.update([{ name: broken, expected: a, value: b }])).rejects.toThrow(UwfError);
      expect(String(fixture.fs.readFileSync(`${fixture.gitdir}/${broken}`))).toBe('');
    });

    test('follows symbolic refs, and an unborn HEAD reads as undefined', async () => {
      const fixture = await prepare();
      const { refs, a } = fixture;
      const head = parseRefName('HEAD');
      fixture.fs.writeFileSync(`${fixture.gitdir}/HEAD`, 'ref: refs/heads/main\n');
      expect(await refs.read(head)).toBeUndefined();
      await refs.update([{ name: ref('heads/main'), expected: null, value: a }]);
      expect(await refs.read(head)).toBe(a);
      fixture.fs.writeFileSync(`${fixture.gitdir}/HEAD`, `${a}\n`);
      expect(await refs.read(head)).toBe(a);
      writeLoose(fixture, 'refs/threads/circle', 'ref: refs/threads/circle\n');
      await expect(refs.read(ref('threads/circle'))).rejects.toThrow(BrokenRef);
    });

    test('compares and swaps packed refs, and deletes them for good', async () => {
      const fixture = await prepare();
      const { refs, a, b, c } = fixture;
      const packed = ref('threads/packed');
      const both = ref('threads/both');
      const other = `${c} refs/tags/other\n^${a}\n`;
      pack(fixture, `${other}${a} refs/threads/both\n${a} refs/threads/packed\n`);
      await expect(refs.update([{ name: packed, expected: null, value: b }])).rejects.toThrow(RefMoved);
      await refs.update([{ name: both, expected: a, value: b }]);
      await refs.update([{ name: packed, expected: a, value: b }]);
      expect(await refs.read(packed)).toBe(b);
      await refs.update([
        { name: packed, expected: b, value: null },
        { name: both, expected: b, value: null },
      ]);
      for (const store of [refs, (await fixture.reopen()).refs]) {
        expect(await store.read(packed)).toBeUndefined();
        expect(await store.read(both)).toBeUndefined();
        expect(await store.list('refs/threads/')).toEqual([]);
      }
      // Another ref and its peeled value are as they were.
      expect(String(fixture.fs.readFileSync(`${fixture.gitdir}/packed-refs`))).toContain(other);
    });

    test('sees what was packed behind its back', async () => {
      const fixture = await prepare();
      const { refs, a, b } = fixture;
      const thread = ref('threads/one');
      await refs.update([{ name: thread, expected: null, value: a }]);
      expect(await refs.read(thread)).toBe(a);
      pack(fixture, `${a} ${thread}\n`);
      fixture.fs.rmSync(`${fixture.gitdir}/${thread}`);
      expect(await refs.read(thread)).toBe(a);
      await refs.update([{ name: thread, expected: a, value: b }]);
      pack(fixture, `${b} ${thread}\n${a} refs/threads/two\n`);
      fixture.fs.rmSync(`${fixture.gitdir}/${thread}`);
      expect(await refs.list('refs/threads/')).toEqual([
        { name: thread, id: b },
        { name: ref('threads/two'), id: a },
      ]);
    });

    test.each(['loose', 'packed'])('refuses a name that is a folder of another one that is %s', async (where) => {
      const fixture = await prepare();
      const { refs, a, b } = fixture;
      const inner = ref('threads/a/b');
      const outer = ref('threads/x');
      if (where === 'packed') pack(fixture, `${a} ${inner}\n${a} ${outer}\n`);
      else {
        await refs.update([
          { name: inner, expected: null, value: a },
          { name: outer, expected: null, value: a },
        ]);
      }
      for (const name of [ref('threads/a'), ref('threads/x/y'), ref('threads/x/y/z')]) {
        const attempt = refs.update([
          { name: ref('threads/beside'), expected: null, value: b },
          { name, expected: null, value: b },
        ]);
        await expect(attempt).rejects.toThrow(RefNameConflict);
      }
      expect(await refs.list('refs/threads/')).toEqual([
        { name: inner, id: a },
        { name: outer, id: a },
      ]);
    });

    test('refuses two names of one transaction that cannot stand beside each other', async () => {
      const { refs, a } = await prepare();
      const attempt = refs.update([
        { name: ref('threads/n'), expected: null, value: a },
        { name: ref('threads/n/m'), expected: null, value: a },
      ]);
      await expect(attempt).rejects.toThrow(RefNameConflict);
      expect(await refs.list('refs/threads/')).toEqual([]);
    });

    test('refuses two changes of one ref in one transaction', async () => {
      const { refs, a, b } = await prepare();
      const attempt = refs.update([
        { name: ref('threads/n'), expected: null, value: a },
        { name: ref('threads/n'), expected: null, value: b },
      ]);
      await expect(attempt).rejects.toThrow(UwfError);
      expect(await refs.read(ref('threads/n'))).toBeUndefined();
    });

    test('creates a ref where only empty folders are, and leaves none behind when it deletes', async () => {
      const fixture = await prepare();
      const { refs, a } = fixture;
      fixture.fs.mkdirSync(`${fixture.gitdir}/refs/threads/a/b/c`, { recursive: true });
      await refs.update([{ name: ref('threads/a'), expected: null, value: a }]);
      await refs.update([{ name: ref('history/2026-11-21/x'), expected: null, value: a }]);
      await refs.update([{ name: ref('history/2026-11-21/x'), expected: a, value: null }]);
      expect(fixture.fs.existsSync(`${fixture.gitdir}/refs/history/2026-11-21`)).toBe(false);
      await refs.update([{ name: ref('history/2026-11-21'), expected: null, value: a }]);
      expect(await refs.read(ref('history/2026-11-21'))).toBe(a);
      expect(await refs.read(ref('threads/a'))).toBe(a);
    });

    test('leaves neither locks nor temporary files behind, whether it wins or loses', async () => {
      const { refs, a, b, fs, gitdir } = await prepare();
      await refs.update([{ name: ref('threads/one'), expected: null, value: a }]);
      await expect(refs.update([{ name: ref('threads/one'), expected: b, value: a }])).rejects.toThrow(RefMoved);
      await refs.update([{ name: ref('threads/one'), expected: a, value: null }]);
      const names = fs.readdirSync(gitdir, { recursive: true }) as string[];
      expect(names.filter((path) => /\.lock$|\.new$|tmp_/.test(path))).toEqual([]);
    });
  });
}
