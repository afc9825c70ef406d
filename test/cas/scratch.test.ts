import { beforeAll, describe, expect, test } from 'vitest';
import { prepareHashing } from '../../src/cas/hash.ts';
import { nodesBehind } from '../../src/cas/commit-nodes.ts';
import {
  artifactPath,
  isArtifact,
  listScratch,
  putScratch,
  removeFromScratch,
  replaceInScratch,
  typePath,
} from '../../src/cas/scratch.ts';
import { encodeNode } from '../../src/cas/node.ts';
import { ARTIFACT_TYPE, CONTENT_TYPE } from '../../src/cas/node-hash.ts';
import { hashObject } from '../../src/git/format/object-id.ts';
import { readCommit, readTree } from '../../src/git/stores/read.ts';
import { parseRefName } from '../../src/git/format/refs.ts';
import { encodeBuiltIn } from '../../src/schema/built-in.ts';
import { createMemoryRepository, expectCleanMemory } from '../helpers/memory-repository.ts';
import { createTemporaryRepository, expectCleanFsck } from '../helpers/temporary-repository.ts';
import { watched } from '../helpers/watched-repository.ts';
import { textNode } from './commit-of-nodes.ts';

beforeAll(prepareHashing);

const ref = parseRefName('refs/uwf/scratch/01KTWEWZ760000000000000000');
const types = () => [encodeBuiltIn('content'), encodeBuiltIn('meta-schema')];

describe('scratch', () => {
  test('holds what was put, readable text as text, and the schemas beside it', async () => {
    const memory = await createMemoryRepository();
    const { repository } = memory;
    const plain = textNode('plain');
    const withRefs = encodeNode(CONTENT_TYPE, { text: 'refs', refs: [plain.hash] });
    await putScratch(repository, ref, { nodes: [plain], types: types() });
    await putScratch(repository, ref, { nodes: [withRefs], types: types() });
    const entries = await listScratch(repository, ref);
    expect(new Set(entries.map(({ path }) => path))).toEqual(
      new Set([
        `artifacts/${plain.hash}.md`,
        `artifacts/${withRefs.hash}.json`,
        ...types().map(({ hash }) => typePath(hash)),
      ]),
    );
    expect(new Set(entries.filter(isArtifact).map(({ hash }) => hash))).toEqual(new Set([plain.hash, withRefs.hash]));
    const tip = await repository.refs.read(ref);
    expect((await nodesBehind(repository, [tip!]).find(plain.hash))?.payload).toEqual({ text: 'plain' });
    expectCleanMemory(memory);
  });

  test('does not change when what is put is there already', async () => {
    const { repository } = await createMemoryRepository();
    await putScratch(repository, ref, { nodes: [textNode('a')], types: types() });
    const before = await repository.refs.read(ref);
    await putScratch(repository, ref, { nodes: [textNode('a')], types: types() });
    expect(await repository.refs.read(ref)).toBe(before);
  });

  test('is a single commit, however often something is put', async () => {
    const temporary = createTemporaryRepository();
    const repository = await temporary.open();
    for (const text of ['a', 'b', 'c']) await putScratch(repository, ref, { nodes: [textNode(text)], types: types() });
    expect(temporary.git('rev-list', '--count', ref)).toBe('1');
    temporary.git('-c', 'gc.reflogExpire=now', 'gc', '--quiet', '--prune=now');
    for (const text of ['a', 'b', 'c']) {
      expect(temporary.git('show', `${ref}:${artifactPath(textNode(text))}`)).toBe(text);
    }
    expectCleanFsck(temporary.dir);
    await repository.close();
  });

  test('loses nothing when several put at once', async () => {
    const temporary = createTemporaryRepository();
    const repositories = await Promise.all(Array.from({ length: 4 }, () => temporary.open()));
    const texts = Array.from({ length: 24 }, (_, at) => `text ${at}`);
    await Promise.all(
      texts.map((text, at) => putScratch(repositories[at % 4]!, ref, { nodes: [textNode(text)], types: types() })),
    );
    const entries = await listScratch(repositories[0]!, ref);
    expect(new Set(entries.filter(isArtifact).map(({ hash }) => hash))).toEqual(
      new Set(texts.map((text) => textNode(text).hash)),
    );
    expectCleanFsck(temporary.dir);
    await Promise.all(repositories.map((repository) => repository.close()));
  });

  test('forgets what is removed, and goes with the last artifact', async () => {
    const memory = await createMemoryRepository();
    const { repository } = memory;
    const [a, b] = [textNode('a'), textNode('b')];
    await putScratch(repository, ref, { nodes: [a, b], types: types() });
    expect(await removeFromScratch(repository, ref, [a.hash, textNode('c').hash, types()[0]!.hash])).toEqual([a.hash]);
    expect((await listScratch(repository, ref)).filter(isArtifact).map(({ hash }) => hash)).toEqual([b.hash]);
    expect(await listScratch(repository, ref)).toHaveLength(3);
    expect(await removeFromScratch(repository, ref, [a.hash])).toEqual([]);
    expect(await removeFromScratch(repository, ref, [b.hash])).toEqual([b.hash]);
    expect(await repository.refs.read(ref)).toBeUndefined();
    expect(await listScratch(repository, ref)).toEqual([]);
    expectCleanMemory(memory);
  });
});

