import { statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { orElse } from '../../../or-else.ts';
import { CorruptObject, errnoOf, isNotThere } from '../../format/object-errors.ts';
import { hashObject } from '../../format/object-id.ts';
import type { GitObject, ObjectFormat, ObjectId } from '../../format/object-id.ts';
import type { ObjectStore, ReadOptions, WrittenObjects } from '../../object-store.ts';
import type { GitEnvironment } from '../../repository.ts';
import { namesIn } from '../../system/names-in.ts';
import { hasLooseObject, readLooseObject } from './loose-objects.ts';
import { findObjectFolders } from './object-folders.ts';
import { PackFiles } from './pack-files.ts';
import { Pack } from './pack.ts';

/** How often the search is repeated while git replaces packs. */
const MAX_ROUNDS = 10;
/** A folder that changed less than this before it was read can change again without a new time. */
const SETTLED_AFTER_MS = 2_500;
/** Only a `pack-*.idx` with its `.pack` counts: an interrupted git leaves other names. */
const indexName = /^(pack-.+)\.idx$/;

/** An object folder, as `.git/objects`, with its packs as of when they were listed. */
type ObjectFolder = {
  path: string;
  packs: Map<string, Pack>;
  /** The time of the folder of packs, if it was settled when it was listed. */
  settledTime: bigint | undefined;
};

/** Uses a copy of an object where it is found; returns `undefined` to continue the search. */
type ObjectUse<T> = {
  packed: (pack: Pack, offset: number) => T | undefined;
  loose: (folder: string) => T | undefined;
};

/**
 * The objects of a repository on disk: read from packs and loose files; each write is one small pack.
 *
 * Memory does not grow with the repository. git can write, repack and prune at the same time: a removed pack is skipped, and the
 * packs are listed again before an object counts as missing. Replace refs are ignored: an id names its own bytes.
 */
export class DiskObjectStore implements ObjectStore {
  readonly format: ObjectFormat;
  readonly #files = new PackFiles();
  readonly #commonDir: string;
  readonly #env: GitEnvironment;
  #folders: ObjectFolder[] | undefined;
  /** The pack that had the last object comes first: it usually has the next one too. */
  #packs: Pack[] = [];
  #writePack: ((objects: readonly GitObject[]) => WrittenObjects) | undefined;

  constructor(commonDir: string, env: GitEnvironment, format: ObjectFormat = 'sha1') {
    this.#commonDir = commonDir;
    this.#env = env;
    this.format = format;
  }

  async read(id: ObjectId, { maxBytes = Infinity }: ReadOptions = {}): Promise<GitObject | undefined> {
    return this.#first(id, {
      packed: (pack, offset) => this.#verified(pack.read(offset, id, maxBytes), id),
      loose: (folder) => this.#verified(readLooseObject(folder, id, maxBytes), id),
    });
  }

  async has(id: ObjectId): Promise<boolean> {
    const use = { packed: () => true, loose: (folder: string) => hasLooseObject(folder, id) || undefined };
    return this.#first(id, use) === true;
  }

  async write(objects: readonly GitObject[]): Promise<WrittenObjects> {
    // Most commands only read.
    const { packWriter } = await import('./pack-writer.ts');
    const [own = this.#commonDir] = findObjectFolders(this.#commonDir, this.#env);
    this.#writePack ??= packWriter(own, this.format);
    return this.#writePack(objects);
  }

  async close(): Promise<void> {
    this.#files.closeAll();
  }

  #verified<T extends GitObject | undefined>(object: T, id: ObjectId): T {
    const actual = object && hashObject(object, this.format);
    if (object === undefined || actual === id) return object;
    throw new CorruptObject(id, `what lies there is the ${object.type} ${actual}`);
  }

  /**
   * The first result of `use` for a copy of the object, in packs first; `undefined` if there is none.
   *
   * @throws {CorruptObject} if there is a damaged copy and no sound one
   */
  #first<T>(id: ObjectId, use: ObjectUse<T>): T | undefined {
    if (this.#folders === undefined) {
      const paths = findObjectFolders(this.#commonDir, this.#env);
      this.#folders = paths.map((path) => ({ path, packs: new Map(), settledTime: undefined }));
      this.#listPacks(this.#folders);
    }
    let damage: CorruptObject[] = [];
    const attempt = (look: () => T | undefined): T | undefined => {
      try {
        return look();
      } catch (error) {
        if (!(error instanceof CorruptObject)) throw error;
        damage.push(error);
        return undefined;
      }
    };
    for (let round = 0; round < MAX_ROUNDS; round++) {
      damage = [];
      // A pack that moves to the front meanwhile leaves the ones behind it where they are.
      for (const pack of this.#packs) {
        const result = attempt(() => this.#lookInto(pack, id, use));
        if (result !== undefined) return result;
      }
      for (const { path } of this.#folders) {
        const result = attempt(() => use.loose(path));
        if (result !== undefined) return result;
      }
      if (!this.#listPacks(this.#folders)) break;
    }
    if (damage[0] !== undefined) throw damage[0];
    return undefined;
  }

  #lookInto<T>(pack: Pack, id: ObjectId, use: ObjectUse<T>): T | undefined {
    try {
      const offset = pack.find(id);
      if (offset === undefined) return undefined;
      const place = this.#packs.indexOf(pack);
      if (place > 0) this.#packs.unshift(...this.#packs.splice(place, 1));
      return use.packed(pack, offset);
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT') throw error;
      // git has moved its objects; the next listing shows where.
      pack.close();
      this.#packs = this.#packs.filter((other) => other !== pack);
      for (const folder of this.#folders ?? []) {
        if (folder.packs.get(basename(pack.path)) !== pack) continue;
        folder.packs.delete(basename(pack.path));
        folder.settledTime = undefined;
      }
      return undefined;
    }
  }

  /** Lists the packs again and tells whether there are others. Cheap while no folder has changed. */
  #listPacks(folders: ObjectFolder[]): boolean {
    let hasChanged = false;
    for (const folder of folders) hasChanged = this.#listFolder(folder) || hasChanged;
    if (!hasChanged) return false;
    const all = new Set(folders.flatMap(({ packs }) => [...packs.values()]));
    this.#packs = [...new Set([...this.#packs.filter((pack) => all.has(pack)), ...all])];
    return true;
  }

  #listFolder(folder: ObjectFolder): boolean {
    const dir = join(folder.path, 'pack');
    const time = orElse(() => statSync(dir, { bigint: true }).mtimeNs, undefined, isNotThere);
    if (time !== undefined && time === folder.settledTime) return false;
    const names = new Set(time === undefined ? [] : namesIn(dir));
    const before = folder.packs;
    const after = new Map<string, Pack>();
    for (const name of names) {
      const base = indexName.exec(name)?.[1];
      if (base === undefined || !names.has(`${base}.pack`)) continue;
      after.set(base, before.get(base) ?? new Pack(join(dir, base), this.#files, this.format));
    }
    const gone = [...before].filter(([base]) => !after.has(base));
    for (const [, pack] of gone) pack.close();
    folder.packs = after;
    const isSettled = time !== undefined && Number(time / 1_000_000n) < Date.now() - SETTLED_AFTER_MS;
    folder.settledTime = isSettled ? time : undefined;
    return gone.length > 0 || after.size !== before.size;
  }
}
