import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ObjectId } from '../../../../src/git/format/object-id.ts';
import { RefNameConflict } from '../../../../src/git/format/errors.ts';
import { parseRefName } from '../../../../src/git/format/refs.ts';
import { RefMoved, type Repository } from '../../../../src/git/repository.ts';
import { backends } from '../../../helpers/each-backend.ts';
import { appendCommit } from '../../../helpers/small-thread.ts';
import { createTemporaryRepository, expectCleanFsck } from '../../../helpers/temporary-repository.ts';
import type { TemporaryRepository } from '../../../helpers/temporary-repository.ts';

const thread = (name: string): ReturnType<typeof parseRefName> => parseRefName(`refs/threads/${name}`);

/** The refs below a prefix as git lists them. */
function askGit(repository: TemporaryRepository, prefix: string): { name: string; id: string }[] {
  const lines = repository.git('for-each-ref', '--format=%(refname) %(objectname)', prefix).split('\n');
  return lines.flatMap((line) => {
    const [name, id] = line.split(' ');
    return name === undefined || id === undefined ? [] : [{ name, id }];
  });
}

describe.each(backends)('%s and git list the same refs', (_name, open) => {
  async function prepare(): Promise<{ on: TemporaryRepository; uwf: Repository; head: ObjectId }> {
    const on = createTemporaryRepository();
    const uwf = await open(on.dir);
    const head = await appendCommit(uwf, thread('loose'), 'one');
    return { on, uwf, head };
  }

  test('loose, packed and both, with siblings of the same prefix', async () => {
    const { on, uwf, head } = await prepare();
    for (const name of ['threads/packed', 'threads/both', 'threads-other/x', 'threadsy', 'threads2/z']) {
      on.git('update-ref', `refs/${name}`, head);
    }
    on.git('pack-refs', '--all', '--prune');
    await appendCommit(uwf, thread('both'), 'newer than what is packed');
    for (const prefix of ['refs/threads/', 'refs/threads-other/', 'refs/']) {
      expect(await uwf.refs.list(prefix)).toEqual(askGit(on, prefix));
    }
    expect(await uwf.refs.list('refs/threads/')).toHaveLength(3);
    await uwf.close();
    expectCleanFsck(on.dir);
  });

  test('without locks, leftovers, empty folders and dangling symbolic refs', async () => {
    const { on, uwf, head } = await prepare();
    writeFileSync(join(on.dir, '.git/refs/threads/loose.lock'), `${head}\n`);
    writeFileSync(join(on.dir, '.git/refs/threads/.leftover'), `${head}\n`);
    mkdirSync(join(on.dir, '.git/refs/threads/empty/er'), { recursive: true });
    on.git('symbolic-ref', 'refs/threads/alias', 'refs/threads/loose');
    on.git('symbolic-ref', 'refs/threads/dangling', 'refs/threads/nowhere');
    expect(await uwf.refs.list('refs/threads/')).toEqual([
      { name: 'refs/threads/alias', id: head },
      { name: 'refs/threads/loose', id: head },
    ]);
    expect((await uwf.refs.list('refs/threads/')).map((ref) => ref.name)).toEqual(
      askGit(on, 'refs/threads/').map((ref) => ref.name),
    );
    await uwf.close();
  });

  test('by the thousand, created at once, packed by git and deleted at once', async () => {
    const { on, uwf, head } = await prepare();
    const names = Array.from({ length: 1000 }, (_, number) => thread(`t${String(number).padStart(4, '0')}`));
    await uwf.refs.update(names.map((name) => ({ name, expected: null, value: head })));
    expect(askGit(on, 'refs/threads/')).toHaveLength(1001);
    on.git('pack-refs', '--all', '--prune');
    expect(await uwf.refs.list('refs/threads/')).toEqual(askGit(on, 'refs/threads/'));
    await uwf.refs.update(names.map((name) => ({ name, expected: head, value: null })));
    expect(askGit(on, 'refs/threads/').map((ref) => ref.name)).toEqual(['refs/threads/loose']);
    expect(await uwf.refs.list('refs/threads/')).toHaveLength(1);
    await uwf.close();
    expectCleanFsck(on.dir);
  });
});

describe.each(backends)('%s keeps to what git keeps to', (_name, open) => {
  test('a ref and a folder of refs cannot share a name, loose or packed', async () => {
    const on = createTemporaryRepository();
    const uwf = await open(on.dir);
    const head = await appendCommit(uwf, thread('a/b'), 'one');
    await appendCommit(uwf, thread('c'), 'one');
    for (const packs of [false, true]) {
      if (packs) on.git('pack-refs', '--all', '--prune');
      for (const name of ['a', 'c/d', 'c/d/e']) {
        expect(() => on.git('update-ref', `refs/threads/${name}`, head, '')).toThrow('cannot lock ref');
        await expect(uwf.refs.update([{ name: thread(name), expected: null, value: head }])).rejects.toThrow(
          RefNameConflict,
        );
      }
    }
    // Once nothing is below, the name is free, empty folders or not.
    mkdirSync(join(on.dir, '.git/refs/threads/a/b'), { recursive: true });
    await uwf.refs.update([{ name: thread('a/b'), expected: head, value: null }]);
    await uwf.refs.update([{ name: thread('a'), expected: null, value: head }]);
    expect(on.git('rev-parse', 'refs/threads/a')).toBe(head);
    await uwf.close();
    expectCleanFsck(on.dir);
  });

  test('an update through git, packed or not, is seen by the next compare-and-swap', async () => {
    const on = createTemporaryRepository();
    const uwf = await open(on.dir);
    const first = await appendCommit(uwf, thread('x'), 'one');
    const second = await appendCommit(uwf, thread('x'), 'two');
    on.git('update-ref', 'refs/threads/x', first, second);
    await expect(uwf.refs.update([{ name: thread('x'), expected: second, value: first }])).rejects.toMatchObject({
      code: 'ref-moved',
      actual: first,
    });
    on.git('pack-refs', '--all', '--prune');
    await expect(uwf.refs.update([{ name: thread('x'), expected: null, value: second }])).rejects.toThrow(RefMoved);
    await uwf.refs.update([{ name: thread('x'), expected: first, value: second }]);
    expect(on.git('rev-parse', 'refs/threads/x')).toBe(second);
    await uwf.close();
  });
});
