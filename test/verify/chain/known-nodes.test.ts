import { expect, test } from 'vitest';
import { prepareHashing } from '../../../src/cas/hash.ts';
import { encodeNode } from '../../../src/cas/node.ts';
import type { ObjectId } from '../../../src/git/format/object-id.ts';
import { builtIn } from '../../../src/schema/built-in.ts';
import { KnownNodes, NodeCache } from '../../../src/verify/chain/known-nodes.ts';
import { createMapRepository } from '../../helpers/map-repository.ts';
import { watched } from '../../helpers/watched-repository.ts';
import { store } from '../forge-commit.ts';

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
