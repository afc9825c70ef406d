import { pointer } from '../cas/canonical.ts';
import { nodesBehind, readCommitNodes, readNodeAt } from '../cas/commit-nodes.ts';
import { isNodeHash, type NodeHash } from '../cas/hash.ts';
import { keepersOf, type NodeFile, type Subtree, writeNodeTree } from '../cas/node-tree.ts';
import { type EncodedNode, encodeNode, getNode, type NodeSource } from '../cas/node.ts';
import { UwfError } from '../errors.ts';
import { objectFormatsDiffer } from '../git/format/errors.ts';
import { formatOfId, isObjectId, type ObjectId } from '../git/format/object-id.ts';
import type { Signature } from '../git/format/objects.ts';
import type { ObjectStore, Repository } from '../git/repository.ts';
import { ObjectBatch } from '../git/stores/publish.ts';
import { readCommit } from '../git/stores/read.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../json.ts';
import { payloadOf } from '../schema/built-in.ts';
import type { ThreadStart, ThreadSuspend } from '../schema/built-in/thread-start.ts';
import { CAS_KEY, findLinks } from '../schema/find-links.ts';
import { schemaOfMeta } from '../schema/links.ts';
import { readChain } from './thread-chain.ts';
import { indexedFolder, personOf, type ThreadCommit } from './thread-commit.ts';
import { faultOf } from './thread-errors.ts';
import { isThreadId, type ThreadId } from './thread-id.ts';

export type ExportedNode = { node: NodeHash; type: NodeHash; payload: JsonValue };

/** A line with a commit: the paths of its nodes, and all other content of the commit. */
export type ExportedCommit = {
  commit: ObjectId;
  parents: ObjectId[];
  author: Signature;
  committer: Signature;
  message: string;
  files: Record<string, NodeHash>;
};

/**
 * Writes a thread as JSON lines, without their line ends: its rows, and with `withNodes` all nodes and commits that an import
 * needs, also those of threads that it called, was forked from or links to. Each comes once, and after those that it refers
 * to. The last line is the thread's head.
 *
 * The same thread gives the same lines. Commits and files of the user's code are named and not written.
 * @throws {CorruptThread} if the thread cannot be read
 */
export async function* exportThread(
  repository: Repository,
  { id, head }: { id: ThreadId; head: ObjectId },
  options: { withNodes?: boolean } = {},
): AsyncGenerator<string, void, void> {
  for await (const row of threadRows(repository, id, head)) yield JSON.stringify(row);
  if (options.withNodes !== true) return;
  const written = new Set<NodeHash>();
  for await (const commit of commitsBehind(repository, head)) {
    const { entries = [] } = await readCommitNodes(repository, commit);
    for (const entry of entries) {
      if (written.has(entry.hash)) continue;
      written.add(entry.hash);
      const { type, payload } = await readNodeAt(repository, entry);
      const line: ExportedNode = { node: entry.hash, type, payload };
      yield JSON.stringify(line);
    }
    yield JSON.stringify(await commitLine(repository, commit, entries));
  }
}

async function commitLine(
  repository: Repository,
  id: ObjectId,
  entries: readonly { path: string; hash: NodeHash }[],
): Promise<ExportedCommit> {
  const { parents, author, committer, message } = await readCommit(repository.objects, id);
  const files = Object.fromEntries(entries.map(({ path, hash }) => [path, hash]));
  return { commit: id, parents, author, committer, message, files };
}

/** The commits of threads that a head reaches, each once, parents before children, the head last. */
async function* commitsBehind(repository: Repository, head: ObjectId): AsyncGenerator<ObjectId, void, void> {
  const done = new Set<ObjectId>();
  const pending = [head];
  for (let id = pending.at(-1); id !== undefined; id = pending.at(-1)) {
    const { parents, entries } = done.has(id) ? { parents: [], entries: [] } : await readCommitNodes(repository, id);
    const open = entries === undefined ? [] : parents.filter((parent) => !done.has(parent));
    if (open.length > 0) {
      pending.push(...open.toReversed());
      continue;
    }
    pending.pop();
    if (done.has(id)) continue;
    done.add(id);
    if (entries !== undefined) yield id;
  }
}

/** A reference, wherever one stands in a row. */
type CasPointer = { [CAS_KEY]: NodeHash };

