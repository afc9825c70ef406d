import { describe, expect, test } from 'vitest';
import { parseRefName } from '../../../src/git/format/refs.ts';
import type { ObjectId } from '../../../src/git/format/object-id.ts';
import { ObjectBatch } from '../../../src/git/stores/publish.ts';
import { readCommit } from '../../../src/git/stores/read.ts';
import { addEnds, endsRef, readEnds, withoutEnds } from '../../../src/thread/archive-threads.ts';
import { createMapRepository, type MapRepository } from '../../helpers/map-repository.ts';
import { watched } from '../../helpers/watched-repository.ts';

const atMs = 1_795_262_400_000;

/** A repository with so many ends: commits whose trees have files. */
async function withEnds(count: number): Promise<{ repository: MapRepository; ends: ObjectId[] }> {
  const repository = createMapRepository();
  const batch = new ObjectBatch();
  const who = { name: 'U', email: 'u@x', atMs };
  const tree = batch.addTree([{ mode: '100644', name: 'end.json', id: batch.addBlob('{}') }]);
  const ends = Array.from({ length: count }, (_, at) =>
    batch.addCommit({ tree, parents: [], author: who, committer: who, message: `${at}\n` }),
  );
  await repository.objects.write(batch.objects);
  return { repository, ends };
}

async function addTo(repository: MapRepository, previous: ObjectId | undefined, ends: readonly ObjectId[]) {
  const batch = new ObjectBatch();
  const tip = addEnds(batch, previous, ends, atMs);
  await repository.objects.write(batch.objects);
  return tip;
}

async function endsIn(repository: MapRepository, tip: ObjectId): Promise<ObjectId[]> {
  const found: ObjectId[] = [];
  for await (const end of readEnds(repository.objects, tip)) found.push(end);
  return found;
}

describe('a chain that keeps ends', () => {
  test.each([
    [1, [1]],
    [250, [250]],
    [251, [250, 2]],
    [500, [250, 251]],
  ])('of %d ends has commits with at most 250 of them, oldest first: %j parents', async (count, parents) => {
    const { repository, ends } = await withEnds(count);
    const tip = await addTo(repository, undefined, ends);
    const found: number[] = [];
    const keeper = { name: 'uwf', email: 'uwf@localhost', atMs };
    for (let [at, left] = [tip, parents.length]; left > 0; left -= 1) {
      const commit = await readCommit(repository.objects, at!);
      expect(commit).toMatchObject({ author: keeper, committer: keeper, message: 'archive\n' });
      found.unshift(commit.parents.length);
      at = commit.parents[0];
    }
    expect(found).toEqual(parents);
    expect(new Set(await endsIn(repository, tip!))).toEqual(new Set(ends));
  });

  test('goes on from the one before, and stays as it is where nothing is added', async () => {
    const { repository, ends } = await withEnds(3);
    const older = await addTo(repository, undefined, ends.slice(0, 2));
    const tip = await addTo(repository, older, ends.slice(2));
    expect(await endsIn(repository, tip!)).toEqual([ends[2], ends[0], ends[1]]);
    expect(await addTo(repository, older, [])).toBe(older);
    expect(await addTo(repository, undefined, [])).toBeUndefined();
  });

  test('may have a commit that keeps nothing', async () => {
    const { repository, ends } = await withEnds(1);
    const batch = new ObjectBatch();
    const who = { name: 'uwf', email: 'uwf@localhost', atMs };
    const tree = batch.addTree([]);
    const empty = batch.addCommit({ tree, parents: [], author: who, committer: who, message: 'archive\n' });
    await repository.objects.write(batch.objects);
    expect(await endsIn(repository, empty)).toEqual([]);
    expect(await endsIn(repository, (await addTo(repository, empty, ends))!)).toEqual(ends);
  });

  test('has a ref that is named after a commit of it', () => {
    expect(endsRef('0123456789abcdef0123456789abcdef01234567' as ObjectId)).toBe(
      'refs/uwf/archive/ends/0123456789abcdef',
    );
  });
});

describe('ends that are taken out of chains', () => {
  const scene = async () => {
    const { repository, ends } = await withEnds(5);
    const chains = [ends.slice(0, 3), ends.slice(3)].map(async (some, at) => ({
      name: parseRefName(`refs/uwf/archive/ends/${at}`),
      id: (await addTo(repository, undefined, some))!,
    }));
    return { repository, ends, chains: await Promise.all(chains) };
  };

  test('leave the others of their chain in order, and other chains alone', async () => {
    const { repository, ends, chains } = await scene();
    const batch = new ObjectBatch();
    const gone = new Set([ends[1]!, 'f'.repeat(40) as ObjectId]);
    const { edits, found } = await withoutEnds(repository.objects, batch, chains, gone, atMs);
    expect(found).toEqual(new Set([ends[1]]));
    expect(edits).toEqual([{ name: chains[0]!.name, expected: chains[0]!.id, value: expect.any(String) }]);
    await repository.objects.write(batch.objects);
    const { value } = edits[0]!;
    expect(new Set(await endsIn(repository, value!))).toEqual(new Set([ends[0], ends[2]]));
  });

  test('leave no chain where they are all of it', async () => {
    const { repository, ends, chains } = await scene();
    const { edits, found } = await withoutEnds(
      repository.objects,
      new ObjectBatch(),
      chains,
      new Set(ends.slice(3)),
      atMs,
    );
    expect(found).toEqual(new Set(ends.slice(3)));
    expect(edits).toEqual([{ name: chains[1]!.name, expected: chains[1]!.id, value: null }]);
  });

  test('cost nothing where there are none', async () => {
    const { repository, chains } = await scene();
    const spied = watched(repository);
    const result = await withoutEnds(spied.repository.objects, new ObjectBatch(), chains, new Set(), atMs);
    expect(result).toEqual({ edits: [], found: new Set() });
    expect(spied.read).toEqual([]);
  });
});
