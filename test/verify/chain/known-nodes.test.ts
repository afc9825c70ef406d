import { expect, test } from 'vitest';
import { prepareHashing } from '../../../src/cas/hash.ts';
import { encodeNode } from '../../../src/cas/node.ts';
import type { ObjectId } from '../../../src/git/format/object-id.ts';
import { builtIn } from '../../../src/schema/built-in.ts';
import { KnownNodes, NodeCache } from '../../../src/verify/chain/known-nodes.ts';
import { createMapRepository } from '../../helpers/map-repository.ts';
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