/**
 * One row of an exported thread: its beginning (`__start__`), a role's turn, a turn that was suspended (`__suspend__`), a
 * person's word that it may go on (`__resume__`), or its end (`__end__`).
 */
export type ThreadRow = {
  role: string;
  /** The prompt, the reply, what was said before the suspension, the answer, or the summary; '' where nothing was said. */
  content: CasPointer | '';
  /**
   * Of `__start__`: the thread, its workflow's name and hash, depth and limits. Of `__end__`: outcome and returnCode. Of a
   * turn: what the role reported, every link in it as an inline pointer. Of `__suspend__` and `__resume__`: see
   * docs/format.md.
   */
  meta: JsonObject;
  /** In ms since 1970. */
  timestamp: number;
  /** The person who said it, as `name <email>`; absent for agents and rules. */
  by?: string;
};

/** The rows of a thread, oldest first. One that has not ended has no `__end__`. */
export async function* threadRows(
  repository: Repository,
  id: ThreadId,
  head: ObjectId,
): AsyncGenerator<ThreadRow, void, void> {
  const commits: ThreadCommit[] = [];
  for await (const commit of readChain(repository, head)) commits.push(commit);
  const source = nodesBehind(repository, [head]);
  for (const commit of commits.toReversed()) {
    const by = personOf(commit);
    yield { ...(await rowOf(commit, id, source)), ...(by !== undefined && { by }) };
  }
}

async function rowOf(commit: ThreadCommit, id: ThreadId, source: NodeSource): Promise<ThreadRow> {
  switch (commit.kind) {
    case 'start': {
      const { prompt, startedAtMs } = commit.node;
      const meta = await startMeta(commit.node, id, source);
      return { role: '__start__', content: { [CAS_KEY]: prompt }, meta, timestamp: startedAtMs };
    }
    case 'step': {
      const { role, content, meta, completedAtMs } = commit.node;
      const schema = await schemaOfMeta(source, commit.node);
      const inlined = inlineLinks(schema ?? true, meta);
      return { role, content: { [CAS_KEY]: content }, meta: inlined, timestamp: completedAtMs };
    }
    case 'end': {
      const { summary, outcome, returnCode, completedAtMs } = commit.node;
      const meta = { outcome, returnCode };
      return { role: '__end__', content: { [CAS_KEY]: summary }, meta, timestamp: completedAtMs };
    }
    case 'suspend': {
      const { content, suspendedAtMs } = commit.node;
      const meta = await suspendMeta(commit.hash, commit.node, source);
      return { role: '__suspend__', content: pointerTo(content) ?? '', meta, timestamp: suspendedAtMs };
    }
    case 'resume': {
      const { suspension, answer, resumedAtMs, more } = commit.node;
      const meta = { suspension: { [CAS_KEY]: suspension }, ...(more && { more: { ...more } }) };
      return { role: '__resume__', content: pointerTo(answer) ?? '', meta, timestamp: resumedAtMs };
    }
  }
}

async function suspendMeta(hash: NodeHash, node: ThreadSuspend, source: NodeSource): Promise<JsonObject> {
  const { role, reason, cause, due, rule, agent, agentVersion, prompt, react, usage } = node;
  const attempts: JsonObject[] = [];
  for (const attempt of node.attempts) {
    const { content, errors, usage: used, interrupted } = payloadOf(await getNode(source, attempt), 'attempt');
    const links = { attempt: { [CAS_KEY]: attempt }, content: { [CAS_KEY]: content } };
    attempts.push({ ...links, errors, usage: used, ...(interrupted && { interrupted }) });
  }
  return {
    suspension: { [CAS_KEY]: hash },
    role,
    reason,
    cause,
    ...(due !== undefined && { due }),
    rule,
    agent: { [CAS_KEY]: agent },
    ...(agentVersion !== undefined && { agentVersion }),
    prompt: { [CAS_KEY]: prompt },
    react: pointerTo(react) ?? null,
    attempts,
    usage,
  };
}

function pointerTo(hash: NodeHash | null): CasPointer | undefined {
  return hash === null ? undefined : { [CAS_KEY]: hash };
}

