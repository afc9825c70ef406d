import { describe, expect, test } from 'vitest';
import { hashNode, prepareHashing } from '../../../src/cas/hash.ts';
import { encodeNode } from '../../../src/cas/node.ts';
import { MemorySource, type StoredNode } from '../../../src/cas/node-source.ts';
import { hashObject } from '../../../src/git/object-id.ts';
import type { JsonValue } from '../../../src/json.ts';
import { builtIn, builtInSchema } from '../../../src/schema/built-in.ts';
import { checkNodes } from '../../../src/thread/verify/check-nodes.ts';
import { contentOfHash } from '../../sync/forge-hash.ts';

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

async function faultsOf(node: StoredNode, source: MemorySource, sound: Set<string>): Promise<string[]> {
  const faults: string[] = [];
  await checkNodes(new Map([['node.json', node]]), source, sound, (_, what) => void faults.push(what));
  return faults;
}
