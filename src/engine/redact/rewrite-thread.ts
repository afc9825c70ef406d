import { type IndexEntry, nodesBehind, readCommitNodes, readNodeAt } from '../../cas/commit-nodes.ts';
import { isNodeHash, type NodeHash } from '../../cas/hash.ts';
import { PINNED_FOLDER, type Subtree, type TreeFile, writeNodeTree } from '../../cas/node-tree.ts';
import { type EncodedNode, encodeNode, getNode, type Node, type StoredNode } from '../../cas/node.ts';
import { ObjectTooLarge } from '../../git/format/errors.ts';
import { isObjectId, type ObjectId } from '../../git/format/object-id.ts';
import { type Commit, kindOfMode, type TreeLine } from '../../git/format/objects.ts';
import type { Repository } from '../../git/repository.ts';
import type { ObjectBatch } from '../../git/stores/publish.ts';
import {
  type ObjectReader,
  readAnyTree,
  readBlob,
  readCommit,
  readTree,
  readTreeIfAny,
} from '../../git/stores/read.ts';
import { isJsonObject, type JsonObject, type JsonValue, mapTexts } from '../../json.ts';
import { inPlaceOf } from '../../or-else.ts';
import type { Redactor } from '../../redaction/redactor.ts';
import { builtIn, isThreadType, payloadOf, type TypeName, typeNameOf } from '../../schema/built-in.ts';
import type { ThreadStart } from '../../schema/built-in/thread-start.ts';
import type { AgentRecord } from '../../schema/built-in/workflow.ts';
import { schemaOfMeta } from '../../schema/links.ts';
import { schemaWords } from '../../schema/typed-schema.ts';
import { type Beside, messageOfCommit, nextOfMessage } from '../../thread/commit-message.ts';
import { MAX_FILE_BYTES } from '../../thread/draft-commit.ts';
import { callIdFor } from '../../thread/new-thread-id.ts';
import { findRecordedFiles } from '../../thread/step-files.ts';
import {
  eventOf,
  indexedFolder,
  kindOfFile,
  readTextAt,
  readThreadCommit,
  textPaths,
  type ThreadEvent,
} from '../../thread/thread-commit.ts';
import { CorruptThread } from '../../thread/thread-errors.ts';
import { parseThreadId, type ThreadId } from '../../thread/thread-id.ts';
import { Redaction } from './redaction.ts';

/** Types whose nodes say how much was taken out of what belongs to them. */
const ofTurns = ['thread-start', 'thread-step', 'thread-suspend', 'thread-resume', 'attempt'] as const;
const counting: ReadonlySet<TypeName | undefined> = new Set(ofTurns);

type Scene = {
  id: ObjectId;
  commit: Commit;
  nodes: ReadonlyMap<NodeHash, StoredNode>;
  done: Map<NodeHash, EncodedNode | undefined>;
  redaction: Redaction;
  workspace: CleanFiles | undefined;
};

/**
 * Writes commits of threads anew without secrets: texts, fields, files, messages, and all that links to what has changed.
 *
 * A commit has to be given after all that it stands on. Times, numbers and who did it stay. The same repository and the same
 * key give the same commits, so that one that was cut off can be done again.
 */
export class Rewriter {
  /** Commits that were written anew, and what they became. */
  readonly commits: Map<ObjectId, ObjectId> = new Map();
  /** The ids of the threads that take the place of others: of a child by its call, of any other as the caller says. */
  readonly ids: Map<ThreadId, ThreadId> = new Map();
  /** What a cut has left of secrets in steps of blocks. Prompts after them quote it. */
  readonly #cuts: CutText[] = [];
  readonly #nodes = new Map<NodeHash, NodeHash>();
  readonly #repository: Repository;
  readonly #redactor: Redactor;
  readonly #batch: ObjectBatch;
  readonly #files: RecordedFilesRewriter;

  constructor(repository: Repository, redactor: Redactor, batch: ObjectBatch) {
    this.#repository = repository;
    this.#redactor = redactor;
    this.#batch = batch;
    this.#files = new RecordedFilesRewriter(repository.objects, batch);
  }

