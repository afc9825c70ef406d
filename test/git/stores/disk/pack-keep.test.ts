import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  abandonPack,
  contentOf,
  KEEP_MS,
  keeperOf,
  PackKeep,
  removeStalePackKeeps,
} from '../../../../src/git/stores/disk/pack-writer.ts';
import { formatIdentity, ownIdentity, type ProcessIdentity } from '../../../../src/git/system/process-identity.ts';
import { failFs } from '../../../helpers/failing-fs.ts';
import { createTemporaryFolder } from '../../../helpers/temporary-repository.ts';

/** Of its pid, a process runs that started at another time. */
const ended: ProcessIdentity = { ...ownIdentity(), startTime: '1' };
const elsewhere: ProcessIdentity = { host: 'elsewhere', bootId: 'abc', pidNamespace: '', pid: 7, startTime: '5' };
let dir: string;

beforeEach(() => {
  dir = createTemporaryFolder();
});

function write(name: string, content = ''): void {
  writeFileSync(join(dir, name), content);
}

/** What a process left: a keep, and files of its pack. */
function leave(base: string, owner: ProcessIdentity, endings: readonly string[], ageMs = 0): void {
  for (const ending of endings) write(base + ending);
  write(`${base}.keep`, `uwf ${formatIdentity(owner)}\n`);
  const at = (Date.now() - ageMs) / 1000;
  utimesSync(join(dir, `${base}.keep`), at, at);
}

describe('a keep', () => {
  test('names its process from the moment it is there, and is removed once', () => {
    let [seen, names] = ['', [] as string[]];
    const where = (): boolean => (
      (names = readdirSync(dir)),
      (seen = readFileSync(join(dir, names[0] ?? ''), 'utf8')),
      false
    );
    failFs('renameSync', { code: 'never', where });
    const keep = new PackKeep(join(dir, 'pack-a'));
    // `git gc` removes files of this name that a crash has left.
    expect(names).toEqual([expect.stringMatching(/^tmp_keep_[0-9a-f]{32}$/)]);
    expect(seen).toBe(`uwf ${formatIdentity(ownIdentity())}\n`);
    expect(keep.path).toBe(join(dir, 'pack-a.keep'));
    expect(keeperOf(keep.path)).toEqual(ownIdentity());
    expect(readdirSync(dir)).toEqual(['pack-a.keep']);
    keep.remove();
    expect(readdirSync(dir)).toEqual([]);
    // A file of another process with the same name stays.
    write('pack-a.keep');
    keep.remove();
    expect(readdirSync(dir)).toEqual(['pack-a.keep']);
  });

  test('is made again where git removes it half-made; another failure leaves nothing', () => {
    let renames = 0;
    const removeFirst = (): boolean => ((renames += 1) === 1 && rmSync(join(dir, readdirSync(dir)[0] ?? '')), false);
    failFs('renameSync', { code: 'never', where: removeFirst });
    expect(new PackKeep(join(dir, 'pack-a')).path).toBe(join(dir, 'pack-a.keep'));
    expect([renames, readdirSync(dir)]).toEqual([2, ['pack-a.keep']]);
    failFs('renameSync', { code: 'EIO' });
    expect(() => new PackKeep(join(dir, 'pack-b'))).toThrow('EIO');
    expect(readdirSync(dir)).toEqual(['pack-a.keep']);
  });

  test('of git or of a person names no process', () => {
    const contents = [
      '',
      'receive-pack 7 on host\n',
      'because I say so',
      `uwf ${formatIdentity(ended)}`,
      `x uwf ${formatIdentity(ended)}\n`,
      `uwf ${formatIdentity(ended)}\nmore`,
    ];
    for (const content of contents) {
      write('pack-a.keep', content);
      expect(keeperOf(join(dir, 'pack-a.keep'))).toBeUndefined();
    }
  });

  test('that is gone, no file, too large or not readable has no content', () => {
    mkdirSync(join(dir, 'folder'));
    symlinkSync('loop', join(dir, 'loop'));
    write('large', 'x'.repeat(64 * 1024 + 1));
    write('most', 'x'.repeat(64 * 1024));
    const names = ['none', 'loop', 'large', 'folder'];
    expect(names.map((name) => contentOf(join(dir, name)))).toEqual(names.map(() => ''));
    expect(contentOf(join(dir, 'most'))).toHaveLength(64 * 1024);
    failFs('openSync', { code: 'EACCES' });
    expect(contentOf(join(dir, 'most'))).toBe('');
    failFs('openSync', { code: 'EIO' });
    expect(() => contentOf(join(dir, 'most'))).toThrow('EIO');
  });
});

describe('a sweep', () => {
  test('removes the unfinished pack of a process that has ended, and the keep alone of a finished one', () => {
    leave('pack-more', ended, ['.pack', '.idx.new', '.promisor']);
    leave('pack-b', ended, ['.pack', '.idx', '.promisor']);
    removeStalePackKeeps(dir);
    expect(readdirSync(dir).toSorted()).toEqual(['pack-b.idx', 'pack-b.pack', 'pack-b.promisor']);
  });

  test('leaves the keeps of this process, of git, of people, and files of other names', () => {
    leave('pack-a', ownIdentity(), ['.pack']);
    leave('pack-b', ended, ['.pack']);
    write('pack-b.keep', 'a person\n');
    leave('other', ended, ['.pack']);
    write('pack-c.keep.old', `uwf ${formatIdentity(ended)}\n`);
    write('x-pack-d.keep', `uwf ${formatIdentity(ended)}\n`);
    for (const base of ['pack-c', 'pack-d', 'x-pack-d']) write(`${base}.pack`);
    const before = readdirSync(dir).toSorted();
    removeStalePackKeeps(dir);
    expect(readdirSync(dir).toSorted()).toEqual(before);
  });

  test('removes those of another host after a day', () => {
    leave('pack-a', elsewhere, ['.pack'], KEEP_MS - 60_000);
    leave('pack-b', elsewhere, ['.pack'], KEEP_MS + 60_000);
    removeStalePackKeeps(dir);
    expect(readdirSync(dir).toSorted()).toEqual(['pack-a.keep', 'pack-a.pack']);
    expect(KEEP_MS).toBe(24 * 60 * 60 * 1000);
  });

  test('finds nothing where there is no folder', () => {
    expect(() => removeStalePackKeeps(join(dir, 'none'))).not.toThrow();
  });
});

test('the keep of an abandoned pack goes last, so that the rest is found again where it cannot be removed', () => {
  leave('pack-a', ended, ['.pack', '.idx.new']);
  failFs('unlinkSync', { code: 'EACCES', where: (path) => path.endsWith('.pack') });
  expect(() => abandonPack(join(dir, 'pack-a'))).not.toThrow();
  expect(existsSync(join(dir, 'pack-a.keep'))).toBe(true);
});