describe('what a scratch tree holds', () => {
  const pathsOf = async (repository: Parameters<typeof listScratch>[0]): Promise<string[]> =>
    (await listScratch(repository, ref)).map(({ path }) => path).toSorted();

  test('lies under a path that says what it is there for', async () => {
    const { repository } = await createMemoryRepository();
    const [put, linked] = [textNode('put'), textNode('linked')];
    await putScratch(repository, ref, { nodes: [put], linked: [linked], types: [] });
    expect(await pathsOf(repository)).toEqual([`artifacts/${put.hash}.md`, `linked/${linked.hash}.json`]);
    const [entry] = (await listScratch(repository, ref)).filter(isArtifact);
    expect(entry?.hash).toBe(put.hash);
    // What is there only for something else goes with it.
    await removeFromScratch(repository, ref, [put.hash]);
    expect(await repository.refs.read(ref)).toBeUndefined();
  });

  test('is one file of a folder where it is replaced', async () => {
    const { repository } = await createMemoryRepository();
    const [a, b, c] = [textNode('a'), textNode('b'), textNode('c')];
    await putScratch(repository, ref, { nodes: [a], types: [] });
    await replaceInScratch(repository, ref, 'trace/', { path: 'trace/1.md', node: b });
    await replaceInScratch(repository, ref, 'trace/', { path: 'trace/2.md', node: c });
    expect(await pathsOf(repository)).toEqual([`artifacts/${a.hash}.md`, 'trace/2.md']);
    await removeFromScratch(repository, ref, [a.hash]);
    expect(await pathsOf(repository)).toEqual(['trace/2.md']);
  });

  test('is kept by a commit that says how many nodes there are, by the committer and at the time of the repository', async () => {
    const { repository } = await createMemoryRepository();
    const messages: string[] = [];
    for (const text of ['a', 'b']) {
      await putScratch(repository, ref, { nodes: [textNode(text)], types: [] });
      const commit = await readCommit(repository.objects, (await repository.refs.read(ref))!);
      messages.push(commit.message);
      expect(commit.parents).toEqual([]);
      expect(commit.author).toEqual(commit.committer);
      expect(commit.committer.name).toBe(repository.committer.name);
    }
    expect(messages).toEqual(['scratch: 1 node\n', 'scratch: 2 nodes\n']);
  });

  test('keeps what an artifact pins, and the blob that comes with it', async () => {
    const { repository } = await createMemoryRepository();
    const data = new TextEncoder().encode('pinned');
    const oid = hashObject({ type: 'blob', data });
    const node = encodeNode(ARTIFACT_TYPE, { kind: 'blob', oid, title: 'x' });
    await putScratch(repository, ref, { nodes: [node], types: [], blobs: [data] });
    const commit = await readCommit(repository.objects, (await repository.refs.read(ref))!);
    expect((await readTree(repository.objects, commit.tree)).map(({ name }) => name).toSorted()).toEqual([
      'artifacts',
      'index',
      'pinned',
    ]);
    expect(await repository.objects.has(oid)).toBe(true);
  });

  test('reads no node that it holds to take in another, and goes on keeping what those pin', async () => {
    const { repository: whole } = await createMemoryRepository();
    const blobOf = (text: string): Uint8Array => new TextEncoder().encode(text);
    const pinOf = (text: string): ReturnType<typeof encodeNode> => {
      const oid = hashObject({ type: 'blob', data: blobOf(text) });
      return encodeNode(ARTIFACT_TYPE, { kind: 'blob', oid, title: text });
    };
    const lists = Array.from({ length: 20 }, (_, at) => encodeNode(CONTENT_TYPE, { text: `${at}`, refs: [] }));
    const { repository, read } = watched(whole);
    const readTo = async (change: () => Promise<unknown>): Promise<number> => {
      read.length = 0;
      await change();
      return read.length;
    };
    const pinned = async (): Promise<string[]> => {
      const { tree } = await readCommit(whole.objects, (await whole.refs.read(ref))!);
      const folder = (await readTree(whole.objects, tree)).find(({ name }) => name === 'pinned');
      return folder === undefined ? [] : (await readTree(whole.objects, folder.id)).map(({ name }) => name).toSorted();
    };
    const oids = ['a', 'b'].map((text) => hashObject({ type: 'blob', data: blobOf(text) })).toSorted();
    await putScratch(repository, ref, { nodes: lists, types: [] });
    expect(await readTo(() => putScratch(repository, ref, { nodes: [textNode('x')], types: [] }))).toBeLessThan(10);
    expect(await readTo(() => removeFromScratch(repository, ref, [lists[0]!.hash]))).toBeLessThan(10);
    await putScratch(repository, ref, { nodes: [pinOf('a')], types: [], blobs: [blobOf('a')] });
    const second = { nodes: [pinOf('b')], types: [], blobs: [blobOf('b')] };
    expect(await readTo(() => putScratch(repository, ref, second))).toBeLessThan(10);
    expect(await pinned()).toEqual(oids);
    await removeFromScratch(repository, ref, [pinOf('a').hash]);
    expect(await pinned()).toEqual([hashObject({ type: 'blob', data: blobOf('b') })]);
    await removeFromScratch(repository, ref, [pinOf('b').hash]);
    expect(await pinned()).toEqual([]);
  });

  test('is text only where a node is text alone', () => {
    const refs = encodeNode(CONTENT_TYPE, { text: 'x', refs: [textNode('a').hash] });
    const list = encodeNode(ARTIFACT_TYPE, { kind: 'blob', oid: '1'.repeat(40), title: 'x' });
    expect([textNode('a'), refs, list].map((node) => artifactPath(node).slice(-3))).toEqual(['.md', 'son', 'son']);
    expect(typePath(refs.hash)).toBe(`types/${refs.hash}.json`);
  });
});