  /** Writes a commit anew. A commit of the user's code, and a commit without changes, stays. */
  async rewrite(id: ObjectId): Promise<void> {
    const commit = await readCommit(this.#repository.objects, id);
    const { entries } = await readCommitNodes(this.#repository, id, commit);
    if (entries === undefined) return;
    const nodes = new Map<NodeHash, StoredNode>();
    for (const entry of entries) nodes.set(entry.hash, await readNodeAt(this.#repository, entry));
    const redaction = new Redaction(this.#redactor);
    this.#cuts.push(...(await findCutSecrets(this.#repository, this.#redactor, commit, nodes.values())));
    const workspace = await this.#files.rewrite({ commit, nodes, redaction });
    const scene: Scene = { id, commit, nodes, done: new Map(), redaction, workspace };
    const event = entries.find(({ path }) => kindOfFile(path) !== undefined);
    // The commit's own node counts what was taken out of the others.
    for (const { hash } of entries) if (hash !== event?.hash) await this.#node(scene, hash);
    if (event !== undefined) await this.#node(scene, event.hash);
    const tree = await this.#tree(scene, entries);
    const parents = commit.parents.map((parent) => this.#nowOf(parent));
    const message = event ? await this.#message(scene, event, entries) : redaction.text(commit.message);
    const written = this.#batch.addCommit({ ...commit, tree, parents, message });
    if (written !== id) this.commits.set(id, written);
  }

  #nowOf(id: ObjectId): ObjectId {
    return this.commits.get(id) ?? this.#files.snapshots.get(id) ?? id;
  }

  /** Snapshots that were written anew, and what they became. */
  get snapshots(): ReadonlyMap<ObjectId, ObjectId> {
    return this.#files.snapshots;
  }

  /** The hash by which a node goes now. */
  hashOf(hash: NodeHash): NodeHash {
    return this.#nodes.get(hash) ?? hash;
  }

  /** Writes a node anew, and before it those of the tree that it links to. @returns `undefined` if nothing changes */
  async #node(scene: Scene, hash: NodeHash, redaction: Redaction = scene.redaction): Promise<EncodedNode | undefined> {
    const node = scene.nodes.get(hash);
    if (node === undefined || scene.done.has(hash)) return scene.done.get(hash);
    const type = typeNameOf(node.type);
    const own = type === 'attempt' ? redaction.part() : redaction;
    for (const link of hashesIn(node)) if (link !== hash) await this.#node(scene, link, own);
    const whole = mapTexts(node.payload, (text) => withWholeSecrets(text, this.#cuts));
    const keep = await this.#wordsFor(scene, node);
    const clean = isJsonObject(whole) ? own.value(whole, keep) : whole;
    const payload = await this.#linked(scene, node, clean);
    const { taken } = own;
    const counted = counting.has(type) && taken !== undefined && isJsonObject(payload);
    const value = counted ? { ...payload, redacted: added(payload, taken) } : payload;
    const written = encodeNode(type === undefined ? this.hashOf(node.type) : node.type, value);
    const changed = written.hash === hash ? undefined : written;
    scene.done.set(hash, changed);
    if (changed) this.#nodes.set(hash, changed.hash);
    return changed;
  }

  /** What the schemas that a node follows, or that it is, name themselves. */
  async #wordsFor({ id }: Scene, { type, payload }: StoredNode): Promise<ReadonlySet<string> | undefined> {
    const name = typeNameOf(type);
    if (name === 'meta-schema' || name === 'role-schema') return schemaWords(payload);
    if (name !== 'thread-step') return undefined;
    const schema = await schemaOfMeta(nodesBehind(this.#repository, [id]), payload);
    return schema === undefined ? undefined : schemaWords(schema);
  }

  /** The same payload with links to what nodes, commits, trees and threads have become. */
  async #linked(scene: Scene, node: StoredNode, payload: JsonValue): Promise<JsonValue> {
    const hashed = mapTexts(payload, (text) => (isNodeHash(text) ? this.hashOf(text) : text));
    const type = typeNameOf(node.type);
    if (!isJsonObject(hashed)) return hashed;
    const linked = isThreadType(node.type) ? this.#withCommits(hashed) : hashed;
    if (type === 'thread-step' && scene.workspace && isJsonObject(linked['workspace'])) {
      return { ...linked, workspace: { ...linked['workspace'], ...scene.workspace } };
    }
    if (type === 'thread-start') return this.#called(scene, linked, payloadOf(node, 'thread-start'));
    return linked;
  }

  /** A node of a commit whose base, merge or totals name what commits have become. */
  #withCommits(payload: JsonObject): JsonObject {
    const now = { ...payload };
    for (const field of ['base', 'merge', 'totals']) {
      const value = payload[field];
      if (value === undefined) continue;
      now[field] = mapTexts(value, (text) => (isObjectId(text) ? this.#nowOf(text) : text));
    }
    return now;
  }

  /** A start whose id follows from its call, which follows from a commit of the caller. */
  async #called({ commit }: Scene, payload: JsonObject, { id, call, parentRole }: ThreadStart): Promise<JsonObject> {
    const [caller] = commit.parents;
    const now = payload['call'];
    if (call === undefined || parentRole === null || caller === undefined || !isJsonObject(now)) return payload;
    const key = typeof now['key'] === 'string' ? now['key'] : call.key;
    let at = await readThreadCommit(this.#repository, caller);
    for (let next = at.commit.parents[0]; at.kind !== 'step' && at.kind !== 'start' && next !== undefined;) {
      at = await readThreadCommit(this.#repository, next);
      next = at.commit.parents[0];
    }
    const thread = this.ids.get(parseThreadId(call.thread)) ?? parseThreadId(call.thread);
    const state = { commit: this.commits.get(at.id) ?? at.id, committedAtMs: at.commit.committer.atMs };
    const place = { thread, state, role: parentRole, key, ordinal: call.ordinal ?? 0, block: call.block };
    const newId = callIdFor(place);
    if (newId !== id) this.ids.set(parseThreadId(id), newId);
    return { ...payload, id: newId, call: { ...now, thread } };
  }

  async #tree(scene: Scene, entries: readonly IndexEntry[]): Promise<ObjectId> {
    const parts = new Map<string, TreeFile[]>([['', []]]);
    const changed = new Set<string>(['']);
    for (const entry of entries) {
      const folder = indexedFolder(entry.path);
      const path = entry.path.slice(folder.length);
      const node = scene.done.get(entry.hash);
      if (node) changed.add(folder);
      const renamed = path.replaceAll(/[0-9A-HJKMNP-TV-Z]{13}/g, (name) =>
        isNodeHash(name) ? this.hashOf(name) : name,
      );
      const files = parts.get(folder) ?? [];
      parts.set(folder, files);
      files.push(node ? { path: renamed, node } : { ...entry, path: renamed });
    }
    const files = parts.get('') ?? [];
    const subtrees: Subtree[] = [];
    for (const [folder, part] of parts) {
      if (folder !== '' && changed.has(folder)) {
        subtrees.push({ path: folder.slice(0, -1), mode: '040000', id: writeNodeTree(this.#batch, part) });
      }
    }
    return writeNodeTree(this.#batch, files, [...subtrees, ...(await this.#untouched(scene, parts, changed))]);
  }

  /** What of a tree holds nodes that stay, or none at all: definitions, what is pinned. */
  async #untouched(
    { commit }: Scene,
    parts: ReadonlyMap<string, unknown>,
    changed: ReadonlySet<string>,
  ): Promise<Subtree[]> {
    const { objects } = this.#repository;
    const found: Subtree[] = [];
    for (const { name, mode, id } of await readTree(objects, commit.tree)) {
      if (mode !== '040000') continue;
      if (name === 'children') {
        for (const child of await readTree(objects, id)) {
          const path = `${name}/${child.name}`;
          if (child.mode === '040000' && !changed.has(`${path}/`)) found.push({ path, mode: '040000', id: child.id });
        }
      } else if (parts.has(`${name}/`) && !changed.has(`${name}/`)) found.push({ path: name, mode, id });
      else if (name === PINNED_FOLDER) {
        for (const pin of await readTree(objects, id)) {
          const kind = pin.mode === '040000' ? '040000' : '100644';
          found.push({ path: `${name}/${pin.name}`, mode: kind, id: pin.id });
        }
      }
    }
    return found;
  }

  async #message(scene: Scene, { path, hash }: IndexEntry, entries: readonly IndexEntry[]): Promise<string> {
    const kind = kindOfFile(path);
    const [before, now] = [scene.nodes.get(hash), nodeNow(scene, hash)];
    if (kind === undefined || before === undefined || now === undefined)
      throw new CorruptThread(scene.id, `no ${path}`);
    const at = (place: string): Node | undefined => {
      const entry = entries.find((each) => each.path === place);
      return entry && nodeNow(scene, entry.hash);
    };
    const [content, workflow] = [at(textPaths[kind]), at('workflow/workflow.json')];
    const event = { hash: now.hash, ...eventOf(scene.id, kind, now) };
    return messageOfCommit(event, {
      text: content === undefined ? '' : payloadOf(content, 'content').text,
      workflow: kind === 'start' && workflow ? payloadOf(workflow, 'workflow').name : undefined,
      next: kind === 'step' ? nextOfMessage(scene.commit.message) : undefined,
      ...(await besideOfRewritten(this.#repository, this.#redactor, scene.id, eventOf(scene.id, kind, before))),
    });
  }
}

function nodeNow({ done, nodes }: Scene, hash: NodeHash): EncodedNode | StoredNode | undefined {
  return done.get(hash) ?? nodes.get(hash);
}

function hashesIn({ type, payload }: StoredNode): NodeHash[] {
  const found: NodeHash[] = [type];
  mapTexts(payload, (text) => {
    if (isNodeHash(text)) found.push(text);
    return text;
  });
  return found;
}

/** What a node records, with what was taken out of it before. */
function added({ redacted }: JsonObject, { count, table }: { count: number; table: string }): JsonObject {
  const before = isJsonObject(redacted) && typeof redacted['count'] === 'number' ? redacted['count'] : 0;
  return { count: count + before, table };
}

/**
 * Reads what the message of a commit tells of other commits' nodes, as these are when they are written anew.
 * @param event the node of the commit as it was
 */
async function besideOfRewritten(
  repository: Repository,
  redactor: Redactor,
  id: ObjectId,
  { kind, node }: ThreadEvent,
): Promise<Pick<Beside, 'agent' | 'last'>> {
  const behind = nodesBehind(repository, [id]);
  const redaction = new Redaction(redactor);
  const agentOf = async (hash: NodeHash): Promise<AgentRecord> =>
    redaction.value(payloadOf(await getNode(behind, hash), 'agent'));
  if (kind === 'step' || kind === 'suspend') return { agent: await agentOf(node.agent) };
  if (kind !== 'end' || node.lastStep === null) return {};
  const { content, agent, meta } = payloadOf(await getNode(behind, node.lastStep), 'thread-step');
  const [reply, summary] = [await getNode(behind, content), await getNode(behind, node.summary)];
  if (payloadOf(reply, 'content').text !== payloadOf(summary, 'content').text) return {};
  return { last: { agent: await agentOf(agent), meta: redaction.value(meta) } };
}

/** A text that ends within a secret, and the same text to the end of that secret. */
type CutText = { cut: string; whole: string };

/**
 * Finds the summaries of branches that the step of a block has cut within a secret. No rule knows what is left of the secret,
 * and the end of the branch has it whole.
 */
async function findCutSecrets(
  repository: Repository,
  redactor: Redactor,
  { parents }: Pick<Commit, 'parents'>,
  nodes: Iterable<StoredNode>,
): Promise<CutText[]> {
  const cuts: CutText[] = [];
  for (const node of nodes) {
    if (node.type !== builtIn['thread-step']) continue;
    const { order, branches } = payloadOf(node, 'thread-step').meta;
    if (!Array.isArray(order) || !isJsonObject(branches)) continue;
    for (const [at, key] of order.entries()) {
      const branch = typeof key === 'string' ? branches[key] : undefined;
      const told = isJsonObject(branch) && isJsonObject(branch['end']) ? branch['end']['summary'] : undefined;
      const parent = parents[at + 1];
      if (typeof told !== 'string' || parent === undefined) continue;
      const end = await readThreadCommit(repository, parent);
      if (end.kind !== 'end') continue;
      const summary = await readTextAt(repository, end, 'summary.md');
      const hit = redactor
        .redactText(summary)
        .hits.find(({ start, end: to }) => start < told.length && told.length < to);
      if (hit && summary.startsWith(told)) cuts.push({ cut: told, whole: summary.slice(0, hit.end) });
    }
  }
  return cuts;
}

/** A text in which the secrets that were cut are whole, so that they are found. */
function withWholeSecrets(text: string, cuts: readonly CutText[]): string {
  let result = text;
  // The text of the step has the summaries without spaces around them. Where a text is whole already, it stays.
  for (const { cut, whole } of cuts) {
    const more = whole.trim();
    result = result
      .split(more)
      .map((part) => part.replaceAll(cut.trim(), () => more))
      .join(more);
  }
  return result;
}

type CleanFiles = { tree: ObjectId; commit: ObjectId };

/** Writes the files that steps recorded anew without secrets. */
class RecordedFilesRewriter {
  /** Snapshots that were written anew, and what they became. */
  readonly snapshots: Map<ObjectId, ObjectId> = new Map();
  readonly #objects: Repository['objects'];
  readonly #batch: ObjectBatch;
  readonly #files: FileRedaction;

  constructor(objects: Repository['objects'], batch: ObjectBatch) {
    this.#objects = objects;
    this.#batch = batch;
    this.#files = new FileRedaction(objects, batch);
  }

  /**
   * Writes the files of a step anew. What the user's code has, too, stays.
   * @returns `undefined` if the step recorded none, or none of them changes
   */
  async rewrite(step: {
    commit: Commit;
    nodes: ReadonlyMap<NodeHash, StoredNode>;
    redaction: Redaction;
  }): Promise<CleanFiles | undefined> {
    const { commit, redaction } = step;
    const node = [...step.nodes.values()].find(({ type }) => typeNameOf(type) === 'thread-step');
    const { workspace } = node === undefined ? {} : payloadOf(node, 'thread-step');
    const recorded = workspace && (await findRecordedFiles(this.#objects, { commit, node: { workspace } }));
    if (workspace === undefined || recorded === undefined || !recorded.isSnapshot) return undefined;
    const { tree: before, checkedOut } = recorded;
    const tree = await this.#files.tree(before, await this.#codeBehind(checkedOut), redaction);
    const snapshot = await readCommit(this.#objects, workspace.commit);
    const message = redaction.text(snapshot.message);
    const parents = snapshot.parents.map((parent) => this.snapshots.get(parent) ?? parent);
    const after = this.#batch.addCommit({ ...snapshot, tree, parents, message });
    if (after === workspace.commit) return undefined;
    this.snapshots.set(workspace.commit, after);
    return { tree, commit: after };
  }

  /**
   * The tree of the user's code behind a snapshot. The work tree of a branch begins at a snapshot of its caller; if that was
   * written anew, it is no code, and what it stands on counts.
   */
  async #codeBehind(checkedOut: ObjectId | undefined): Promise<ObjectId[]> {
    let at = checkedOut;
    while (at !== undefined && this.snapshots.has(at)) [at] = (await readCommit(this.#objects, at)).parents;
    return at === undefined ? [] : [(await readCommit(this.#objects, at)).tree];
  }
}

/** Takes secrets out of the files, and the names of files, that steps recorded. What lies twice is written once. */
class FileRedaction {
  readonly #objects: ObjectReader;
  readonly #batch: ObjectBatch;

  constructor(objects: ObjectReader, batch: ObjectBatch) {
    this.#objects = objects;
    this.#batch = batch;
  }

  /**
   * Rewrites the parts of a tree of the user's files that differ from other trees.
   * @param others trees of code that the files came from: what is the same there stays
   * @param path of the tree, with a slash at its end
   * @returns the tree without secrets; the same where there are none
   */
  async tree(id: ObjectId, others: readonly ObjectId[], redaction: Redaction, path: string = ''): Promise<ObjectId> {
    if (others.includes(id)) return id;
    // What lies elsewhere under the same name need not be a folder, nor be here.
    const elsewhere = await Promise.all(others.map((other) => readTreeIfAny(this.#objects, other)));
    const lines = await readAnyTree(this.#objects, id);
    const written: TreeLine[] = [];
    for (const line of lines) {
      const same = elsewhere.flatMap((of) => of.filter(({ name }) => name === line.name).map((found) => found.id));
      written.push(same.includes(line.id) ? line : await this.#entry(line, same, redaction, path));
    }
    const isSame = written.every((line, at) => line.id === lines[at]?.id && line.name === lines[at].name);
    return isSame ? id : this.#batch.add({ type: 'tree', data: encodeLines(written) });
  }

  async #entry(line: TreeLine, others: readonly ObjectId[], redaction: Redaction, path: string): Promise<TreeLine> {
    const name = inBytes(line.name, (text) => redaction.text(text));
    const own = `${path}${line.name}`;
    switch (kindOfMode(line.mode)) {
      case 'submodule':
        return line;
      case 'folder':
        return { ...line, name, id: await this.tree(line.id, others, redaction, `${own}/`) };
      default:
        return { ...line, name, id: await this.#file(line.id, redaction, own) };
    }
  }

  async #file(id: ObjectId, redaction: Redaction, path: string): Promise<ObjectId> {
    const reading = readBlob(this.#objects, id, { maxBytes: MAX_FILE_BYTES });
    const data = await reading.catch(inPlaceOf(ObjectTooLarge, undefined));
    // A file that is too large stays. The scan after the rewriting names it.
    if (data === undefined) return id;
    const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('latin1');
    const clean = inBytes(bytes, (text) => redaction.text(text, path));
    return clean === bytes ? id : this.#batch.addBlob(Buffer.from(clean, 'latin1'));
  }
}

/** Changes bytes as the text that they are; @param bytes in Latin-1: each byte is a character */
function inBytes(bytes: string, change: (text: string) => string): string {
  const buffer = Buffer.from(bytes, 'latin1');
  const encoding = buffer[0] === 0xff && buffer[1] === 0xfe ? 'utf16le' : 'utf8';
  const text = buffer.toString(encoding);
  if (Buffer.from(text, encoding).equals(buffer)) {
    const clean = change(text);
    return clean === text ? bytes : Buffer.from(clean, encoding).toString('latin1');
  }
  // Neither: a mark has characters that are none of its bytes.
  return change(bytes).replaceAll(/[‹›]/g, (quote) => Buffer.from(quote).toString('latin1'));
}

/** Writes a tree of names of any bytes, in git's order. Source: git's `base_name_compare` (read-cache.c). */
function encodeLines(lines: readonly TreeLine[]): Uint8Array {
  const key = ({ name, mode }: TreeLine): Buffer =>
    Buffer.from(kindOfMode(mode) === 'folder' ? `${name}/` : name, 'latin1');
  const sorted = lines.toSorted((a, b) => Buffer.compare(key(a), key(b)));
  const parts = sorted.flatMap(({ mode, name, id }) => [
    Buffer.from(`${mode} ${name}\0`, 'latin1'),
    Buffer.from(id, 'hex'),
  ]);
  return Buffer.concat(parts);
}
