import { encodeNode, type EncodedNode } from '../../src/cas/node.ts';
import { keepersOf, type NodeFile, type Subtree, writeNodeTree } from '../../src/cas/node-tree.ts';
import { ObjectBatch } from '../../src/git/stores/publish.ts';
import type { ObjectId } from '../../src/git/format/object-id.ts';
import type { Repository } from '../../src/git/repository.ts';
import { type ExportedCommit, type ExportedNode, exportThread } from '../../src/thread/export-thread.ts';
import { isJsonObject, type JsonValue } from '../../src/json.ts';
import { callIdFor } from '../../src/thread/new-thread-id.ts';
import { isThreadId, type ThreadId } from '../../src/thread/thread-id.ts';
import { encodeCommit } from '../../src/git/format/objects.ts';
import { payloadOf } from '../../src/schema/built-in.ts';
import { type Beside, messageOfCommit, nextOfMessage } from '../../src/thread/commit-message.ts';
import {
  authorOf,
  eventIn,
  findEventFile,
  indexedFolder,
  roleOf,
  textPaths,
  timeOfCommit,
} from '../../src/thread/thread-commit.ts';
import { createMapRepository, type MapRepository } from '../helpers/map-repository.ts';

/** A thread as lines that can be changed, and made into objects again. */
export type ForgedLine = ExportedNode | ExportedCommit;

export async function takeApart(repository: Repository, id: ThreadId, head: ObjectId): Promise<ForgedLine[]> {
  const lines: ForgedLine[] = [];
  for await (const line of exportThread(repository, { id, head }, { withNodes: true })) {
    const value = JSON.parse(line);
    if (!('role' in value)) lines.push(value);
  }
  return lines;
}

/** Hashes of nodes, ids of objects, and ids of threads. */
const names = /\b(?:[0-9A-HJKMNP-TV-Z]{13}|[0-9A-HJKMNP-TV-Z]{26}|[0-9a-f]{40})\b/g;

/**
 * Puts a thread together as a forger would: every hash and id that follows from a change is worked out anew, in nodes,
 * indexes, parents and messages, so that each object is sound in itself and names the others rightly. A child thread whose id
 * was not changed gets the id that follows from its call now, and each commit the message, the author and the dates that follow
 * from its nodes.
 *
 * @param base has what the thread keeps that is no node: recorded files, and what artifacts pin
 * @param hasOldIds leaves the ids of child threads as they are given
 * @param keeps commits whose message, author and dates are left as they are given
 */
export async function putTogether(
  lines: readonly ForgedLine[],
  base: MapRepository = createMapRepository(),
  { hasOldIds = false, keeps = () => false }: { hasOldIds?: boolean; keeps?: (line: ExportedCommit) => boolean } = {},
): Promise<{ repository: MapRepository; head: ObjectId }> {
  const renamed = new Map<string, string>();
  const nodes = new Map<string, EncodedNode>();
  const batch = new ObjectBatch();
  let head: ObjectId | undefined;
  const given = new Map(lines.flatMap((line) => ('node' in line ? [[String(line.node), line]] : [])));
  const ids = new Set(lines.map((line) => ('node' in line ? memberOf(line.payload, 'id') : undefined)));
  const states = statesOf(lines);
  const datesMs = new Map<string, number>();
  const followed = <Line extends ForgedLine>(line: Line): Line =>
    JSON.parse(JSON.stringify(line).replaceAll(names, (name) => renamed.get(name) ?? name));
  const addNode = (line: ExportedNode): void => {
    given.delete(line.node);
    // What it names comes first, so that it names that by its new hash.
    for (const [name] of JSON.stringify(line).matchAll(names)) {
      const named = given.get(name);
      if (named) addNode(named);
    }
    const { type, payload } = followed(line);
    const was = memberOf(line.payload, 'id');
    const caller = memberOf(line.payload, 'parentState');
    const at = typeof caller === 'string' && !hasOldIds ? states.get(caller) : undefined;
    const id = calledId(payload, at, renamed, datesMs);
    if (id !== undefined && typeof was === 'string' && ids.has(was)) renamed.set(was, id);
    const node = encodeNode(type, id === undefined ? payload : followed(line).payload);
    nodes.set(node.hash, node);
    if (node.hash !== line.node) renamed.set(line.node, node.hash);
  };
  for (const line of lines) {
    if ('node' in line) {
      if (given.has(line.node)) addNode(line);
    } else {
      const given = followed(line);
      const commit = keeps(line) ? given : { ...given, ...retold(given, nodes) };
      datesMs.set(line.commit, commit.committer.atMs);
      head = batch.addCommit({ ...commit, tree: addTree(batch, commit, nodes, base) });
      if (head !== line.commit) renamed.set(line.commit, head);
    }
  }
  if (head === undefined) throw new Error('there is no commit');
  const repository = createMapRepository(new Map(base.objectMap));
  await repository.objects.write(batch.objects);
  return { repository, head };
}

