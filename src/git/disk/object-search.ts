import { CorruptObject, errnoOf } from '../object-errors.ts';
import type { ObjectId } from '../object-id.ts';
import type { PackFiles } from './pack-files.ts';
import type { Pack } from './pack.ts';
import { PackFolder } from './pack-folder.ts';

/** How often everything is looked through again while git replaces the packs under our hands. */
const mostRounds = 10;

/** What to do with an object where it is found; `undefined` to look on. */
export type ObjectUse<T> = {
  packed: (pack: Pack, offset: number) => T | undefined;
  loose: (folder: string) => T | undefined;
};

/**
 * Finds objects in all object folders of a repository: packs first, then files of their own.
 *
 * git may repack meanwhile: a pack that has gone is left out, and before something counts as missing the packs are
 * listed again.
 */
export class ObjectSearch {
  readonly #folders: readonly { path: string; packs: PackFolder }[];
  #last: Pack | undefined;

  constructor(folders: readonly string[], files: PackFiles) {
    this.#folders = folders.map((path) => ({ path, packs: new PackFolder(path, files) }));
    this.#refresh();
  }

  /**
   * Gives the first result that `use` makes of a copy of the object; `undefined` if no copy gives one.
   *
   * @throws {CorruptObject} if there is a damaged copy and no sound one
   */
  first<T>(id: ObjectId, use: ObjectUse<T>): T | undefined {
    let damage: CorruptObject[] = [];
    for (let round = 0; round < mostRounds; round++) {
      damage = [];
      // What was asked for last lies beside what is asked for next, and is mostly enough.
      const last = this.#last;
      if (last !== undefined) {
        const result = attempt(() => this.#lookInto(last, id, use), damage);
        if (result !== undefined) return result;
      }
      for (const copy of this.#copies(id, use, last)) {
        const result = attempt(copy, damage);
        if (result !== undefined) return result;
      }
      if (!this.#refresh()) break;
    }
    if (damage[0] !== undefined) throw damage[0];
    return undefined;
  }

  /** All places to look at but one pack, each as a function that looks there. */
  *#copies<T>(id: ObjectId, use: ObjectUse<T>, but: Pack | undefined): Generator<() => T | undefined> {
    for (const { packs } of this.#folders) {
      for (const pack of packs.packs) {
        if (pack !== but) yield () => this.#lookInto(pack, id, use);
      }
    }
    for (const { path } of this.#folders) yield () => use.loose(path);
  }

  #lookInto<T>(pack: Pack, id: ObjectId, use: ObjectUse<T>): T | undefined {
    try {
      const offset = pack.index.find(id);
      if (offset === undefined) return undefined;
      this.#last = pack;
      return use.packed(pack, offset);
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT') throw error;
      // git has put its objects elsewhere; the next look at the folder shows where.
      if (this.#last === pack) this.#last = undefined;
      for (const { packs } of this.#folders) packs.drop(pack);
      return undefined;
    }
  }

  #refresh(): boolean {
    let changed = false;
    for (const { packs } of this.#folders) changed = packs.refresh() || changed;
    return changed;
  }
}

function attempt<T>(look: () => T | undefined, damage: CorruptObject[]): T | undefined {
  try {
    return look();
  } catch (error) {
    if (!(error instanceof CorruptObject)) throw error;
    damage.push(error);
    return undefined;
  }
}
