import { objectIdBytes, type ObjectId, type ObjectType } from '../git/object-id.ts';
import { CorruptObject, ObjectMissing, ObjectTooLarge } from '../git/object-errors.ts';
import { parseCommit } from '../git/commit.ts';
import type { ObjectStore } from '../git/object-store.ts';
import { quotePath } from '../git/quote-path.ts';
import { readTree } from '../git/read.ts';
import { faultOfCommit } from '../git/strict/check-commit-object.ts';
import { faultOfSpecialFile, MAX_SPECIAL_BYTES } from '../git/strict/special-files.ts';
import { foreignEntry, readForeignTree, type ForeignEntry } from '../git/strict/tree-entries.ts';
import { readTreeLines } from '../git/tree-lines.ts';
import { PINNED_FOLDER } from '../cas/pins.ts';
import { attempt, type Report } from '../thread/verify/finding.ts';
import type { CheckedCommit } from '../thread/verify/read-checked.ts';
import type { IncomingLimits } from './incoming-limits.ts';

/** What a tree holds, what lies below it included. */
type Extent = { files: number; depth: number };

/** Trees and commits that are remembered; one that was forgotten is looked at again. */
const MAX_REMEMBERED = 200_000;
/** Of a larger file only the size is asked for. */
const SMALL_BYTES = 4096;

/**
 * Checks what threads carry along that is none of uwf's: files that a step recorded, what artifacts pin, commits of code.
 *
 * None of it is executed, checked out or read further than git's own `fsck --strict` would. What lies twice is looked at once.
 * What this repository has already is not refused: nothing new comes in with it, and history has faults that git forgives.
 */
export class CarriedObjects {
  readonly #objects: ObjectStore;
  readonly #local: Pick<ObjectStore, 'has'>;
  readonly #limits: IncomingLimits;
  readonly #mayLackFiles: boolean;
  readonly #trees = new Map<ObjectId, Extent>();
  readonly #files = new Set<ObjectId>();
  readonly #code = new Set<ObjectId>();
  #codeObjects = 0;

  /**
   * @param objects what was brought, and what this repository has
   * @param local what this repository has
   * @param mayLackFiles whether files may be left out until they are first read
   */
  constructor(
    objects: ObjectStore,
    local: Pick<ObjectStore, 'has'>,
    limits: IncomingLimits,
    mayLackFiles: boolean = false,
  ) {
    this.#objects = objects;
    this.#local = local;
    this.#limits = limits;
    this.#mayLackFiles = mayLackFiles;
  }