/** The message, the author and the dates of a commit by its nodes; those that it has where these are damaged. */
function retold(line: ExportedCommit, nodes: ReadonlyMap<string, EncodedNode>): Partial<ExportedCommit> {
  const at = (path: string): EncodedNode | undefined => nodes.get(line.files[path] ?? '');
  const get = (hash: string | null): EncodedNode => {
    const node = nodes.get(hash ?? '');
    if (node === undefined) throw new Error(`there is no node ${hash}`);
    return node;
  };
  try {
    const found = findEventFile(Object.keys(line.files).map((path) => ({ path })));
    const node = found && at(found.file.path);
    if (!node) return {};
    const event = { hash: node.hash, ...eventIn(found.kind, node) };
    const content = at(textPaths[event.kind]);
    const text = content ? payloadOf(content, 'content').text : '';
    const agent = 'agent' in event.node ? payloadOf(get(event.node.agent), 'agent') : undefined;
    const next = event.kind === 'step' ? nextOfMessage(line.message) : undefined;
    const beside: Beside = { text, agent, next };
    if (event.kind === 'start') beside.workflow = payloadOf(get(event.node.workflow), 'workflow').name;
    if (event.kind === 'end' && event.node.lastStep !== null) {
      const last = payloadOf(get(event.node.lastStep), 'thread-step');
      if (payloadOf(get(last.content), 'content').text === text)
        beside.last = { agent: payloadOf(get(last.agent), 'agent'), meta: last.meta };
    }
    const atMs = Math.floor(timeOfCommit(event) / 1000) * 1000;
    const retold = {
      message: messageOfCommit(event, beside),
      author: { ...authorOf(roleOf(event), agent, line.committer, undefined), atMs },
      committer: { ...line.committer, atMs },
    };
    encodeCommit({ tree: line.commit, parents: [], ...retold });
    return retold;
  } catch {
    return {};
  }
}

/** The commits of steps and starts, by the hashes of their nodes. */
function statesOf(lines: readonly ForgedLine[]): Map<string, ExportedCommit> {
  const commits = lines.filter((line): line is ExportedCommit => 'files' in line);
  return new Map(commits.map((commit) => [String(commit.files['step.json'] ?? commit.files['start.json']), commit]));
}

function memberOf(value: JsonValue, key: string): JsonValue | undefined {
  return isJsonObject(value) ? value[key] : undefined;
}

/** The id of a child thread by its call; `undefined` if the node is no start of one, or damaged. */
function calledId(
  payload: JsonValue,
  caller: ExportedCommit | undefined,
  renamed: ReadonlyMap<string, string>,
  datesMs: ReadonlyMap<string, number>,
): ThreadId | undefined {
  const call = memberOf(payload, 'call');
  const [role, key, thread] = [
    memberOf(payload, 'parentRole'),
    memberOf(call ?? null, 'key'),
    memberOf(call ?? null, 'thread'),
  ];
  const block = memberOf(call ?? null, 'block');
  if (caller === undefined || typeof role !== 'string' || typeof key !== 'string' || typeof thread !== 'string')
    return undefined;
  if (!isThreadId(thread)) return undefined;
  if (block !== undefined && typeof block !== 'string') return undefined;
  const ordinal = Number(memberOf(call ?? null, 'ordinal') ?? 0);
  const commit = (renamed.get(caller.commit) ?? caller.commit) as ObjectId;
  const committedAtMs = datesMs.get(caller.commit) ?? caller.committer.atMs;
  return callIdFor({ thread, state: { commit, committedAtMs }, role, key, ordinal, block });
}

function addTree(
  batch: ObjectBatch,
  { files }: ExportedCommit,
  nodes: ReadonlyMap<string, EncodedNode>,
  base: MapRepository,
): ObjectId {
  const parts = new Map<string, NodeFile[]>();
  for (const [path, hash] of Object.entries(files)) {
    const folder = indexedFolder(path);
    const node = nodes.get(hash);
    if (!node) throw new Error(`there is no node ${hash} for ${path}`);
    parts.set(folder, [...(parts.get(folder) ?? []), { path: path.slice(folder.length), node }]);
  }
  const here = (parts.get('') ?? []).map(({ node }) => node);
  const subtrees: Subtree[] = keepersOf(here).entries.filter(({ id }) => base.objectMap.has(id));
  const folders = [...parts]
    .filter(([folder]) => folder !== '')
    .map(([folder, part]) => ({ path: folder.slice(0, -1), mode: '040000' as const, id: writeNodeTree(batch, part) }));
  return writeNodeTree(batch, parts.get('') ?? [], [...subtrees, ...folders]);
}
