import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Commit, encodeCommit, parseCommit } from '../../../src/git/format/objects.ts';
import { CorruptObject, UnwritableObject } from '../../../src/git/format/errors.ts';
import { hashObject, parseObjectId } from '../../../src/git/format/object-id.ts';
import { createTemporaryRepository, expectCleanFsck, runGit } from '../../helpers/temporary-repository.ts';

const emptyTree = parseObjectId('4b825dc642cb6eb9a060e54bf8d69288fbee4904');
const author = { name: 'A U Thor', email: 'author@example.com', atMs: 1_795_262_400_000 };
const base: Commit = { tree: emptyTree, parents: [], author, committer: author, message: 'a message\n' };

const emptyTreeIn = (dir: string): string => runGit(dir, ['hash-object', '-w', '-t', 'tree', '/dev/null']);

describe('a commit', () => {
  test('is encoded as git commit-tree encodes it', () => {
    const { dir, git } = createTemporaryRepository();
    emptyTreeIn(dir);
    const first = git('commit-tree', emptyTree, '-m', 'first');
    const second = git('commit-tree', emptyTree, '-p', first, '-m', 'zweiter – mit Umlaut ä', '-m', 'a body');
    const committer = { name: 'C O Mitter', email: 'committer@example.com', atMs: author.atMs };
    const own = encodeCommit({ ...base, committer, message: 'first' });
    expect(hashObject({ type: 'commit', data: own })).toBe(first);
    const next = encodeCommit({
      ...base,
      committer,
      parents: [parseObjectId(first)],
      message: 'zweiter – mit Umlaut ä\n\na body\n',
    });
    expect(hashObject({ type: 'commit', data: next })).toBe(second);
  });

  test('passes fsck --strict whatever its names and message are', () => {
    const { dir } = createTemporaryRepository();
    emptyTreeIn(dir);
    const text = fc.string({
      unit: fc.oneof(
        fc.constantFrom('<', '>', '\n', '\0', '\r', ' ', '.', '"', 'a'),
        fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
      ),
    });
    fc.assert(
      fc.property(text, text, text, fc.integer({ min: 0, max: 4_102_444_800_000 }), (name, email, message, atMs) => {
        const who = { name, email, atMs };
        const data = encodeCommit({ ...base, author: who, committer: who, message });
        // hash-object runs the same checks as fsck over what it is given.
        const id = runGit(dir, ['hash-object', '-w', '-t', 'commit', '--stdin'], data);
        const back = parseCommit(data);
        expect(encodeCommit(back)).toEqual(data);
        expect(back.author.atMs).toBe(Math.floor(atMs / 1000) * 1000);
        expect(id).toBe(hashObject({ type: 'commit', data }));
      }),
      { numRuns: 40 },
    );
    expectCleanFsck(dir);
  });

  test('reads back as what it was made of', () => {
    const oid = fc
      .uint8Array({ minLength: 20, maxLength: 20 })
      .map((bytes) => parseObjectId(Buffer.from(bytes).toString('hex')));
    fc.assert(
      fc.property(oid, fc.array(oid, { maxLength: 4 }), fc.string({ unit: 'grapheme' }), (tree, parents, text) => {
        const commit = { ...base, tree, parents, message: `${text.replaceAll('\0', '')}\n` };
        expect(parseCommit(encodeCommit(commit))).toEqual(commit);
      }),
    );
  });

  test('loses of names and message what git does not allow, and nothing else', () => {
    const who = { name: ' <Eve>\nauthor Mallory ', email: 'e<v>e@x\0', atMs: 0 };
    const commit = parseCommit(encodeCommit({ ...base, author: who, message: 'no\0 end' }));
    expect(commit.author).toEqual({ name: 'Eve author Mallory', email: 'e v e@x', atMs: 0 });
    expect(commit.message).toBe('no end\n');
    expect(parseCommit(encodeCommit({ ...base, author: { ...who, name: '<>' } })).author.name).toBe('unknown');
  });

  test.each([-1, Number.NaN, Number.POSITIVE_INFINITY])('refuses the time %s', (atMs) => {
    expect(() => encodeCommit({ ...base, author: { ...author, atMs } })).toThrow(UnwritableObject);
  });

  test('of somebody else is read past signatures, merge tags and other headers', () => {
    const parent = 'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391';
    const text = [
      `tree ${emptyTree}`,
      `parent ${parent}`,
      'author A U Thor <author@example.com> 1795262400 +0530',
      'committer C <c@example.com> 1795262401 -0800',
      `mergetag object ${parent}`,
      ' type commit',
      ' tag v1',
      ' tree not-a-tree',
      'gpgsig -----BEGIN PGP SIGNATURE-----',
      ' ',
      ' parent 0000',
      ' -----END PGP SIGNATURE-----',
      'HG:extra something',
      '',
      'the message',
      '',
      'parent of nothing',
    ].join('\n');
    expect(parseCommit(Buffer.from(text))).toEqual({
      tree: emptyTree,
      parents: [parent],
      author: { name: 'A U Thor', email: 'author@example.com', atMs: 1_795_262_400_000 },
      committer: { name: 'C', email: 'c@example.com', atMs: 1_795_262_401_000 },
      message: 'the message\n\nparent of nothing',
    });
  });

  test('of somebody else is read in its own encoding, in none that is known, and with a bad date', () => {
    const head = (encoding: string): string =>
      `tree ${emptyTree}\nauthor M\u00fcller <m@x> 99999999999999999999 +0000\ncommitter <> \nencoding ${encoding}\n\n`;
    const latin = parseCommit(Buffer.from(`${head('ISO-8859-1')}gr\u00fcn`, 'latin1'));
    expect(latin.author).toEqual({ name: 'Müller', email: 'm@x', atMs: 0 });
    expect(latin.committer).toEqual({ name: '', email: '', atMs: 0 });
    expect(latin.message).toBe('grün');
    expect(parseCommit(Buffer.from(`${head('x-unheard-of')}grün`)).message).toBe('grün');
  });

  test.each([
    ['', 'no tree'],
    ['tree nonsense\nauthor a\ncommitter c\n\n', 'no tree'],
    [`tree ${emptyTree}\nparent nonsense\nauthor a\ncommitter c\n\n`, 'a parent is not an object id'],
    [`tree ${emptyTree}\ncommitter c\n\nm`, 'author or committer'],
    [`tree ${emptyTree}\nauthor a\n\ncommitter c`, 'author or committer'],
  ])('that says %j is corrupt', (text, reason) => {
    expect(() => parseCommit(Buffer.from(text))).toThrow(CorruptObject);
    expect(() => parseCommit(Buffer.from(text))).toThrow(reason);
  });
});
