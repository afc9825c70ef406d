import { describe, expect, test } from 'vitest';
import { hashNode, prepareHashing } from '../../src/cas/hash.ts';
import { encodeNode, MemorySource, type StoredNode } from '../../src/cas/node.ts';
import { hashObject } from '../../src/git/format/object-id.ts';
import type { JsonValue } from '../../src/json.ts';
import { builtIn, builtInSchema } from '../../src/schema/built-in.ts';
import { checkNodes } from '../../src/verify/check-commit.ts';
import { contentOfHash } from '../sync/forge-hash.ts';

await prepareHashing();

const metaSchema = builtIn['meta-schema'];
const contentSchema = encodeNode(metaSchema, builtInSchema('content'));

function stored(type: StoredNode['type'], payload: JsonValue): StoredNode {
  const { hash, blob } = encodeNode(type, payload);
  return { type, payload, hash, oid: hashObject({ type: 'blob', data: blob }) };
}

describe('a node that was found to be sound in one thread', () => {
  test('is looked at in another where it is another node, of the same forged hash', async () => {
    const sound = new Set<string>();
    const source = new MemorySource([contentSchema]);
    const plain = stored(builtIn.content, { text: 'It is all there, and nothing is missing.' });
    const absent = hashNode(builtIn.content, { text: 'nowhere' });
    const forged = stored(builtIn.content, contentOfHash(plain.hash, absent));
    expect(forged.hash).toBe(plain.hash);
    expect(await faultsOf(plain, source, sound)).toEqual([]);
    expect(await faultsOf(plain, source, sound)).toEqual([]);
    expect(await faultsOf(forged, source, sound)).toEqual([expect.stringContaining(absent)]);
  });

  test('is none in another that has not got its type', async () => {
    const sound = new Set<string>();
    const schema = encodeNode(metaSchema, { type: 'object', properties: { done: { type: 'boolean' } } });
    const node = stored(schema.hash, { done: true });
    expect(await faultsOf(node, new MemorySource([schema]), sound)).toEqual([]);
    expect(await faultsOf(node, new MemorySource([]), sound)).toEqual([`there is no node ${schema.hash}`]);
  });
});

describe('what is remembered as sound', () => {
  test('are nodes without faults and without links', async () => {
    const sound = new Set<string>();
    const source = new MemorySource([contentSchema]);
    const text = stored(builtIn.content, { text: 'a text' });
    const wrong = stored(builtIn.content, { text: 1 });
    const linking = stored(builtIn.content, { text: 'x', refs: [text.hash] });
    source.add(encodeNode(text.type, text.payload));
    expect(await faultsOf(text, source, sound)).toEqual([]);
    expect(await faultsOf(wrong, source, sound)).toEqual(['/text must be a string']);
    expect(await faultsOf(linking, source, sound)).toEqual([]);
    expect([...sound]).toEqual([`${text.hash} ${text.oid}`]);
  });

  test('is not checked again', async () => {
    const wrong = stored(builtIn.content, { text: 1 });
    const sound = new Set([`${wrong.hash} ${wrong.oid}`]);
    expect(await faultsOf(wrong, new MemorySource([contentSchema]), sound)).toEqual([]);
  });
});

test('a fault of a node as a whole is told without a place, and all links are given', async () => {
  const source = new MemorySource([contentSchema]);
  const absent = hashNode(builtIn.content, { text: 'nowhere' });
  expect(await faultsOf(stored(builtIn.content, {}), source, new Set())).toEqual(["lacks the property 'text'"]);
  const one = stored(builtIn.content, { text: 'one', refs: [absent] });
  const two = stored(builtIn.content, { text: 'two', refs: [absent, one.hash] });
  const nodes = new Map([
    ['one.json', one],
    ['two.json', two],
  ]);
  expect(await checkNodes(nodes, source, new Set(), () => undefined)).toEqual(new Set([absent, one.hash]));
});

test('links that meet again are no cycle', async () => {
  const text = (words: string, ...to: StoredNode[]): StoredNode =>
    stored(builtIn.content, { text: words, ...(to.length > 0 && { refs: to.map(({ hash }) => hash) }) });
  const leaf = text('leaf');
  const [left, right] = [text('left', leaf), text('right', leaf)];
  const top = text('top', left, right, leaf);
  const all = [leaf, left, right, top];
  const source = new MemorySource([contentSchema, ...all.map(({ type, payload }) => encodeNode(type, payload))]);
  for (const order of [all, all.toReversed(), [left, top, leaf, right]]) {
    const faults: string[] = [];
    const nodes = new Map(order.map((node, at) => [`${at}.json`, node]));
    await checkNodes(nodes, source, new Set(), (path, what) => void faults.push(`${path}: ${what}`));
    expect(faults).toEqual([]);
  }
});

describe('a cycle of links', () => {
  test('is found at the same node, wherever the hash of a node that leads to it sorts', async () => {
    const source = new MemorySource([contentSchema]);
    const claimed = hashNode(builtIn.content, { text: 'what the first one claims to be' });
    const one = stored(builtIn.content, { refs: [claimed], text: 'one' });
    const two = stored(builtIn.content, contentOfHash(claimed, one.hash));
    const toOne = stored(builtIn.content, { refs: [one.hash], text: 'this leads to the cycle' });
    const files: [string, StoredNode][] = [
      ['a.json', two],
      ['b.json', one],
      ['c.json', toOne],
    ];
    const found: (string | null)[] = [];
    for (const order of [files, files.toReversed(), [files[1]!, files[2]!, files[0]!]]) {
      await checkNodes(new Map(order), source, new Set(), (path, what) => {
        if (what.includes('leads back to it')) found.push(path);
      });
    }
    expect(found).toEqual(['b.json', 'b.json', 'b.json']);
  });

  test('is found behind links that lead to an end', async () => {
    const claimed = hashNode(builtIn.content, { text: 'what the other one claims to be' });
    const leaf = stored(builtIn.content, { text: 'leaf' });
    const middle = stored(builtIn.content, { text: 'middle', refs: [leaf.hash] });
    const one = stored(builtIn.content, { text: 'one', refs: [leaf.hash, middle.hash, claimed] });
    const other = stored(builtIn.content, contentOfHash(claimed, one.hash));
    const nodes = new Map([leaf, middle, one, other].map((node, at) => [`${at}.json`, node]));
    const faults: string[] = [];
    const report = (path: string | null, what: string): void => void faults.push(`${path}: ${what}`);
    await checkNodes(nodes, new MemorySource([contentSchema]), new Set(), report);
    expect(faults).toContain(`2.json: what node ${one.hash} links to leads back to it`);
  });
});

async function faultsOf(node: StoredNode, source: MemorySource, sound: Set<string>): Promise<string[]> {
  const faults: string[] = [];
  await checkNodes(new Map([['node.json', node]]), source, sound, (_, what) => void faults.push(what));
  return faults;
}
