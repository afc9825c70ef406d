import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  formatIndex,
  type NodeReader,
  readCommitIndex,
  readCommitNodes,
  readNodeAt,
} from '../../src/cas/commit-nodes.ts';
import { prepareHashing } from '../../src/cas/hash.ts';
import { writeNodeTree } from '../../src/cas/node-tree.ts';
import { ObjectMissing } from '../../src/git/format/errors.ts';
import { parseObjectId, type ObjectId } from '../../src/git/format/object-id.ts';
import type { TreeEntry } from '../../src/git/format/objects.ts';
import { ObjectBatch } from '../../src/git/stores/publish.ts';
import { textNode } from './commit-of-nodes.ts';

beforeAll(prepareHashing);

const person = { name: 'A', email: 'a@example.com', atMs: 5000 };
let batch: ObjectBatch;
let read: ObjectId[];
let repository: NodeReader;

beforeEach(() => {
  batch = new ObjectBatch();
  read = [];
  const find = (id: ObjectId) => Promise.resolve(batch.find(id));
  repository = { objects: { read: (id) => (read.push(id), find(id)) } };
});

function addCommit(entries: readonly TreeEntry[]): ObjectId {
  const tree = batch.addTree(entries);
  return batch.addCommit({ tree, parents: [], author: person, committer: person, message: 'x\n' });
}

/** The tree of one node, `a.md`. */
const addNodes = (text: string): ObjectId => writeNodeTree(batch, [{ path: 'a.md', node: textNode(text) }]);

/** The entry of an index that lists `a.md`. */
function index(text: string, mode: TreeEntry['mode'] = '100644'): TreeEntry {
  const node = textNode(text);
  const oid = batch.addBlob(node.blob);
  return { mode, name: 'index', id: batch.addBlob(formatIndex([{ hash: node.hash, oid, path: 'a.md' }])) };
}

describe('the nodes of a commit', () => {
  test('are those of its index and of the indexes of workflow/ and children/*', async () => {
    const folder = (name: string, id: ObjectId): TreeEntry => ({ mode: '040000', name, id });
    const file: TreeEntry = { mode: '100644', name: 'file', id: batch.addBlob('no folder') };
    const id = addCommit([
      index('root'),
      folder('workflow', addNodes('workflow')),
      folder('children', batch.addTree([folder('one', addNodes('one')), file])),
      // No folder with nodes of its own, whatever it holds.
      folder('workspace', batch.addTree([folder('two', addNodes('two'))])),
    ]);
    const entries = await readCommitIndex(repository, id);
    expect(entries.map(({ path }) => path)).toEqual(['a.md', 'children/one/a.md', 'workflow/a.md']);
    expect(entries.map(({ hash }) => hash)).toEqual(['root', 'one', 'workflow'].map((text) => textNode(text).hash));
  });

  test('cannot be proven by another blob', async () => {
    const id = addCommit([index('a')]);
    const [entry] = await readCommitIndex(repository, id);
    expect(await readNodeAt(repository, entry!)).toMatchObject({ oid: entry!.oid, payload: { text: 'a' } });
    await expect(readNodeAt(repository, { hash: textNode('b').hash, oid: entry!.oid })).rejects.toThrow(
      'is something else',
    );
  });
});

describe('a commit that uwf did not write', () => {
  test.each<[what: string, entries: () => TreeEntry[]]>([
    ['no index', () => []],
    ['an empty index', () => [{ mode: '100644', name: 'index', id: batch.addBlob('') }]],
    ['another file of this name', () => [{ mode: '100644', name: 'index', id: batch.addBlob('<html>') }]],
    ['an executable of this name', () => [index('a', '100755')]],
    [
      'a file of this name that is too large for one',
      () => [{ mode: '100644', name: 'index', id: batch.addBlob(Buffer.alloc(16 * 1024 * 1024 + 1, 0x20)) }],
    ],
  ])('has %s', async (_, entries) => {
    const id = addCommit(entries());
    expect((await readCommitNodes(repository, id)).entries).toBeUndefined();
    await expect(readCommitIndex(repository, id)).rejects.toThrow(
      `the index of a tree is damaged: commit ${id} has none`,
    );
  });
});

test('an index that is not in the repository is an error, not a commit of the user', async () => {
  const gone = parseObjectId('1'.repeat(40));
  const id = addCommit([{ mode: '100644', name: 'index', id: gone }]);
  await expect(readCommitNodes(repository, id)).rejects.toThrow(ObjectMissing);
});