  /** Checks a commit of a thread as an object, and the parts of its tree that hold no nodes. */
  async checkCommit({ commit: { id, commit }, files }: CheckedCommit, report: Report): Promise<void> {
    await attempt(report, null, async () => {
      const data = await this.checkHeader(id, report);
      if (data !== undefined && !isPlainText(data)) {
        report(null, 'it is not UTF-8 without control characters, which could do anything to a terminal');
      }
      for (const { name, mode, id: child } of await readTree(this.#objects, commit.tree)) {
        const isForeign = mode === '040000' && (name === PINNED_FOLDER || child === files.workspace);
        if (isForeign) await this.#checkTree(child, name, report);
      }
    });
  }

  /** Checks a commit of somebody's code, and all behind it that this repository does not have yet. */
  async checkCode(head: ObjectId, report: Report): Promise<void> {
    await attempt(report, null, () => this.#walkCode(head, report));
  }

  async #walkCode(head: ObjectId, report: Report): Promise<void> {
    const waiting = [head];
    for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
      if (this.#code.has(id) || (await this.#local.has(id))) continue;
      this.#codeObjects += 1;
      if (this.#codeObjects > this.#limits.maxCodeObjects) {
        return report(
          null,
          `it brings more than ${this.#limits.maxCodeObjects} objects of code; fetch the code itself first`,
        );
      }
      const data = await this.checkHeader(id, report);
      if (data === undefined) return;
      const { tree, parents } = parseCommit(data);
      if ((await this.#checkTree(tree, `the files of ${id}`, report)) === undefined) return;
      remember(this.#code, id);
      waiting.push(...parents);
    }
  }

  /** Checks a commit as an object. @returns its bytes; `undefined` if git would not take it, which has been reported */
  async checkHeader(id: ObjectId, report: Report): Promise<Uint8Array | undefined> {
    const data = await this.#read(id, 'commit', this.#limits.maxCommitBytes);
    const fault = faultOfCommit(data, id.length);
    if (fault === undefined) return data;
    report(null, `as commit ${id} stands, git would not take it: ${fault}`);
    return undefined;
  }

  /** @returns what it holds; `undefined` if there is something wrong with it, which has been reported */
  async #checkTree(id: ObjectId, path: string, report: Report, depth = 1): Promise<Extent | undefined> {
    const known = this.#trees.get(id);
    if (known) return known;
    const { maxDepth, maxFiles, maxObjectBytes } = this.#limits;
    if (depth > maxDepth) return fail(report, path, `its folders lie more than ${maxDepth} deep`);
    const data = await this.#read(id, 'tree', maxObjectBytes);
    let entries = readForeignTree(data, objectIdBytes(this.#objects.format));
    if (typeof entries === 'string') {
      const lines = (await this.#local.has(id)) ? readTreeLines(data, objectIdBytes(this.#objects.format)) : undefined;
      if (lines === undefined) return fail(report, path, `git would not take the folder: ${entries}`);
      entries = lines.map(foreignEntry);
    }
    const extent: Extent = { files: entries.length, depth: 1 };
    for (const entry of entries) {
      const below = await this.#checkEntry(entry, `${path}/${entry.name}`, report, depth);
      if (below === undefined) return undefined;
      extent.files += below.files;
      extent.depth = Math.max(extent.depth, below.depth + 1);
    }
    if (extent.files > maxFiles) return fail(report, path, `it has more than ${maxFiles} files`);
    if (extent.depth > maxDepth) return fail(report, path, `its folders lie more than ${maxDepth} deep`);
    this.#trees.set(id, extent);
    if (this.#trees.size > MAX_REMEMBERED) this.#trees.clear();
    return extent;
  }

  async #checkEntry(
    { id, kind, special }: ForeignEntry,
    path: string,
    report: Report,
    depth: number,
  ): Promise<Extent | undefined> {
    const nothing: Extent = { files: 0, depth: 0 };
    if (kind === 'submodule') return nothing;
    if (kind === 'folder') return this.#checkTree(id, path, report, depth + 1);
    if (this.#mayLackFiles && !(await this.#objects.has(id))) return nothing;
    if (special !== undefined && kind === 'file') {
      const fault = faultOfSpecialFile(special, await this.#read(id, 'blob', MAX_SPECIAL_BYTES));
      if (fault !== undefined && !(await this.#local.has(id))) {
        return fail(report, path, `git would not take the file: ${fault}`);
      }
    } else if (!this.#files.has(id)) await this.#measure(id);
    remember(this.#files, id);
    return nothing;
  }

  /** Makes sure of a file that it is there, is one, and is not too large, without reading it. */
  async #measure(id: ObjectId): Promise<void> {
    try {
      await this.#read(id, 'blob', SMALL_BYTES);
    } catch (error) {
      if (!(error instanceof ObjectTooLarge)) throw error;
      const isTooLarge = error.bytes > this.#limits.maxFileBytes && !(await this.#local.has(id));
      if (isTooLarge) throw new ObjectTooLarge(id, error.bytes, this.#limits.maxFileBytes);
      if (error.type !== 'blob') await this.#read(id, 'blob', this.#limits.maxFileBytes);
    }
  }

  async #read(id: ObjectId, type: ObjectType, maxBytes: number): Promise<Uint8Array> {
    const object = await this.#objects.read(id, { maxBytes });
    if (object === undefined) throw new ObjectMissing(id);
    if (object.type !== type) throw new CorruptObject(id, `it is a ${object.type}, not a ${type}`);
    return object.data;
  }
}

/** Tells whether a commit can be shown by whatever shows it, as all that uwf writes can. */
function isPlainText(data: Uint8Array): boolean {
  try {
    return !/[^\P{Cc}\t\n]/u.test(new TextDecoder('utf-8', { fatal: true }).decode(data));
  } catch {
    return false;
  }
}

function fail(report: Report, path: string, what: string): undefined {
  report(quotePath(path), what);
  return undefined;
}

function remember(set: Set<ObjectId>, id: ObjectId): void {
  if (set.size >= MAX_REMEMBERED) set.clear();
  set.add(id);
}
