import { describe, expect, test } from 'vitest';
import { InvalidRefName, RefNameConflict } from '../../../../src/git/format/ref-errors.ts';
import { parseRefName } from '../../../../src/git/format/ref-name.ts';
import type { ObjectId } from '../../../../src/git/format/object-id.ts';
import { writeChain } from '../../../helpers/commit-chain.ts';
import { createTemporaryRepository } from '../../../helpers/temporary-repository.ts';

async function createScene() {
  const local = createTemporaryRepository();
  const repository = await local.open({ lockTimeoutMs: 200 });
  const [one, two] = (await writeChain(repository, undefined, 'one', 'two')) as [ObjectId, ObjectId];
  return { refs: repository.refs, one, two };
}

const [n, nm, main, head] = ['refs/threads/n', 'refs/threads/n/m', 'refs/heads/main', 'HEAD'].map(parseRefName);

describe('names of one transaction', () => {
  test.each([
    ['a folder of the new ref', n!, nm!],
    ['a ref below the new one', nm!, n!],
  ])('cannot include %s, also where that is only asserted to be absent', async (_, asserted, created) => {
    const { refs, one } = await createScene();
    const edits = [
      { name: asserted, expected: null, value: null },
      { name: created, expected: null, value: one },
    ];
    await expect(refs.update(edits)).rejects.toThrow(RefNameConflict);
    await expect(refs.update(edits.toReversed())).rejects.toThrow(RefNameConflict);
    expect(await refs.list('refs/threads/')).toEqual([]);
  });

  test('are those that symbolic refs lead to: a ref is not changed twice', async () => {
    const { refs, one, two } = await createScene();
    const edits = [
      { name: head!, expected: null, value: one },
      { name: main!, expected: null, value: two },
    ];
    await expect(refs.update(edits)).rejects.toThrow(InvalidRefName);
    await expect(refs.update([edits[1]!, edits[1]!])).rejects.toThrow(InvalidRefName);
    expect(await refs.read(main!)).toBeUndefined();
  });

  test('may be neighbours, whose names begin alike', async () => {
    const { refs, one } = await createScene();
    const names = ['refs/threads/n', 'refs/threads/n-1', 'refs/threads/n.m', 'refs/threads/nm'].map(parseRefName);
    await refs.update(names.map((name) => ({ name, expected: null, value: one })));
    expect((await refs.list('refs/threads/')).map(({ name }) => name)).toEqual(names);
  });
});
