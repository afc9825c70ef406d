import type { StoredNode } from '../../cas/node.ts';
import type { NodeHash } from '../../cas/hash.ts';
import { type Commit, kindOfMode, type TreeLine } from '../../git/format/objects.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { ObjectBatch } from '../../git/stores/publish.ts';
import { type ObjectReader, readAnyTree, readBlob, readCommit, readTreeIfAny } from '../../git/stores/read.ts';
import type { Repository } from '../../git/repository.ts';
import { payloadOf, typeNameOf } from '../../schema/built-in.ts';
import { findRecordedFiles } from '../../thread/step-files.ts';
import type { Redaction } from './redaction.ts';
import { ObjectTooLarge } from '../../git/format/object-errors.ts';
import { MAX_FILE_BYTES } from '../../thread/draft-commit.ts';
import { inPlaceOf } from '../../or-else.ts';

/** The recorded files of a step without secrets: a snapshot and its tree. */
export type CleanFiles = { tree: ObjectId; commit: ObjectId };

/** Writes the files that steps recorded anew without secrets. */
export class RecordedFilesRewriter {
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
export class FileRedaction {
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
