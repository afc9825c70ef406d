import { describe, expect, test } from 'vitest';
import { type NodeHash, prepareHashing } from '../../src/cas/hash.ts';
import { encodeNode, MemorySource, type StoredNode } from '../../src/cas/node.ts';
import type { ObjectId } from '../../src/git/format/object-id.ts';
import type { TreeEntry } from '../../src/git/format/objects.ts';
import type { JsonObject } from '../../src/json.ts';
import { builtIn } from '../../src/schema/built-in.ts';
import type { ThreadCommit } from '../../src/thread/thread-commit.ts';
import { checkFiles } from '../../src/verify/check-form.ts';
import { createMapRepository } from '../helpers/map-repository.ts';
import { store } from './forge-commit.ts';
import { collectFaults, commitOf, idOf } from './commit/plain-commits.ts';

await prepareHashing();

function stored(type: NodeHash, payload: JsonObject): StoredNode {
  return { type, payload, hash: encodeNode(type, payload).hash, oid: idOf(80) };
}

const text = (words: string, ...refs: NodeHash[]): StoredNode =>
  stored(builtIn.content, { text: words, ...(refs.length > 0 && { refs }) });

const output = text('what it said');
const prompt = text('what it was told');
const agent = stored(builtIn.agent, { name: 'a', package: 'a', version: '', config: {} });
/** The checks of files look at the commit, not at this. */
const event = stored(builtIn['thread-step'], {});

/** What the tree of a commit has, and what its nodes lead to. */
type Tree = {
  files: Record<string, StoredNode>;
  /** Files whose nodes could not be read. */
  unread?: Record<string, NodeHash>;
  pinned?: TreeEntry[];
  linked?: NodeHash[];
  /** Nodes that are known, beside those of the tree. */
  known?: StoredNode[];
  repository?: ReturnType<typeof createMapRepository>;
};

async function faultsOf(commit: ThreadCommit, tree: Tree): Promise<string[]> {
  const { files, unread = {}, pinned = [], linked = [], known = [] } = tree;
  const { faults, report } = collectFaults();
  const nodes = new Map(Object.entries(files));
  const hashes = [...Object.entries(files).map(([path, { hash }]) => [path, hash] as const), ...Object.entries(unread)];
  const index = hashes.map(([path, hash]) => ({
    path,
    hash: path === `${commit.kind}.json` ? commit.hash : hash,
    oid: idOf(80),
  }));
  const source = new MemorySource([...known, ...nodes.values()].map(({ type, payload }) => encodeNode(type, payload)));
  await checkFiles(
    tree.repository ?? createMapRepository(),
    commit,
    { node: { agents: { writer: agent.hash } } },
    { index, pinned },
    nodes,
    source,
    new Set(linked),
    report,
  );
  return faults;
}

const fields = { content: output.hash, prompt: prompt.hash, agent: agent.hash };
const step = commitOf('step', 4, fields);
const plain = { 'step.json': event, 'output.md': output, 'prompt.md': prompt };

describe('the work tree of a step', () => {
  const recorded = (workspace: { tree: ObjectId; commit: ObjectId }): ThreadCommit =>
    commitOf('step', 4, { ...fields, workspace });
  const says = (is: string, wanted: string): string => `workspace: it is ${is}, the commit's node says ${wanted}`;

  test('is that of the commit that was checked out where it could not be recorded', async () => {
    const repository = createMapRepository();
    const who = 'B <b@b> 1795262400 +0000';
    const code = store(repository, 'commit', `tree ${idOf(6)}\nauthor ${who}\ncommitter ${who}\n\nx\n`);
    const tree = { files: plain, repository };
    expect(await faultsOf(recorded({ tree: idOf(6), commit: code }), tree)).toEqual([]);
    expect(await faultsOf(recorded({ tree: idOf(7), commit: code }), tree)).toEqual([says(idOf(6), idOf(7))]);
    expect(await faultsOf(recorded({ tree: idOf(6), commit: idOf(9) }), tree)).toEqual([
      `workspace: object ${idOf(9)} is not in the repository`,
    ]);
  });

  test('is a snapshot if a commit with the author line of the step is its last parent', async () => {
    const repository = createMapRepository();
    const [who, another] = ['A <a@b> 1795262400 +0000', 'A <a@b> 1795262400 +0100'];
    const faultsWith = async (
      { tree = idOf(6), author = who, committer = who, parents = [idOf(7)] },
      isLast = true,
    ): Promise<string[]> => {
      const lines = parents.map((parent) => `parent ${parent}\n`).join('');
      const commit = store(
        repository,
        'commit',
        `tree ${tree}\n${lines}author ${author}\ncommitter ${committer}\n\nx\n`,
      );
      const workspace = { tree: idOf(6), commit };
      const made = commitOf('step', 4, { ...fields, workspace }, [idOf(3), commit, ...(isLast ? [] : [idOf(5)])]);
      return faultsOf(made, { files: plain, repository });
    };
    expect(await faultsWith({})).toEqual([]);
    expect(await faultsWith({ parents: [] })).toEqual([]);
    expect(await faultsWith({ tree: idOf(8) })).toEqual([says(idOf(8), idOf(6))]);
    expect(await faultsWith({ committer: another })).toEqual(['workspace: its committer is not that of the step']);
    // A commit that was being merged is one, too.
    expect(await faultsWith({ parents: [idOf(7), idOf(8)] })).toEqual([]);
    expect(await faultsWith({}, false)).toEqual(['workspace: it is not the last parent of the step']);
    // With another zone it is the commit that was checked out, which may have any committer and parents.
    expect(await faultsWith({ author: another, committer: another, parents: [idOf(7), idOf(8)] })).toEqual([]);
  });

  test('leads to a verdict whatever the time of the step is', async () => {
    const repository = createMapRepository();
    const who = 'A <a@b> -1 +0000';
    const commit = store(repository, 'commit', `tree ${idOf(6)}\nauthor ${who}\ncommitter ${who}\n\nx\n`);
    const made = commitOf('step', 4, { ...fields, workspace: { tree: idOf(6), commit } });
    const signature = { ...made.commit.author, atMs: -1000 };
    const odd = { ...made, commit: { ...made.commit, author: signature, committer: signature } };
    expect(await faultsOf(odd, { files: plain, repository })).toEqual([]);
  });
});

describe('the objects that artifacts pin', () => {
  const pinning = stored(builtIn.artifact, { kind: 'blob', oid: idOf(6), title: 'x' });
  const files = { ...plain, [`artifacts/${pinning.hash}.json`]: pinning };
  const pinned = (more: Partial<TreeEntry> = {}): TreeEntry => ({
    name: idOf(6),
    mode: '100644',
    id: idOf(6),
    ...more,
  });
  const pinsOf = (...entries: TreeEntry[]): Promise<string[]> =>
    faultsOf(step, { files, linked: [pinning.hash], pinned: entries });

  test('are in its tree, and no others', async () => {
    expect(await pinsOf(pinned())).toEqual([]);
    expect(await pinsOf()).toEqual([`pinned/${idOf(6)}: an artifact pins it, and it is not there`]);
    expect(await pinsOf(pinned(), pinned({ name: idOf(7), id: idOf(7) }))).toEqual([
      `pinned/${idOf(7)}: no artifact pins it`,
    ]);
  });

  test.each<Partial<TreeEntry>>([{ id: idOf(7) }, { mode: '100755' }])(
    'are what the artifact says: not %j',
    async (more) => {
      const is = pinned(more);
      expect(await pinsOf(is)).toEqual([`pinned/${idOf(6)}: it is ${is.id}, and the artifact says ${idOf(6)}`]);
    },
  );
});
