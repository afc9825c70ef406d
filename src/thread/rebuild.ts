import { isNodeHash, type NodeHash } from '../cas/hash.ts';
import { keepersOf, type NodeFile, type Subtree, writeNodeTree } from '../cas/node-tree.ts';
import { type EncodedNode, encodeNode } from '../cas/node.ts';
import { UwfError } from '../errors.ts';
import type { Signature } from '../git/format/objects.ts';
import { objectFormatsDiffer } from '../git/format/object-errors.ts';
import { formatOfId, isObjectId, type ObjectId } from '../git/format/object-id.ts';
import type { ObjectStore } from '../git/object-store.ts';
import { ObjectBatch } from '../git/stores/publish.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../json.ts';
import { indexedFolder } from './thread-commit.ts';
import { faultOf } from './thread-errors.ts';
import { isThreadId, type ThreadId } from './thread-id.ts';

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
