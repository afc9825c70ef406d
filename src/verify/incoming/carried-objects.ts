import { orElse } from '../../or-else.ts';
import { objectIdBytes, type ObjectId } from '../../git/format/object-id.ts';
import { ObjectTooLarge } from '../../git/format/object-errors.ts';
import { parseCommit } from '../../git/format/commit.ts';
import type { ObjectStore } from '../../git/object-store.ts';
import { quotePath } from '../../git/format/quote-path.ts';
import { readTree, readTyped } from '../../git/stores/read.ts';
import { kindOfMode, readTreeLines, type TreeLine } from '../../git/format/tree-lines.ts';
import { PINNED_FOLDER } from '../../cas/pins.ts';
import { attempt, type ReportFault } from '../fault.ts';
import type { CheckedCommit } from '../commit/read-checked.ts';
import type { IncomingLimits } from './incoming-limits.ts';

/** The size of a tree, with all folders below it. */
type Extent = { files: number; depth: number };

/** Bound of the caches. A forgotten object is checked again. */
const MAX_REMEMBERED = 200_000;
/** A larger file is not read: only its size is checked. */
const MAX_READ_BYTES = 4096;

/**
 * Checks that the objects of a thread that are not uwf's are there and within limits: recorded files, pinned objects, commits of
 * the user's code. git has checked how they are made.
 *
 * Nothing is executed or checked out. Shared objects are checked once.
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
   * @param objects the fetched objects and those of this repository
   * @param local the objects of this repository
   * @param mayLackFiles whether files may be missing, as those of a partial clone are
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

  /** Checks that a commit of a thread can be printed, and the folders of its tree that contain no nodes. */
  async checkCommit({ commit: { id, commit } }: CheckedCommit, report: ReportFault): Promise<void> {
    await attempt(report, null, async () => {
      if (!isPlainText(await this.#readCommit(id))) {
        report(null, 'it is not UTF-8 without control characters, which could do anything to a terminal');
      }
      for (const { name, mode, id: child } of await readTree(this.#objects, commit.tree)) {
        if (name === PINNED_FOLDER && mode === '040000') await this.#checkTree(child, name, report);
      }
    });
  }

  /** Checks a commit of the user's code, with the history that this repository does not have yet. */
  async checkCode(head: ObjectId, report: ReportFault): Promise<void> {
    await attempt(report, null, () => this.#walkCode(head, report));
  }

  async #walkCode(head: ObjectId, report: ReportFault): Promise<void> {
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
      const { tree, parents } = parseCommit(await this.#readCommit(id));
      if ((await this.#checkTree(tree, `the files of ${id}`, report)) === undefined) return;
      remember(this.#code, id);
      waiting.push(...parents);
    }
  }

  #readCommit(id: ObjectId): Promise<Uint8Array> {
    return readTyped(this.#objects, id, 'commit', { maxBytes: this.#limits.maxCommitBytes });
  }

  /** @returns the size of the tree; `undefined` if a fault was reported */
  async #checkTree(id: ObjectId, path: string, report: ReportFault, depth = 1): Promise<Extent | undefined> {
    const known = this.#trees.get(id);
    if (known) return known;
    const { maxDepth, maxFiles, maxObjectBytes } = this.#limits;
    if (depth > maxDepth) return fail(report, path, `its folders lie more than ${maxDepth} deep`);
    const data = await readTyped(this.#objects, id, 'tree', { maxBytes: maxObjectBytes });
    const entries = readTreeLines(data, objectIdBytes(this.#objects.format));
    if (entries === undefined) return fail(report, path, 'the tree is cut off');
    const isLocal = await this.#local.has(id);
    const extent: Extent = { files: entries.length, depth: 1 };
    for (const entry of entries) {
      // The files of a folder that is here are here, too: most files of a snapshot.
      if (isLocal && kindOfMode(entry.mode) !== 'folder') continue;
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
    { id, mode }: TreeLine,
    path: string,
    report: ReportFault,
    depth: number,
  ): Promise<Extent | undefined> {
    const nothing: Extent = { files: 0, depth: 0 };
    const kind = kindOfMode(mode);
    if (kind === 'submodule') return nothing;
    if (kind === 'folder') return this.#checkTree(id, path, report, depth + 1);
    if (this.#mayLackFiles && !(await this.#objects.has(id))) return nothing;
    if (!this.#files.has(id)) await this.#measure(id);
    remember(this.#files, id);
    return nothing;
  }

  /** Checks that an object exists, is a file and is not too large, without reading large ones. */
  async #measure(id: ObjectId): Promise<void> {
    try {
      await readTyped(this.#objects, id, 'blob', { maxBytes: MAX_READ_BYTES });
    } catch (error) {
      if (!(error instanceof ObjectTooLarge)) throw error;
      const isTooLarge = error.bytes > this.#limits.maxFileBytes && !(await this.#local.has(id));
      if (isTooLarge) throw new ObjectTooLarge(id, error.bytes, this.#limits.maxFileBytes);
      if (error.type !== 'blob') await readTyped(this.#objects, id, 'blob', { maxBytes: this.#limits.maxFileBytes });
    }
  }
}

/** Tells whether a commit is safe to print on a terminal. */
function isPlainText(data: Uint8Array): boolean {
  return orElse(() => !/[^\P{Cc}\t\n]/u.test(new TextDecoder('utf-8', { fatal: true }).decode(data)), false);
}

function fail(report: ReportFault, path: string, what: string): undefined {
  report(quotePath(path), what);
  return undefined;
}

function remember(set: Set<ObjectId>, id: ObjectId): void {
  if (set.size >= MAX_REMEMBERED) set.clear();
  set.add(id);
}
