import { beforeAll, describe, expect, test } from 'vitest';
import { prepareHashing } from '../../src/cas/hash.ts';
import { nodesBehind } from '../../src/cas/commit-nodes.ts';
import { HashCollision } from '../../src/cas/node.ts';
import type { ObjectId } from '../../src/git/format/object-id.ts';
import { hashObject, parseObjectId } from '../../src/git/format/object-id.ts';
import { CorruptObject, ObjectMissing } from '../../src/git/format/errors.ts';
import { ObjectBatch } from '../../src/git/stores/publish.ts';
import type { ObjectStore, Repository } from '../../src/git/repository.ts';
import { createMemoryRepository } from '../helpers/memory-repository.ts';
import { commitFiles, commitNodes, textNode } from './commit-of-nodes.ts';

beforeAll(prepareHashing);

/** A repository that counts which objects are read. */
function counting(repository: Repository): { repository: Repository; reads: ObjectId[] } {
  const reads: ObjectId[] = [];
  const { objects: inner } = repository;
  const objects: ObjectStore = {
    format: inner.format,
    read(id, options) {
      reads.push(id);
      return inner.read(id, options);
    },
    has: (id) => inner.has(id),
    write: (list) => inner.write(list),
    close: () => inner.close(),
  };
  return { repository: { ...repository, objects }, reads };
}

async function chain(repository: Repository, length: number): Promise<ObjectId[]> {
  const ids: ObjectId[] = [];
  for (let step = 0; step < length; step++) {
    const files = [{ path: 'output.md', node: textNode(`step ${step}`) }];
    ids.push(await commitNodes(repository, { files, parents: ids.slice(-1), atMs: step * 1000 }));
  }
  return ids;
}

