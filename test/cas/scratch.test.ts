import { beforeAll, describe, expect, test } from 'vitest';
import { prepareHashing } from '../../src/cas/hash.ts';
import { nodesBehind } from '../../src/cas/history-nodes.ts';
import {
  artifactPath,
  isArtifact,
  listScratch,
  putScratch,
  removeFromScratch,
  typePath,
} from '../../src/cas/scratch.ts';
import { encodeNode } from '../../src/cas/node.ts';
import { CONTENT_TYPE } from '../../src/cas/frozen-types.ts';
import { parseRefName } from '../../src/git/ref-name.ts';
import { encodeBuiltIn } from '../../src/schema/built-in.ts';
import { createMemoryRepository, expectCleanMemory } from '../helpers/memory-repository.ts';
import { createTemporaryRepository, expectCleanFsck } from '../helpers/temporary-repository.ts';
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
