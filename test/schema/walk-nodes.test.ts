import { beforeAll, describe, expect, test } from 'vitest';
import { type NodeHash, prepareHashing } from '../../src/cas/hash.ts';
import { type EncodedNode, encodeNode, MemorySource, NodeNotFound, type NodeSource } from '../../src/cas/node.ts';
import { builtIn, typeNameOf } from '../../src/schema/built-in.ts';
import { findReachableHashes, walk } from '../../src/schema/links.ts';
import { type Sample, sampleNodes } from './sample-nodes.ts';

beforeAll(prepareHashing);

function sampleOf(samples: readonly Sample[], name: string, place: 'first' | 'last' = 'first'): Sample {
  const all = samples.filter((sample) => sample.name === name);
  const sample = all.at(place === 'first' ? 0 : -1);
  if (sample === undefined) throw new Error(`there is no sample of ${name}`);
  return sample;
}

async function walked(source: NodeSource, root: NodeHash): Promise<string[]> {
  const names: string[] = [];
  for await (const { hash, typeName } of walk(source, root)) names.push(`${typeName} ${hash}`);
  return names;
}

describe('a walk', () => {
  test('from a step reaches content, session, turns and tool calls, and from the last step everything before', async () => {
    const samples = sampleNodes();
    const source = new MemorySource(samples.map(({ node }) => node));
    const types = (names: string[]): Set<string> => new Set(names.map((line) => line.split(' ')[0] ?? ''));
    const step = sampleOf(samples, 'thread-step');
    expect(types(await walked(source, step.node.hash))).toEqual(
      new Set([
        'thread-step',
        'content',
        'artifact',
        'react-session',
        'agent',
        'workflow',
        'react-turn',
        'react-tool-call',
        'thread-start',
        'role',
        'role-schema',
        'attempt',
        'thread-end',
      ]),
    );
    const end = sampleOf(samples, 'thread-end', 'last');
    expect((await walked(source, end.node.hash)).join()).toContain(step.node.hash);
  });

  test('from a workflow meets every role and its schema', async () => {
    const samples = sampleNodes();
    const source = new MemorySource(samples.map(({ node }) => node));
    const names = await walked(source, sampleOf(samples, 'workflow').node.hash);
    expect(names.map((line) => line.split(' ')[0])).toEqual(['workflow', 'role', 'role-schema']);
  });

  test('goes depth first in the order of the links, and to each node once', async () => {
    const text = (content: string, ...refs: EncodedNode[]): EncodedNode =>
      encodeNode(builtIn.content, {
        text: content,
        ...(refs.length > 0 ? { refs: refs.map(({ hash }) => hash) } : {}),
      });
    const [x, y, z] = [text('x'), text('y'), text('z')];
    const left = text('left', y, x);
    const right = text('right', x, z);
    const root = text('root', left, right, left);
    const source = new MemorySource([x, y, z, left, right, root]);
    const order: unknown[] = [];
    for await (const { payload } of walk(source, root.hash)) order.push(payload);
    expect(order).toEqual([root, left, y, x, right, z].map(({ payload }) => payload));
    expect(await findReachableHashes(source, [right.hash, y.hash])).toEqual(
      new Set([right, x, z, y].map(({ hash }) => hash)),
    );
  });

  test('of ten thousand steps comes to its end, and meets each once', async () => {
    const samples = sampleNodes();
    const first = sampleOf(samples, 'thread-step');
    const source = new MemorySource(samples.map(({ node }) => node));
    // The sample is a step.
    const payload = first.node.payload as Record<string, never>;
    const steps = [first.node];
    for (let number = 2; number <= 10_000; number++) {
      const ancestors = steps
        .slice(-11)
        .toReversed()
        .map(({ hash }) => hash);
      const step = encodeNode(builtIn['thread-step'], {
        ...payload,
        number,
        previous: ancestors[0] ?? null,
        ancestors,
      });
      steps.push(step);
      source.add(step);
    }
    let count = 0;
    const head = steps.at(-1);
    for await (const node of walk(source, head!.hash)) if (typeNameOf(node.type) === 'thread-step') count++;
    expect(count).toBe(10_000);
  });

  test('fails where a link leads nowhere', async () => {
    const broken = encodeNode(builtIn.content, { text: 'x', refs: ['0000000000000'] });
    await expect(walked(new MemorySource([broken]), broken.hash)).rejects.toThrow(NodeNotFound);
  });

  test('does not go beyond a boundary, but gives the node on it', async () => {
    const samples = sampleNodes();
    const source = new MemorySource(samples.map(({ node }) => node));
    const names: (string | undefined)[] = [];
    const isBoundary = ({ type }: { type: NodeHash }): boolean => type === builtIn.role;
    for await (const { typeName } of walk(source, sampleOf(samples, 'workflow').node.hash, { isBoundary })) {
      names.push(typeName);
    }
    expect(names).toEqual(['workflow', 'role']);
  });
});
