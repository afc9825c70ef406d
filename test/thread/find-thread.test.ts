import { describe, expect, test } from 'vitest';
import { BrokenPackedRefs, BrokenRef, type RefDamage } from '../../src/git/format/errors.ts';
import { parseRefName } from '../../src/git/format/refs.ts';
import type { ObjectId } from '../../src/git/format/object-id.ts';
import type { RefName, Repository, WantedRefs } from '../../src/git/repository.ts';
import { findDamaged, findEnded, findThread, getThread, newestActive } from '../../src/thread/find-thread.ts';
import { ThreadNotFound } from '../../src/thread/thread-errors.ts';
import { parseThreadId } from '../../src/thread/thread-id.ts';
import { createMapRepository } from '../helpers/map-repository.ts';

const ids = ['01KAAA', '01KAAB', '01KB00', '01KC00'].map((start) => parseThreadId(start.padEnd(26, '0')));
const [first, second, third, fourth] = ids as [
  ReturnType<typeof parseThreadId>,
  ReturnType<typeof parseThreadId>,
  ReturnType<typeof parseThreadId>,
  ReturnType<typeof parseThreadId>,
];
const at = (digit: string): ObjectId => digit.repeat(40) as ObjectId;
const active = (id: string): string => `refs/threads/${id}`;
const ended = (id: string): string => `refs/history/2026-11-21/${id}`;

/** A repository with these refs, in which some are damaged. `asked` are the lists that were asked for. */
function repositoryWith(
  refs: Record<string, ObjectId>,
  damages: readonly RefDamage[] = [],
): Repository & { asked: { prefix: string; wanted: WantedRefs }[] } {
  const entries = Object.entries(refs).map(([name, id]): [RefName, ObjectId] => [parseRefName(name), id]);
  const repository = createMapRepository(new Map(), new Map(entries));
  const asked: { prefix: string; wanted: WantedRefs }[] = [];
  return {
    ...repository,
    asked,
    refs: {
      ...repository.refs,
      async list(prefix, wanted = {}) {
        asked.push({ prefix, wanted });
        const { startsWith = prefix, where, last = Infinity, damaged } = wanted;
        for (const damage of damages) {
          if (!damage.ref.startsWith(prefix) && damage.ref !== 'packed-refs') continue;
          if (damaged === undefined) throw damage;
          damaged(damage);
        }
        const found = await repository.refs.list(prefix);
        return found.filter(({ name }) => name.startsWith(startsWith) && where?.(name) !== false).slice(-last);
      },
    },
  };
}

const pointer = (id: string, ref: string, head: ObjectId) => {
  return { id, ref, head, isHistory: ref.startsWith('refs/history/') };
};
const several = {
  [active(first)]: at('1'),
  [active(second)]: at('2'),
  [ended(third)]: at('3'),
  [active(fourth)]: at('4'),
};
const sound = repositoryWith(several);

describe('a thread is found', () => {
  test('by its id, or by a prefix that it alone has, in letters of either case', async () => {
    const wanted = pointer(third, ended(third), at('3'));
    for (const text of [third, third.toLowerCase(), '01KB', '01kb'])
      expect(await getThread(sound, text)).toEqual(wanted);
    expect(await getThread(sound, '01KAAB')).toEqual(pointer(second, active(second), at('2')));
    expect(await findThread(sound, first)).toEqual(pointer(first, active(first), at('1')));
  });

  test('once, as ended, where its ending was cut in two', async () => {
    const both = repositoryWith({ [active(first)]: at('1'), [ended(first)]: at('2'), [active(second)]: at('3') });
    expect(await getThread(both, first)).toEqual(pointer(first, ended(first), at('2')));
    const inOrder = repositoryWith({ [ended(first)]: at('2'), [active(first)]: at('1') });
    expect(await findThread(inOrder, first)).toEqual(pointer(first, ended(first), at('2')));
  });

  test('not by a prefix of several, which are named, nor by one of none', async () => {
    await expect(getThread(sound, '01KA')).rejects.toMatchObject({ code: 'ambiguous-thread' });
    await expect(getThread(sound, '01KA')).rejects.toThrow(new RegExp(`${first}[^]*${second}`));
    await expect(getThread(sound, '01KZ')).rejects.toThrow(ThreadNotFound);
    await expect(getThread(sound, '')).rejects.toThrow(ThreadNotFound);
    expect(await findThread(sound, parseThreadId('01KZ'.padEnd(26, '0')))).toBeUndefined();
  });

  test('among refs of other names, which are passed over', async () => {
    const refs = repositoryWith({
      'refs/threads/other': at('5'),
      'refs/history/other/x': at('6'),
      [active(first)]: at('1'),
    });
    expect(await getThread(refs, '01K')).toEqual(pointer(first, active(first), at('1')));
  });
});

