import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { asStorageError, storing } from '../format/errors.ts';
import { isObjectId, type GitObject, type ObjectFormat, type ObjectId } from '../format/object-id.ts';
import type { GitEnvironment, ObjectStore, RepositoryLocation } from '../repository.ts';
import { runGit, type GitRun } from '../process/run-git.ts';
import { repositoryGone } from '../repository/git-directory.ts';
import { DiskObjectStore, readLooseObject, writeLooseObject } from './disk/open-disk-stores.ts';
import { abandonPack, KEEP_MS, newPackName, PackKeep, removeStalePackKeeps } from './disk/pack-writer.ts';
import { isOlderThan, makeFolders, share, sizeOf, syncFolder } from '../system/files.ts';
import { formatIdentity, isAlive, ownIdentity, parseIdentity } from '../system/process-identity.ts';
import { succeeds } from '../../or-else.ts';

const folderName = /^([^@]+)@[A-Za-z0-9]+$/;
const packName = /^(pack-[0-9a-f]+)\.pack$/;

/**
 * A folder in which native git writes objects that are not part of the repository yet. git sees the repository's objects
 * there, and no `git gc` of the repository sees the new ones.
 *
 * As `git receive-pack` does (git-receive-pack(1), "QUARANTINE ENVIRONMENT"). The name of the folder identifies its process,
 * so that the folder of a killed process is found.
 */
export class Quarantine {
  readonly path: string;
  readonly #objects: string;
  readonly #destination: string;

  /**
   * Makes the folder. Also removes the folders of killed processes, and the keeps of packs that they had moved into the
   * repository.
   * @param parent a folder on the file system of the repository's objects
   * @param destination the repository's object folder
   * @throws {UwfError} `repository-not-found` if that has gone: then nothing is made in its place
   */
  constructor(parent: string, destination: string) {
    if (!existsSync(destination)) throw repositoryGone(destination);
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

  /** The variables that make git write here. */
  variables(env: GitEnvironment): GitEnvironment {
    const others = [quoted(this.#destination), env['GIT_ALTERNATE_OBJECT_DIRECTORIES']].filter(Boolean);
    return {
      GIT_OBJECT_DIRECTORY: this.#objects,
      GIT_ALTERNATE_OBJECT_DIRECTORIES: others.join(delimiter),
    };
  }

  get packPrefix(): string {
    return join(this.#objects, 'pack', 'pack');
  }

  /** The size of all objects so far, packed or loose. */
  get bytes(): number {
    return sizeOf(this.#objects);
  }

  /** The loose objects, and the size of their files. */
  looseFiles(): { ids: ObjectId[]; bytes: number } {
    const folders = readdirSync(this.#objects).filter((name) => /^[0-9a-f]{2}$/.test(name));
    const names = folders.flatMap((folder) => readdirSync(join(this.#objects, folder)).map((rest) => folder + rest));
    const bytes = folders.reduce((sum, folder) => sum + sizeOf(join(this.#objects, folder)), 0);
    return { ids: names.filter(isObjectId), bytes };
  }

  /** Writes an object that only the git of this quarantine is to see: {@link takeOver} does not move it. */
  write(object: GitObject, format: ObjectFormat): ObjectId {
    return storing(this.path, () => writeLooseObject(this.#objects, object, format));
  }

  /** Reads loose objects, which {@link takeOver} does not move; default: all. */
  looseObjects(ids: readonly ObjectId[] = this.looseFiles().ids): GitObject[] {
    return ids.flatMap((id) => readLooseObject(this.#objects, id, Number.POSITIVE_INFINITY) ?? []);
  }

  /**
   * Moves the packs into the repository, each with a keep that protects it until the keep is removed.
   *
   * git has synced them. Each pack gets a new name, because another process can bring a pack with the same content.
   * @throws {StorageFull} / {StorageReadOnly}; what could not be finished is removed then
   */
  takeOver(): PackKeep[] {
    const from = join(this.#objects, 'pack');
    const to = join(this.#destination, 'pack');
    const keeps: PackKeep[] = [];
    const paths: string[] = [];
    try {
      const names = readdirSync(from);
      makeFolders(to);
      for (const name of names) {
        const base = packName.exec(name)?.[1];
        if (base === undefined || !existsSync(join(from, `${base}.idx`))) continue;
        const path = join(to, newPackName(base.length > 'pack-'.length + 40 ? 'sha256' : 'sha1'));
        paths.push(path);
        keeps.push(new PackKeep(path));
        for (const ending of ['pack', 'idx']) share(join(from, `${base}.${ending}`));
        renameSync(join(from, `${base}.pack`), `${path}.pack`);
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
 * Removes the quarantines of killed processes. Those of processes that cannot be checked from here are removed once they are
 * older than {@link KEEP_MS}.
 * @returns the removed folders and their sizes
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
    // Where a git that outlived its uwf still writes, the next command tries again.
    const isRemoved = succeeds(() => rmSync(path, { recursive: true, force: true, maxRetries: 2 }));
    return isRemoved ? [{ path, bytes }] : [];
  });
}

/** Reads the objects of a quarantine, then those of the repository. @param env that of the git that wrote them */
export function objectsApart(
  repository: ObjectStore,
  { commonDir }: RepositoryLocation,
  { GIT_OBJECT_DIRECTORY }: GitEnvironment,
): Pick<ObjectStore, 'read' | 'has' | 'close'> {
  const apart = new DiskObjectStore(commonDir, { GIT_OBJECT_DIRECTORY }, repository.format);
  return {
    read: async (id, options) => (await apart.read(id, options)) ?? repository.read(id, options),
    has: async (id) => (await apart.has(id)) || repository.has(id),
    close: () => apart.close(),
  };
}

export function removeKeeps(keeps: readonly PackKeep[]): void {
  for (const keep of keeps) keep.remove();
}

export function objectFolderOf({ commonDir }: Pick<RepositoryLocation, 'commonDir'>, env: GitEnvironment): string {
  const { GIT_OBJECT_DIRECTORY: moved } = env;
  return moved ? resolve(moved) : join(commonDir, 'objects');
}

/** A path as git reads it in a list of paths. Source: git(1), GIT_ALTERNATE_OBJECT_DIRECTORIES. */
function quoted(path: string): string {
  return path.includes(delimiter) || path.startsWith('"') ? `"${path.replaceAll(/["\\]/g, '\\$&')}"` : path;
}

/** More loose objects than this go into a pack instead of memory. */
const MAX_LOOSE_BYTES = 1024 * 1024;

/**
 * Readies the loose objects of a quarantine for the repository: few are read into memory, many are packed in the quarantine,
 * which moves packs when it is taken over.
 * @param run how git runs where it sees the quarantine
 * @param ids which of them; default: all
 * @returns those that are not in a pack
 */
export async function packLooseObjects(
  run: Omit<GitRun, 'args'>,
  quarantine: Quarantine,
  ids?: readonly ObjectId[],
): Promise<GitObject[]> {
  const loose = quarantine.looseFiles();
  const wanted = ids ?? loose.ids;
  if (loose.bytes <= MAX_LOOSE_BYTES) return quarantine.looseObjects(wanted);
  // git takes no empty list.
  if (wanted.length === 0) return [];
  const args = ['pack-objects', '--quiet', '--window=0', quarantine.packPrefix];
  await runGit({ ...run, args, input: `${wanted.join('\n')}\n` });
  return [];
}
