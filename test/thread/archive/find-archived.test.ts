import { describe, expect, test } from 'vitest';
import { parseRefName } from '../../../src/git/format/refs.ts';
import type { ObjectId } from '../../../src/git/format/object-id.ts';
import type { WantedRefs } from '../../../src/git/repository.ts';
import {
  type ArchivedThread,
  findArchived,
  findArchivePlace,
  LIST_REF,
  pointerOfArchived,
} from '../../../src/thread/archive-list.ts';
import { createMapRepository, type MapRepository } from '../../helpers/map-repository.ts';
import { archivedLines, storeList } from './archived-lines.ts';

const all = archivedLines(40);
const [first, second, third] = all as [ArchivedThread, ArchivedThread, ArchivedThread];

async function archive(repository: MapRepository, ref: string, lines: readonly ArchivedThread[]): Promise<void> {
  repository.refMap.set(parseRefName(ref), await storeList(repository, lines));
}

describe('the archived threads that are here', () => {
  test.each<[string, string, number | undefined, readonly ArchivedThread[]]>([
    ['all', '', undefined, all],
    ['those of a prefix', third.id.slice(0, 25), undefined, all.slice(0, 32)],
    ['at most so many', '', 2, all.slice(0, 2)],
    ['none', '7', undefined, []],
  ])('are found: %s', async (_, text, most, found) => {
    const repository = createMapRepository();
    await archive(repository, LIST_REF, all);
    expect(await findArchived(repository, text, most)).toEqual(found.map(pointerOfArchived));
  });

  test('are without those that another repository has, and none where there is no archive', async () => {
    const repository = createMapRepository();
    expect(await findArchived(repository, '')).toEqual([]);
    await archive(repository, LIST_REF, [{ ...first, place: 'https://x/a.git' }, second]);
    expect(await findArchived(repository, '')).toEqual([pointerOfArchived(second)]);
  });
});

describe('the place of an archived thread', () => {
  test('is in the list of this repository', async () => {
    const repository = createMapRepository();
    await archive(repository, LIST_REF, [{ ...first, place: 'https://x/a.git' }]);
    await archive(repository, 'refs/uwf/remotes/origin/archive/list', [first]);
    const place = { thread: first.id, remote: 'https://x/a.git' };
    expect(await findArchivePlace(repository, first.id)).toEqual(place);
    expect(await findArchivePlace(repository, '01M8')).toEqual(place);
  });

  test('is otherwise a remote that lists it, or the place that this one names', async () => {
    const repository = createMapRepository();
    await archive(repository, LIST_REF, [first]);
    await archive(repository, 'refs/uwf/remotes/origin/archive/list', [second]);
    await archive(repository, 'refs/uwf/remotes/team/copy/archive/list', [{ ...third, place: 'https://x/b.git' }]);
    expect(await findArchivePlace(repository, second.id)).toEqual({ thread: second.id, remote: 'origin' });
    expect(await findArchivePlace(repository, third.id)).toEqual({ thread: third.id, remote: 'https://x/b.git' });
    await archive(repository, 'refs/uwf/remotes/team/copy/archive/list', [third]);
    expect(await findArchivePlace(repository, third.id)).toEqual({ thread: third.id, remote: 'team/copy' });
  });

  test('is nowhere for a thread that nobody lists, or that is here, and for no text', async () => {
    const repository = createMapRepository();
    expect(await findArchivePlace(repository, first.id)).toBeUndefined();
    await archive(repository, LIST_REF, [first]);
    await archive(repository, 'refs/uwf/remotes/origin/archive/list', [second]);
    expect(await findArchivePlace(repository, first.id)).toBeUndefined();
    expect(await findArchivePlace(repository, third.id)).toBeUndefined();
    expect(await findArchivePlace(repository, '')).toBeUndefined();
  });

  test('is found past a damaged list, and other refs of a remote are not asked for', async () => {
    const repository = createMapRepository();
    await archive(repository, 'refs/uwf/remotes/zebra/archive/list', [first]);
    repository.refMap.set(parseRefName('refs/uwf/remotes/ape/archive/list'), '1'.repeat(40) as ObjectId);
    await archive(repository, `refs/uwf/remotes/bear/threads/${first.id}`, [first]);
    const asked: WantedRefs[] = [];
    const refs: MapRepository['refs'] = {
      ...repository.refs,
      list: (prefix, wanted = {}) => {
        asked.push(wanted);
        return repository.refs.list(prefix, wanted);
      },
    };
    const found = await findArchivePlace({ ...repository, refs }, first.id);
    expect(found).toEqual({ thread: first.id, remote: 'zebra' });
    const names = ['refs/uwf/remotes/a/archive/list', 'refs/uwf/remotes/a/threads/x', '/archive/list/x'];
    expect(asked.map(({ where }) => names.filter((name) => where?.(name) ?? true))).toEqual([names.slice(0, 1)]);
  });
});