async function startMeta(start: ThreadStart, id: ThreadId, source: NodeSource): Promise<JsonObject> {
  const workflow = payloadOf(await getNode(source, start.workflow), 'workflow');
  const { depth, limits = null } = start;
  return { thread: id, workflow: workflow.name, hash: { [CAS_KEY]: start.workflow }, depth, limits };
}

/** A step's meta in which every link is an inline pointer, also those that its schema says are links. */
function inlineLinks(schema: JsonValue, meta: JsonObject): JsonObject {
  const links = new Map(findLinks(schema, meta).map(({ path, hash }) => [path, hash]));
  const visit = (value: JsonValue, path: (string | number)[]): JsonValue => {
    if (Array.isArray(value)) return value.map((item, place) => visit(item, [...path, place]));
    if (isJsonObject(value)) return visitMembers(value, path);
    const hash = links.get(pointer(path));
    return hash === undefined ? value : { [CAS_KEY]: hash };
  };
  const visitMembers = (object: JsonObject, path: (string | number)[]): JsonObject =>
    Object.fromEntries(Object.entries(object).map(([key, member]) => [key, visit(member, [...path, key])]));
  return visitMembers(meta, []);
}

/**
 * Rebuilds the objects of an exported thread in memory, line by line.
 *
 * The file is not trusted: each node must have the hash in its line, each commit the id. Names and parents are checked
 * later, by git's rules and by the verification of the objects before they are stored.
 */
export class Rebuild {
  readonly batch: ObjectBatch;
  thread: ThreadId | undefined;
  /** The last commit so far. */
  head: ObjectId | undefined;
  readonly #objects: ObjectStore;
  readonly #nodes = new Map<NodeHash, EncodedNode>();
  #line = 0;

  constructor(objects: ObjectStore) {
    this.#objects = objects;
    this.batch = new ObjectBatch(objects.format);
  }

