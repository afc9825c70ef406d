import type { NodeHash } from '../../src/cas/hash.ts';
import { INDEX_NAME, parseIndex } from '../../src/cas/commit-nodes.ts';
import { encodeNode } from '../../src/cas/node.ts';
import { encodeCommit, parseCommit, parseTree } from '../../src/git/format/objects.ts';
import { hashObject, type GitObject, type ObjectId } from '../../src/git/format/object-id.ts';
import type { JsonObject } from '../../src/json.ts';
import type { MapRepository } from '../helpers/map-repository.ts';

/** A commit of a thread, taken apart. What is changed about it holds; hashes that follow from a change are worked out anew. */
export type Draft = {
  /** Files and folders of the tree by path, but for the indexes that lie above what was changed. */
  files: Map<string, { mode: string; id: ObjectId }>;
  /** The payload of the node that makes it a commit of a thread. */
  node: JsonObject;
  /** What the index says beside the nodes that there are: hashes by path. */
  listed: Map<string, NodeHash>;
  parents: ObjectId[];
  message: string;
};

/** Stores an object as it is, however wrong. */
export function store(repository: MapRepository, type: GitObject['type'], data: string | Uint8Array): ObjectId {
  const object: GitObject = { type, data: Buffer.from(data) };
  const id = hashObject(object);
  repository.objectMap.set(id, object);
  return id;
}

/** A tree of these lines, in this order, whatever git thinks of it. */
export function storeTree(
  repository: MapRepository,
  lines: readonly [mode: string, name: string, id: ObjectId][],
): ObjectId {
  const parts = lines.map(([mode, name, id]) =>
    Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(id, 'hex')]),
  );
  return store(repository, 'tree', Buffer.concat(parts));
}

/** Makes another commit out of one of a thread, as somebody would who means harm. */
export function forge(repository: MapRepository, from: ObjectId, change: (draft: Draft) => void): ObjectId {
  const commit = parseCommit(dataOf(repository, from));
  const files: Draft['files'] = new Map();
  flatten(repository, commit.tree, '', files);
  const index = parseIndex(textOf(repository, files.get(INDEX_NAME)?.id));
  const kind = index.find(({ path }) => /^(?:start|step|suspend|resume|end)\.json$/.test(path));
  if (kind === undefined) throw new Error('it is no commit of a thread');
  const stored = JSON.parse(textOf(repository, kind.oid)) as { type: NodeHash; payload: JsonObject };
  const before = JSON.stringify(stored.payload);
  const draft: Draft = {
    files,
    node: stored.payload,
    listed: new Map(index.map(({ path, hash }) => [path, hash])),
    parents: commit.parents,
    message: commit.message,
  };
  change(draft);
  if (JSON.stringify(draft.node) !== before) {
    const node = encodeNode(stored.type, draft.node);
    files.set(kind.path, { mode: '100644', id: store(repository, 'blob', node.blob) });
    draft.listed.set(kind.path, node.hash);
    draft.message = draft.message.replace(kind.hash, node.hash);
  }
  const lines = [...draft.listed].map(([path, hash]) => `${hash} ${files.get(path)?.id ?? kind.oid} ${path}\n`);
  files.set(INDEX_NAME, { mode: '100644', id: store(repository, 'blob', lines.toSorted().join('')) });
  const { parents, message } = draft;
  return store(repository, 'commit', encodeCommit({ ...commit, tree: build(repository, files, ''), parents, message }));
}

/** Puts a node among the files of a draft. */
export function addNode(
  repository: MapRepository,
  draft: Draft,
  path: string,
  type: NodeHash,
  payload: JsonObject,
): NodeHash {
  const node = encodeNode(type, payload);
  draft.files.set(path, { mode: '100644', id: store(repository, 'blob', node.blob) });
  draft.listed.set(path, node.hash);
  return node.hash;
}

function dataOf(repository: MapRepository, id: ObjectId | undefined): Uint8Array {
  const object = id && repository.objectMap.get(id);
  if (!object) throw new Error(`there is no object ${id}`);
  return object.data;
}

function textOf(repository: MapRepository, id: ObjectId | undefined): string {
  return Buffer.from(dataOf(repository, id)).toString('utf8');
}

function flatten(repository: MapRepository, tree: ObjectId, folder: string, files: Draft['files']): void {
  for (const { name, mode, id } of parseTree(dataOf(repository, tree))) {
    if (mode === '040000') flatten(repository, id, `${folder}${name}/`, files);
    else files.set(folder + name, { mode, id });
  }
}

function build(repository: MapRepository, files: Draft['files'], folder: string): ObjectId {
  const entries = new Map<string, { mode: string; id: ObjectId }>();
  for (const [path, file] of files) {
    if (!path.startsWith(folder)) continue;
    const [name = '', ...rest] = path.slice(folder.length).split('/');
    if (rest.length === 0) entries.set(name, file);
    else if (!entries.has(name))
      entries.set(name, { mode: '40000', id: build(repository, files, `${folder}${name}/`) });
  }
  const key = ([name, { mode }]: [string, { mode: string }]): Buffer =>
    Buffer.from(mode === '40000' ? `${name}/` : name);
  const sorted = [...entries].toSorted((a, b) => Buffer.compare(key(a), key(b)));
  return storeTree(
    repository,
    sorted.map(([name, { mode, id }]) => [mode, name, id]),
  );
}
