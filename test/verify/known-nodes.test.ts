import { expect, test } from 'vitest';
import { prepareHashing } from '../../src/cas/hash.ts';
import type { IndexEntry } from '../../src/cas/commit-nodes.ts';
import type { Lookup } from '../../src/cas/lookup.ts';
import { encodeNode } from '../../src/cas/node.ts';
import type { ObjectId } from '../../src/git/format/object-id.ts';
import { builtIn } from '../../src/schema/built-in.ts';
import { KnownNodes, NodeCache } from '../../src/verify/read-checked.ts';
import { CorruptThread } from '../../src/thread/thread-errors.ts';
import { createMapRepository, type MapRepository } from '../helpers/map-repository.ts';
import { watched } from '../helpers/watched-repository.ts';
import { collidingTexts } from '../sync/forge-hash.ts';
import { store } from './forge-commit.ts';

test('a node behind a further parent whose place is known is found without a walk to it', async () => {
  await prepareHashing();
  const repository = createMapRepository();
  const { hash, blob } = encodeNode(builtIn.content, { text: 'the end' });
  const known = new KnownNodes(new NodeCache(repository));
  known.addOneBehind(hash, store(repository, 'blob', blob));
  // To walk behind these fails, as they are not there.
  for (const digit of '123') known.addBehind(digit.repeat(40) as ObjectId);
  expect(await known.find(hash)).toMatchObject({ hash, payload: { text: 'the end' } });
  await expect(known.find(encodeNode(builtIn.content, { text: 'another' }).hash)).rejects.toThrow('is not in');
});

/** Commits of one text each, the newest first, that were verified before. */
function earlierCommits(texts: readonly string[]): {
  repository: MapRepository;
  known: KnownNodes;
  entries: IndexEntry[];
  read: string[];
  stand: (blobsUpTo?: Lookup['blobsUpTo'], update?: () => Promise<void>) => void;
} {
  const repository = createMapRepository();
  const entries = texts.map((content) => storedText(repository, content));
  const read: string[] = [];
  const known = new KnownNodes(new NodeCache(repository));
  const stand = (blobsUpTo?: Lookup['blobsUpTo'], update = (): Promise<void> => Promise.resolve()): void =>
    known.standOn({
      head: '0' as ObjectId,
      lookup: blobsUpTo && { blobsUpTo, update },
      read: async (id) => {
        read.push(id);
        const at = Number(id);
        const previous = at + 1 < entries.length ? (`${at + 1}` as ObjectId) : undefined;
        return Promise.resolve({ entries: [entries[at]!], previous, furtherParents: [] });
      },
    });
  return { repository, known, entries, read, stand };
}

const [text, sameHash] = collidingTexts();

function colliding(repository: MapRepository): IndexEntry {
  return storedText(repository, sameHash);
}

test('earlier commits are read back to the one that has a node, and no further', async () => {
  await prepareHashing();
  const { known, entries, read, stand } = earlierCommits(['d', 'c', 'b', 'a']);
  stand();
  const found = await Promise.all([known.find(entries[1]!.hash), known.find(entries[2]!.hash)]);
  expect(found).toMatchObject([entries[1], entries[2]].map((entry) => ({ hash: entry!.hash, oid: entry!.oid })));
  expect(new Set(read)).toEqual(new Set(['0', '1', '2']));
  expect(await known.find(encodeNode(builtIn.content, { text: 'e' }).hash)).toBeUndefined();
  expect(read.at(-1)).toBe('3');
});

test('a new node is compared with all earlier ones, by the lookup where that has them', async () => {
  await prepareHashing();
  for (const has of ['nothing', 'others', 'another']) {
    const { repository, known, read, stand } = earlierCommits(['c', 'b', text]);
    const forged = colliding(repository);
    const sound = storedText(repository, 'd');
    stand((_, hash) => (has === 'nothing' ? undefined : hash === forged.hash ? ['f'.repeat(40) as ObjectId] : []));
    await known.add(sound);
    expect(read).toEqual(has === 'nothing' ? ['0', '1', '2'] : []);
    await expect(known.add(forged)).rejects.toThrow(/two different objects/);
    expect(read).toEqual(['0', '1', '2']);
  }
});

test('a node that only other threads have under its hash is no collision', async () => {
  await prepareHashing();
  const { repository, known, stand } = earlierCommits(['c', 'b', 'a']);
  stand(() => ['f'.repeat(40) as ObjectId]);
  const entry = colliding(repository);
  expect(await known.add(entry)).toMatchObject({ oid: entry.oid });
});

test('a node of the thread goes before one of its hash behind a further parent', async () => {
  await prepareHashing();
  const { repository, known, entries, stand } = earlierCommits(['c', 'b', text]);
  const other = colliding(repository);
  stand((_, hash) => (hash === other.hash ? [entries[2]!.oid] : []));
  known.addOneBehind(other.hash, other.oid);
  expect(await known.find(other.hash)).toMatchObject({ oid: entries[2]!.oid });
});

test('a lookup that lacks many commits is brought up to date once, and is not needed', async () => {
  await prepareHashing();
  const texts = Array.from({ length: 400 }, (_, at) => `${at}`);
  for (const error of [undefined, new CorruptThread('0' as ObjectId, 'it is another one')]) {
    const { repository, known, read, stand } = earlierCommits(texts);
    let updates = 0;
    stand(
      () => (updates > 0 && error === undefined ? [] : undefined),
      async () => {
        updates += 1;
        if (error) throw error;
        return Promise.resolve();
      },
    );
    await known.add(storedText(repository, 'new'));
    await known.add(storedText(repository, 'newer'));
    expect({ updates, read: read.length }).toEqual({ updates: 1, read: error ? 400 : 256 });
  }
});

function storedText(repository: MapRepository, content: string): IndexEntry {
  const { hash, blob } = encodeNode(builtIn.content, { text: content });
  return { path: 'output.md', hash, oid: store(repository, 'blob', blob) };
}

test('a node is read once, and again when others have taken its room; a larger one than the room is not kept', async () => {
  await prepareHashing();
  const stored = createMapRepository();
  const { repository, read } = watched(stored);
  const nodes = ['small', 'x'.repeat(1_500_000), 'y'.repeat(1_500_000), 'z'.repeat(3_000_000)].map((text) => {
    const { hash, blob } = encodeNode(builtIn.content, { text });
    return { hash, oid: store(stored, 'blob', blob) };
  });
  const cache = new NodeCache(repository);
  const readsOf = async (...order: number[]): Promise<number> => {
    read.length = 0;
    for (const at of order) expect(await cache.read(nodes[at]!)).toMatchObject(nodes[at]!);
    return read.length;
  };
  expect(await readsOf(0, 1, 0, 1)).toBe(2);
  expect(await readsOf(3, 3, 0, 1)).toBe(2);
  expect(await readsOf(2, 0, 1)).toBe(3);
});