describe('the nodes behind a commit', () => {
  test('are those of its own tree and of all its ancestors, through every parent', async () => {
    const { repository } = await createMemoryRepository();
    const [first, second] = [textNode('first'), textNode('second')];
    const one = await commitNodes(repository, { files: [{ path: 'a.md', node: first }] });
    const two = await commitNodes(repository, { files: [{ path: 'a.md', node: second }] });
    const tip = await commitNodes(repository, {
      files: [{ path: 'a.md', node: textNode('tip') }],
      parents: [one, two],
    });
    const source = nodesBehind(repository, [tip]);
    expect((await source.find(first.hash))?.payload).toEqual({ text: 'first' });
    expect(await source.find(second.hash)).toEqual({
      hash: second.hash,
      type: second.type,
      payload: { text: 'second' },
      oid: hashObject({ type: 'blob', data: second.blob }),
    });
  });

  test('are not those of commits that it does not reach', async () => {
    const { repository } = await createMemoryRepository();
    const ids = await chain(repository, 3);
    expect(await nodesBehind(repository, ids.slice(1, 2)).find(textNode('step 2').hash)).toBeUndefined();
    expect(await nodesBehind(repository, []).find(textNode('step 2').hash)).toBeUndefined();
  });

  test('do not go on behind a commit of the user, which may have an ancestor with nodes', async () => {
    const { repository } = await createMemoryRepository();
    const [hidden] = await chain(repository, 1);
    const code = await commitFiles(repository, { 'main.c': 'x' }, { parents: [hidden!] });
    const tip = await commitNodes(repository, { files: [{ path: 'a.md', node: textNode('tip') }], parents: [code] });
    expect(await nodesBehind(repository, [tip]).find(textNode('step 0').hash)).toBeUndefined();
  });

  test('are looked for newest first, and no further than needed', async () => {
    const { repository, reads } = counting((await createMemoryRepository()).repository);
    const ids = await chain(repository, 50);
    const source = nodesBehind(repository, ids.slice(-1));
    reads.length = 0;
    await source.find(textNode('step 48').hash);
    // Two commits taken in, the next one met; each a commit, a tree and an index, and the node's blob.
    expect(reads.length).toBeLessThanOrEqual(10);
    reads.length = 0;
    await source.find(textNode('step 49').hash);
    expect(reads).toHaveLength(1);
  });

  test('are all found by searches at the same moment', async () => {
    const { repository } = await createMemoryRepository();
    const ids = await chain(repository, 20);
    const source = nodesBehind(repository, ids.slice(-1));
    const found = await Promise.all(ids.map((_, step) => source.find(textNode(`step ${step}`).hash)));
    expect(found.map((node) => node?.payload)).toEqual(ids.map((_, step) => ({ text: `step ${step}` })));
  });

  test('are found whatever the clocks said', async () => {
    const { repository } = await createMemoryRepository();
    const files = (text: string) => [{ path: 'a.md', node: textNode(text) }];
    const old = await commitNodes(repository, { files: files('root'), atMs: 9_000_000 });
    const middle = await commitNodes(repository, { files: files('middle'), parents: [old], atMs: 1000 });
    const tip = await commitNodes(repository, { files: files('tip'), parents: [middle], atMs: 5000 });
    const source = nodesBehind(repository, [tip]);
    for (const text of ['root', 'tip', 'middle']) expect(await source.find(textNode(text).hash)).toBeDefined();
  });

  test('are looked for in the newer of two branches first', async () => {
    const { repository, reads } = counting((await createMemoryRepository()).repository);
    const commit = (text: string, atMs: number, parents: ObjectId[]) =>
      commitNodes(repository, { files: [{ path: 'a.md', node: textNode(text) }], atMs, parents });
    const oldest = await commit('oldest', 1000, []);
    const old = await commit('old', 2000, [oldest]);
    const wanted = await commit('wanted', 3000, []);
    const young = await commit('young', 4000, [wanted]);
    for (const parents of [
      [old, young],
      [young, old],
    ]) {
      const tip = await commit('tip', 5000, parents);
      reads.length = 0;
      expect(await nodesBehind(repository, [tip]).find(textNode('wanted').hash)).toBeDefined();
      expect(reads).not.toContain(oldest);
    }
  });

  test('may be in several commits', async () => {
    const { repository } = await createMemoryRepository();
    const files = [{ path: 'a.md', node: textNode('same') }];
    const root = await commitNodes(repository, { files: [{ path: 'a.md', node: textNode('root') }] });
    const first = await commitNodes(repository, { files, parents: [root], atMs: 2_000_000_000_000 });
    const tip = await commitNodes(repository, { files, parents: [first], atMs: 3_000_000_000_000 });
    const source = nodesBehind(repository, [tip]);
    expect(await source.find(textNode('root').hash)).toBeDefined();
    expect((await source.find(textNode('same').hash))?.payload).toEqual({ text: 'same' });
  });

  test('are looked for once in a commit that two others stand on', async () => {
    const { repository, reads } = counting((await createMemoryRepository()).repository);
    const commit = (text: string, parents: ObjectId[]) =>
      commitNodes(repository, { files: [{ path: 'a.md', node: textNode(text) }], parents });
    const root = await commit('root', []);
    const tip = await commit('tip', [await commit('left', [root]), await commit('right', [root])]);
    reads.length = 0;
    expect(await nodesBehind(repository, [tip, tip]).find(textNode('absent').hash)).toBeUndefined();
    expect(reads.filter((id) => id === root)).toHaveLength(1);
  });

  test('cannot be told where a parent is damaged, or its tree is missing', async () => {
    const { repository } = await createMemoryRepository();
    const batch = new ObjectBatch();
    const who = { ...repository.committer, atMs: 0 };
    const noCommit = batch.addBlob('a blob');
    const tree = parseObjectId('1'.repeat(40));
    const noTree = batch.addCommit({ tree, parents: [], author: who, committer: who, message: 'x\n' });
    await repository.objects.write(batch.objects);
    for (const parent of [noCommit, noTree]) {
      const tip = await commitNodes(repository, {
        files: [{ path: 'a.md', node: textNode('tip') }],
        parents: [parent],
      });
      await expect(nodesBehind(repository, [tip]).find(textNode('older').hash)).rejects.toThrow(
        parent === noTree ? ObjectMissing : CorruptObject,
      );
    }
  });

  test('are refused when two objects claim one hash', async () => {
    const { repository } = await createMemoryRepository();
    const [a, b] = [textNode('a'), textNode('b')];
    const forged = await commitNodes(repository, { files: [{ path: 'b.md', node: b }], atMs: 1000 });
    const oid = hashObject({ type: 'blob', data: b.blob });
    const tip = await commitNodes(repository, {
      files: [
        { path: 'a.md', node: a },
        { path: 'x.md', hash: a.hash, oid },
      ],
      parents: [forged],
    });
    const source = nodesBehind(repository, [tip]);
    await expect(source.find(a.hash)).rejects.toThrow(HashCollision);
    const own = hashObject({ type: 'blob', data: a.blob });
    await expect(source.find(a.hash)).rejects.toMatchObject({ oids: expect.arrayContaining([oid, own]) as unknown });
    // The others are not touched by it.
    expect(await source.find(b.hash)).toBeDefined();
  });

  test('end where a shallow history ends', async () => {
    const { repository } = await createMemoryRepository();
    const gone = parseObjectId('1'.repeat(40));
    const tip = await commitNodes(repository, { files: [{ path: 'a.md', node: textNode('tip') }], parents: [gone] });
    const source = nodesBehind(repository, [tip]);
    expect(await source.find(textNode('tip').hash)).toBeDefined();
    expect(await source.find(textNode('older').hash)).toBeUndefined();
    await expect(nodesBehind(repository, [gone]).find(textNode('tip').hash)).rejects.toThrow(ObjectMissing);
  });
});
