import { CorruptObject, errnoOf } from '../../format/object-errors.ts';
import type { ObjectId } from '../../format/object-id.ts';
import type { PackFiles } from './pack-files.ts';
import type { Pack } from './pack.ts';
import { PackFolder } from './pack-folder.ts';

/** How often the search is repeated while git replaces packs. */
const MAX_ROUNDS = 10;

/** Uses a copy of an object where it is found; returns `undefined` to continue the search. */
export type ObjectUse<T> = {
  packed: (pack: Pack, offset: number) => T | undefined;
  loose: (folder: string) => T | undefined;
};

/**
 * Finds objects in all object folders of a repository: packs first, then loose files.
 *
 * git can repack meanwhile: a removed pack is skipped, and the packs are listed again before an object counts as missing.
 */
export class ObjectSearch {
  readonly #folders: readonly { path: string; packs: PackFolder }[];
  /** The pack that had the last object comes first: it usually has the next one too. */
  #packs: Pack[] = [];

  constructor(folders: readonly string[], files: PackFiles) {
    this.#folders = folders.map((path) => ({ path, packs: new PackFolder(path, files) }));
    this.#refresh();
  }

  /**
   * Returns the first result of `use` for a copy of the object; `undefined` if there is none.
   *
   * @throws {CorruptObject} if there is a damaged copy and no sound one
   */
  first<T>(id: ObjectId, use: ObjectUse<T>): T | undefined {
    let damage: CorruptObject[] = [];
    for (let round = 0; round < MAX_ROUNDS; round++) {
      damage = [];
      // A pack that moves to the front meanwhile leaves the ones behind it where they are.
      for (const pack of this.#packs) {
        const result = attempt(() => this.#lookInto(pack, id, use), damage);
        if (result !== undefined) return result;
      }
      for (const { path } of this.#folders) {
        const result = attempt(() => use.loose(path), damage);
        if (result !== undefined) return result;
      }
      if (!this.#refresh()) break;
    }
    if (damage[0] !== undefined) throw damage[0];
    return undefined;
  }

  #lookInto<T>(pack: Pack, id: ObjectId, use: ObjectUse<T>): T | undefined {
    try {
      const offset = pack.index.find(id);
      if (offset === undefined) return undefined;
      const place = this.#packs.indexOf(pack);
      if (place > 0) this.#packs.unshift(...this.#packs.splice(place, 1));
      return use.packed(pack, offset);
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT') throw error;
      // git has moved its objects; the next listing shows where.
      this.#packs = this.#packs.filter((other) => other !== pack);
      for (const { packs } of this.#folders) packs.drop(pack);
      return undefined;
    }
  }

  #refresh(): boolean {
    let changed = false;
    for (const { packs } of this.#folders) changed = packs.refresh() || changed;
    if (!changed) return false;
    const all = new Set(this.#folders.flatMap(({ packs }) => [...packs.packs]));
    this.#packs = [...new Set([...this.#packs.filter((pack) => all.has(pack)), ...all])];
    return true;
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
