import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { syncFolder } from '../disk/durable-file.ts';
import { readLooseObject } from '../disk/loose-objects.ts';
import { abandonPack, KEEP_MS, PackKeep, removeStalePackKeeps } from '../disk/pack-keep.ts';
import { newPackName } from '../disk/pack-name.ts';
import type { GitEnvironment } from '../git-directory.ts';
import { makeFolders } from '../make-folders.ts';
import { asStorageError } from '../object-errors.ts';
import { isObjectId, type GitObject, type ObjectId } from '../object-id.ts';
import { isOlderThan } from '../older-than.ts';
import { formatIdentity, isAlive, ownIdentity, parseIdentity } from '../process-identity.ts';
import { share } from '../sharing.ts';
import { sizeOf } from '../size-of.ts';

const folderName = /^([^@]+)@[A-Za-z0-9]+$/;
const packName = /^(pack-[0-9a-f]+)\.pack$/;

/**
 * A folder in which native git writes objects that are not the repository's yet: it sees those of the repository, and no
 * `git gc` there sees its own.
 *
 * As `git receive-pack` does (git-receive-pack(1), "QUARANTINE ENVIRONMENT"). The folder says which process it belongs
 * to, so that what a killed one left is found again.
 */
export class Quarantine {
  readonly path: string;
  readonly #objects: string;
  readonly #destination: string;

  /**
   * Makes the folder, and removes what killed processes left of theirs: the folders, and the keeps of packs that had
   * become the repository's.
   *
   * @param parent a folder on the file system of the repository's objects
   * @param destination the repository's object folder
   * @throws {StorageFull} / {StorageReadOnly}
   */
  constructor(parent: string, destination: string) {
    try {
      makeFolders(parent);
      removeStaleQuarantines(parent);
      removeStalePackKeeps(join(destination, 'pack'));
      this.path = mkdtempSync(join(parent, `${formatIdentity(ownIdentity())}@`));
      share(this.path);
      this.#objects = join(this.path, 'objects');
      makeFolders(join(this.#objects, 'pack'));
    } catch (error) {
      throw asStorageError(error, parent);
    }
    this.#destination = destination;
  }

  /** What a git needs that is to write here. */
  variables(env: GitEnvironment): GitEnvironment {
    const others = [quoted(this.#destination), env['GIT_ALTERNATE_OBJECT_DIRECTORIES']].filter(Boolean);
    return {
      GIT_OBJECT_DIRECTORY: this.#objects,
      GIT_ALTERNATE_OBJECT_DIRECTORIES: others.join(delimiter),
    };
  }

  /** What the names of packs begin with that are to become the repository's. */
  get packPrefix(): string {
    return join(this.#objects, 'pack', 'pack');
  }

  /** How many bytes of objects have been written so far, in packs or not. */
  get bytes(): number {
    return readdirSync(this.#objects).reduce((sum, folder) => sum + bytesIn(join(this.#objects, folder)), 0);
  }

  /** The objects that have a file of their own, and what these files take. */
  looseFiles(): { ids: ObjectId[]; bytes: number } {
    const folders = readdirSync(this.#objects).filter((name) => /^[0-9a-f]{2}$/.test(name));
    const names = folders.flatMap((folder) => readdirSync(join(this.#objects, folder)).map((rest) => folder + rest));
    const bytes = folders.reduce((sum, folder) => sum + bytesIn(join(this.#objects, folder)), 0);
    return { ids: names.filter(isObjectId), bytes };
  }

  /** Reads the objects that have a file of their own, which {@link takeOver} leaves here. */
  looseObjects(): GitObject[] {
    return this.looseFiles().ids.flatMap((id) => readLooseObject(this.#objects, id, Number.POSITIVE_INFINITY) ?? []);
  }

  /**
   * Says of a pack that what it leads to and does not hold is promised by a remote.
   *
   * @param base its name without the ending
   * @throws {StorageFull} / {StorageReadOnly}
   */
  markPromised(base: string): void {
    try {
      writeFileSync(join(this.#objects, 'pack', `${base}.promisor`), '');
    } catch (error) {
      throw asStorageError(error, this.path);
    }
  }

  /**
   * Makes the packs the repository's, each with a keep that guards it until it is removed.
   *
   * git has synced them. A pack is given a name of its own, since another process may bring one of the same content.
   * @throws {StorageFull} / {StorageReadOnly}; what could not be finished is removed then
   */
  takeOver(): PackKeep[] {
    const from = join(this.#objects, 'pack');
    const to = join(this.#destination, 'pack');
    const keeps: PackKeep[] = [];
    const paths: string[] = [];
    try {
      makeFolders(to);
      for (const name of readdirSync(from)) {
        const base = packName.exec(name)?.[1];
        if (base === undefined || !existsSync(join(from, `${base}.idx`))) continue;
        const path = join(to, newPackName(base.length > 'pack-'.length + 40 ? 'sha256' : 'sha1'));
        paths.push(path);
        keeps.push(new PackKeep(path));
        for (const ending of ['pack', 'idx']) share(join(from, `${base}.${ending}`));
        renameSync(join(from, `${base}.pack`), `${path}.pack`);
        if (existsSync(join(from, `${base}.promisor`))) renameSync(join(from, `${base}.promisor`), `${path}.promisor`);
        renameSync(join(from, `${base}.idx`), `${path}.idx`);
      }
      if (keeps.length > 0) syncFolder(to);
      return keeps;
    } catch (error) {
      for (const path of paths) abandonPack(path);
      throw asStorageError(error, to);
    }
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

/**
 * Removes what processes that were killed left below a folder of quarantines; of those that cannot be seen from here, what is
 * older than a keep may be.
 * @returns what was removed, with how many bytes it had
 */
export function removeStaleQuarantines(parent: string): { path: string; bytes: number }[] {
  if (!existsSync(parent)) return [];
  const stale = readdirSync(parent).filter((name) => {
    const owner = parseIdentity(folderName.exec(name)?.[1] ?? '');
    if (owner === undefined) return false;
    const alive = isAlive(owner);
    return alive === 'other-host' ? isOlderThan(join(parent, name), KEEP_MS) : !alive;
  });
  return stale.flatMap((name) => {
    const path = join(parent, name);
    const bytes = sizeOf(path);
    try {
      rmSync(path, { recursive: true, force: true, maxRetries: 2 });
      return [{ path, bytes }];
    } catch {
      // A git that outlived its uwf still writes there; the next command finds it quiet.
      return [];
    }
  });
}

/** How much the files of a folder take; git may be adding to it, and take away what it had begun. */
function bytesIn(folder: string): number {
  const names = statSync(folder, { throwIfNoEntry: false })?.isDirectory() ? readdirSync(folder) : [];
  return names.reduce((sum, name) => sum + (statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0), 0);
}

/** A path as git reads it in a list of paths. Source: git(1), GIT_ALTERNATE_OBJECT_DIRECTORIES. */
function quoted(path: string): string {
  return path.includes(delimiter) || path.startsWith('"') ? `"${path.replaceAll(/["\\]/g, '\\$&')}"` : path;
}
