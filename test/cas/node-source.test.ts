import { beforeAll, describe, expect, test } from 'vitest';
import { prepareHashing } from '../../src/cas/hash.ts';
import { combineSources, getNode, MemorySource, NodeNotFound } from '../../src/cas/node.ts';
import { hashObject } from '../../src/git/format/object-id.ts';
import { textNode } from './commit-of-nodes.ts';

beforeAll(prepareHashing);

describe('nodes in memory', () => {
  test('are found by their hash, with the blob that they would lie in', async () => {
    const [a, b] = [textNode('a'), textNode('b')];
    const source = new MemorySource([a]);
    const oid = hashObject({ type: 'blob', data: a.blob });
    expect(await source.find(a.hash)).toEqual({ hash: a.hash, type: a.type, payload: { text: 'a' }, oid });
    expect(await source.find(b.hash)).toBeUndefined();
    source.add(b);
    expect((await source.find(b.hash))?.payload).toEqual({ text: 'b' });
  });

  test('that have to be there are missed', async () => {
    const node = textNode('a');
    await expect(getNode(new MemorySource(), node.hash)).rejects.toThrow(NodeNotFound);
    expect((await getNode(new MemorySource([node]), node.hash)).hash).toBe(node.hash);
  });
});

test('of several sources the first that has the node answers, and the others are not asked', async () => {
  const [a, b] = [textNode('a'), textNode('b')];
  const asked: string[] = [];
  const named = (name: string, source: MemorySource): MemorySource => {
    const find = source.find.bind(source);
    source.find = (hash) => {
      asked.push(name);
      return find(hash);
    };
    return source;
  };
  const source = combineSources(named('first', new MemorySource([a])), named('second', new MemorySource([a, b])));
  expect((await source.find(a.hash))?.payload).toEqual({ text: 'a' });
  expect(asked).toEqual(['first']);
  expect((await source.find(b.hash))?.payload).toEqual({ text: 'b' });
  expect(asked).toEqual(['first', 'first', 'second']);
  expect(await source.find(textNode('c').hash)).toBeUndefined();
  expect(await combineSources().find(a.hash)).toBeUndefined();
});