  /** @throws {RefusedImport} if the line is none that an export has at this place */
  async add(text: string): Promise<void> {
    this.#line += 1;
    try {
      if (/^# v\d git bundle$/.test(text)) throw this.#refuse("it is a bundle, which 'uwf fetch <bundle>' reads");
      const line: unknown = JSON.parse(text);
      if (!isJsonObject(line)) throw this.#refuse('it is no JSON object');
      if ('commit' in line) await this.#addCommit(line);
      else if ('node' in line) this.#addNode(line);
      else if ('role' in line) this.#addRow(line);
      else throw this.#refuse('it is neither a row nor a node nor a commit');
    } catch (error) {
      if (error instanceof RefusedImport) throw error;
      const isRefused = error instanceof SyntaxError || (error instanceof UwfError && error.kind !== 'environment');
      const fault = isRefused ? error.message : faultOf(error);
      throw fault === undefined ? error : new RefusedImport(this.#line, fault, error);
    }
  }

  /** Rows are derived from nodes, and are compared with these in the end. Only the thread's id is taken from a row. */
  #addRow({ role, meta }: JsonObject): void {
    if (this.head !== undefined || this.#nodes.size > 0) throw this.#refuse('a row has to come before the nodes');
    if (role !== '__start__') return;
    const id = isJsonObject(meta) ? meta['thread'] : undefined;
    if (typeof id !== 'string' || !isThreadId(id)) throw this.#refuse('it does not say which thread it is');
    this.thread = id;
  }

  #addNode({ node, type, payload }: JsonObject): void {
    if (!isNodeHash(type) || payload === undefined) throw this.#refuse('a node needs a type and a payload');
    const encoded = encodeNode(type, payload);
    if (encoded.hash !== node) throw this.#refuse(`it says it is node ${show(node)}, and is ${encoded.hash}`);
    this.#nodes.set(encoded.hash, encoded);
  }

  async #addCommit({ commit, parents, author, committer, message, files }: JsonObject): Promise<void> {
    if (typeof message !== 'string' || !isJsonObject(files) || !Array.isArray(parents)) {
      throw this.#refuse('a commit needs parents, author, committer, message and files');
    }
    if (typeof commit === 'string' && isObjectId(commit) && formatOfId(commit) !== this.#objects.format)
      throw objectFormatsDiffer('the file', this.#objects.format);
    const tree = await this.#addTree(files);
    const id = this.batch.addCommit({
      tree,
      parents: await Promise.all(parents.map((parent) => this.#present(parent))),
      author: this.#signature(author),
      committer: this.#signature(committer),
      message,
    });
    if (id !== commit) throw this.#refuse(`it says it is commit ${show(commit)}, and is ${id}`);
    this.head = id;
  }

  async #addTree(files: JsonObject): Promise<ObjectId> {
    const parts = new Map<string, NodeFile[]>();
    for (const [path, hash] of Object.entries(files)) {
      const node = isNodeHash(hash) ? this.#nodes.get(hash) : undefined;
      if (node === undefined) throw this.#refuse(`'${path}' is node ${show(hash)}, which does not come before it`);
      const folder = indexedFolder(path);
      const file = { path: path.slice(folder.length), node };
      const part = parts.get(folder);
      if (part === undefined) parts.set(folder, [file]);
      else part.push(file);
    }
    const subtrees: Subtree[] = [];
    // The file has no objects that artifacts pin, so the repository must have them.
    for (const pin of keepersOf((parts.get('') ?? []).map(({ node }) => node)).entries) {
      await this.#present(pin.id);
      subtrees.push(pin);
    }
    for (const [folder, part] of parts) {
      if (folder === '') continue;
      subtrees.push({ path: folder.slice(0, -1), mode: '040000', id: writeNodeTree(this.batch, part) });
    }
    return writeNodeTree(this.batch, parts.get('') ?? [], subtrees);
  }

  /** Checks that an object came earlier in the file, or is in the repository. */
  async #present(id: JsonValue): Promise<ObjectId> {
    if (typeof id !== 'string' || !isObjectId(id)) throw this.#refuse(`'${show(id)}' is no object id`);
    if (this.batch.find(id) === undefined && !(await this.#objects.has(id))) {
      throw this.#refuse(`it stands on ${id}, which neither comes before it nor is in this repository`);
    }
    return id;
  }

  #signature(value: JsonValue | undefined): Signature {
    const { name, email, atMs } = isJsonObject(value) ? value : {};
    if (typeof name !== 'string' || typeof email !== 'string' || typeof atMs !== 'number') {
      throw this.#refuse('author and committer need a name, an email and a time');
    }
    return { name, email, atMs };
  }

  #refuse(reason: string): RefusedImport {
    return new RefusedImport(this.#line, reason);
  }
}

/** Shortens an untrusted value for a message. */
function show(value: JsonValue | undefined): string {
  return (typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing')).slice(0, 80);
}

/** A file is not an exported thread, or is incomplete or damaged. Nothing of it was stored. */
export class RefusedImport extends UwfError {
  constructor(line: number | undefined, reason: string, cause?: unknown) {
    super(`the file cannot be imported${line === undefined ? '' : ` (line ${line})`}: ${reason}`, {
      code: 'import-refused',
      kind: 'data',
      hint: "export it again with 'uwf thread export <thread> --with-nodes'; nothing was stored",
      cause,
      facts: { line, reason },
    });
  }
}

/** The longest line of an export. */
const MAX_LINE_BYTES: number = 64 * 1024 * 1024;

/**
 * Splits bytes into lines of UTF-8, without their line ends; the last one needs one too.
 * @throws {RefusedImport} for a line that is too long, is not UTF-8 or is cut off
 */
export async function* readLines(
  chunks: AsyncIterable<Uint8Array | string>,
  maxBytes: number = MAX_LINE_BYTES,
): AsyncGenerator<string, void, void> {
  let parts: Uint8Array[] = [];
  let length = 0;
  let line = 1;
  const add = (part: Uint8Array): void => {
    length += part.length;
    if (length > maxBytes) throw new RefusedImport(line, `it is longer than ${maxBytes} bytes`);
    parts.push(part);
  };
  for await (const chunk of chunks) {
    let rest = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10)) {
      add(rest.subarray(0, end));
      yield decode(Buffer.concat(parts), line);
      [parts, length] = [[], 0];
      line += 1;
      rest = rest.subarray(end + 1);
    }
    add(rest);
  }
  if (length > 0) throw new RefusedImport(line, 'the file ends within it');
}

function decode(bytes: Uint8Array, line: number): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw new RefusedImport(line, 'it is not UTF-8', error);
  }
}