describe('a damaged ref', () => {
  const broken = (id: string): BrokenRef => new BrokenRef(active(id), 'its file is empty');

  test('of the thread that is wanted is what is thrown', async () => {
    const repository = repositoryWith({ [active(second)]: at('2') }, [broken(first)]);
    await expect(getThread(repository, '01KAAA')).rejects.toThrow(BrokenRef);
    await expect(findThread(repository, first)).rejects.toThrow(BrokenRef);
  });

  test('of another thread does not matter, nor where a sound one matches', async () => {
    const repository = repositoryWith({ [active(second)]: at('2') }, [broken(first)]);
    expect(await findThread(repository, third)).toBeUndefined();
    expect(await getThread(repository, '01KA')).toMatchObject({ id: second });
  });

  test('of no thread does not matter, but packed-refs may have any thread', async () => {
    const other = repositoryWith({}, [new BrokenRef('refs/threads/x.lock', 'git allows no such name')]);
    expect(await findThread(other, first)).toBeUndefined();
    const packed = repositoryWith({}, [new BrokenPackedRefs('/r/packed-refs', 'it is empty')]);
    await expect(findThread(packed, first)).rejects.toThrow(BrokenPackedRefs);
  });

  test('makes its thread damaged unless the thread has a sound one', async () => {
    const damages = [broken(first), broken(third)];
    const repository = repositoryWith({ [active(second)]: at('2'), [ended(third)]: at('3') }, damages);
    expect(await findDamaged(repository)).toEqual(new Map([[first, damages[0]]]));
    expect(await findDamaged(sound)).toEqual(new Map());
  });

  test('of no thread is thrown where damaged threads are looked for', async () => {
    const packed = repositoryWith({}, [new BrokenPackedRefs('/r/packed-refs', 'it is empty')]);
    await expect(findDamaged(packed)).rejects.toThrow(BrokenPackedRefs);
    const other = repositoryWith({}, [new BrokenRef('refs/threads/other', 'its file is empty')]);
    await expect(findDamaged(other)).rejects.toThrow(BrokenRef);
  });
});

describe('active threads', () => {
  const take = async (repository: Repository, most: number, count?: number): Promise<string[]> => {
    const taken: string[] = [];
    for await (const { id } of newestActive(repository, count)) {
      taken.push(id);
      if (taken.length === most) break;
    }
    return taken;
  };

  test('come newest first, all of them, however many are expected to be taken', async () => {
    for (const count of [undefined, 1, 2, 3, 9]) {
      expect(await take(sound, 9, count)).toEqual([fourth, second, first]);
    }
    expect(await take(repositoryWith({}), 9, 2)).toEqual([]);
  });

  test('are listed no further than the caller takes', async () => {
    const repository = repositoryWith(several);
    expect(await take(repository, 2, 2)).toEqual([fourth, second]);
    expect(repository.asked.map(({ wanted }) => wanted.last)).toEqual([2]);
    const fewer = repositoryWith(several);
    expect(await take(fewer, 9, 4)).toEqual([fourth, second, first]);
    expect(fewer.asked).toHaveLength(1);
  });

  test('tell of damage where that is wanted', async () => {
    const damage = new BrokenRef(active(third), 'its file is empty');
    const told: RefDamage[] = [];
    const threads = newestActive(repositoryWith(several, [damage]), 1, { damaged: (found) => told.push(found) });
    for await (const { id } of threads) expect(ids).toContain(id);
    expect(told).toEqual([damage, damage]);
  });
});

describe('ended threads', () => {
  const refs = { ...several, [ended(fourth)]: at('5') };

  test('are found by their ids, and others are not listed', async () => {
    const repository = repositoryWith(refs);
    expect(await findEnded(repository, new Set([first, fourth]))).toEqual([pointer(fourth, ended(fourth), at('5'))]);
    const [{ prefix, wanted } = { prefix: '', wanted: {} }] = repository.asked;
    expect([prefix, wanted.where?.(ended(third)), wanted.where?.(ended(fourth))]).toEqual([
      'refs/history/',
      false,
      true,
    ]);
  });

  test('are not looked for where no id is given', async () => {
    const repository = repositoryWith(refs);
    expect(await findEnded(repository, new Set())).toEqual([]);
    expect(repository.asked).toEqual([]);
  });
});
