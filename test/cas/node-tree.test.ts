import { beforeAll, describe, expect, test } from 'vitest';
import { prepareHashing } from '../../src/cas/hash.ts';
import { InvalidIndex, readCommitIndex, readCommitNodes, readNodeAt } from '../../src/cas/commit-nodes.ts';
import { HashMismatch } from '../../src/cas/node.ts';
import { writeNodeTree } from '../../src/cas/node-tree.ts';
import { UwfError } from '../../src/errors.ts';
import { ObjectBatch } from '../../src/git/stores/publish.ts';
import { createTemporaryRepository, expectCleanFsck } from '../helpers/temporary-repository.ts';
import { createMemoryRepository, expectCleanMemory } from '../helpers/memory-repository.ts';
import { commitFiles, commitNodes, textNode } from './commit-of-nodes.ts';

beforeAll(prepareHashing);

describe('a tree of nodes', () => {
  test('is what git shows: files in folders, and an index of them', async () => {
    const temporary = createTemporaryRepository();
    const repository = await temporary.open();
    const [a, b] = [textNode('a'), textNode('b')];
    const id = await commitNodes(repository, {
      files: [
        { path: 'output.md', node: a },
        { path: 'trace/001/input.md', node: b },
        { path: 'trace/001/output.md', node: a },
      ],
    });
    expect(temporary.git('ls-tree', '-r', '--name-only', id).split('\n')).toEqual([
      'index',
      'output.md',
      'trace/001/input.md',
      'trace/001/output.md',
    ]);
    expect(temporary.git('show', `${id}:output.md`)).toBe('a');
    const lines = temporary.git('show', `${id}:index`).split('\n');
    expect(lines).toEqual([...lines].toSorted());
    for (const line of lines) {
      const [, oid, path] = line.split(' ');
      expect(temporary.git('rev-parse', `${id}:${path}`)).toBe(oid);
    }
    expect(lines).toHaveLength(3);
    expectCleanFsck(temporary.dir);
    await repository.close();
  });

  test.each([
    ['two files at one path', ['x.md', 'x.md']],
    ['a file where another needs a folder', ['x', 'x/y.md']],
    ['a file at the place of the index', ['index']],
  ])('cannot have %s', (_, paths) => {
    const files = paths.map((path, at) => ({ path, node: textNode(`${at}`) }));
    expect(() => writeNodeTree(new ObjectBatch(), files)).toThrow(UwfError);
    expect(() => writeNodeTree(new ObjectBatch(), files.toReversed())).toThrow(UwfError);
  });

  test('names the path that is taken', () => {
    const files = ['x', 'x/y.md'].map((path) => ({ path, node: textNode(path) }));
    expect(() => writeNodeTree(new ObjectBatch(), files)).toThrow(expect.objectContaining({ code: 'path-taken' }));
  });
});

describe('the index of a commit', () => {
  test('covers the indexes of workflow and children, with paths from the root', async () => {
    const memory = await createMemoryRepository();
    const [own, role, inner] = [textNode('own'), textNode('role'), textNode('inner')];
    const id = await commitNodes(memory.repository, {
      files: [{ path: 'prompt.md', node: own }],
      subtrees: (batch) => [
        { path: 'workflow', mode: '040000', id: writeNodeTree(batch, [{ path: 'roles/a.json', node: role }]) },
        { path: 'children/x', mode: '040000', id: writeNodeTree(batch, [{ path: 'workflow.json', node: inner }]) },
      ],
    });
    const entries = await readCommitIndex(memory.repository, id);
    expect(new Map(entries.map(({ path, hash }) => [path, hash]))).toEqual(
      new Map([
        ['prompt.md', own.hash],
        ['workflow/roles/a.json', role.hash],
        ['children/x/workflow.json', inner.hash],
      ]),
    );
    for (const entry of entries) expect((await readNodeAt(memory.repository, entry)).hash).toBe(entry.hash);
    expectCleanMemory(memory);
  });

  test('does not look into a snapshot of the work tree', async () => {
    const { repository } = await createMemoryRepository();
    const id = await commitNodes(repository, {
      files: [{ path: 'output.md', node: textNode('x') }],
      subtrees: (batch) => [
        { path: 'workspace', mode: '040000', id: writeNodeTree(batch, [{ path: 'y.md', node: textNode('y') }]) },
      ],
    });
    expect((await readCommitIndex(repository, id)).map(({ path }) => path)).toEqual(['output.md']);
  });

  test.each<[string, Record<string, string>]>([
    ['without an index', { 'main.c': 'int main;' }],
    ["whose 'index' is something of the user's", { index: 'chapter one\n' }],
    ["whose 'index' is empty", { index: '' }],
  ])('is not there in a commit %s', async (_, files) => {
    const { repository } = await createMemoryRepository();
    const id = await commitFiles(repository, files);
    expect((await readCommitNodes(repository, id)).entries).toBeUndefined();
    await expect(readCommitIndex(repository, id)).rejects.toThrow(InvalidIndex);
  });

  test('that lies about a hash is found out when the node is read', async () => {
    const { repository } = await createMemoryRepository();
    const [a, b] = [textNode('a'), textNode('b')];
    const honest = await commitNodes(repository, { files: [{ path: 'a.md', node: a }] });
    const [entry] = await readCommitIndex(repository, honest);
    const lying = await commitNodes(repository, { files: [{ path: 'b.md', hash: b.hash, oid: entry!.oid }] });
    const [lie] = await readCommitIndex(repository, lying);
    await expect(readNodeAt(repository, lie!)).rejects.toThrow(HashMismatch);
  });
});
