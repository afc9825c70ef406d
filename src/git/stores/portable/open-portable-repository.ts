import { messageOf } from '../../../errors.ts';
import { inPlaceOf } from '../../../or-else.ts';
import { parseGitConfig } from '../../format/config.ts';
import {
  asStorageError,
  BrokenRef,
  CorruptObject,
  errnoOf,
  InvalidRefName,
  ObjectTooLarge,
  type RefDamage,
  RefNameConflict,
} from '../../format/errors.ts';
import { type GitObject, hashObject, isObjectType, type ObjectId } from '../../format/object-id.ts';
import {
  isPassedOver,
  isRefName,
  type LooseRef,
  PackedRefsLines,
  parseLooseRef,
  parseRefName,
  soundRefs,
  withoutRefs,
} from '../../format/refs.ts';
import {
  type Identity,
  type ObjectStore,
  type ReadOptions,
  type Ref,
  type RefEdit,
  RefMoved,
  type RefName,
  type RefStore,
  type Repository,
  type WantedRefs,
  type WrittenObjects,
} from '../../repository.ts';
import { RepositoryNotFound } from '../../repository/git-directory.ts';
import {
  assertOrdinaryFormat,
  FALLBACK_COMMITTER,
  readRepositoryFormat,
  unsupportedRepository,
} from '../../repository/repository-config.ts';
import { inTurn } from '../publish.ts';
import { type FsClient, PortableFileSystem } from './file-system.ts';

/** Where a portable repository lies, and its options. */
type PortableOptions = {
  fs: FsClient;
  /** The top of a work tree (its `.git` is looked up, a file included), or a bare repository. */
  dir?: string;
  /** The repository's own folder; wins over `dir`. */
  gitdir?: string;
  /** Makes the repository if there is none; without it that is an error. */
  create?: boolean;
  now?: () => number;
  committer?: Identity;
};

/**
 * Opens a repository over any file system: in memory, in a browser, in a bundle.
 *
 * For one process only, because there are no locks between processes. Within the process, changes run one after the other,
 * and refs change by compare-and-swap. There is no location, no state folder, and no remote. In a browser, a bundler has to
 * stand in for Node's modules, and agents that are programs cannot run.
 * @throws {RepositoryNotFound} if there is none and `create` is not set
 * @throws {UwfError} `unsupported-repository` for an unknown format, and for a linked worktree unless `gitdir` names the
 * repository that it belongs to
 */
export async function openPortableRepository(options: PortableOptions): Promise<Repository> {
  const { fs } = options;
  const gitdir = await resolveGitdir(options);
  const files = new PortableFileSystem(fs, gitdir);
  if ((await files.readText(`${gitdir}/HEAD`)) === undefined) {
    if (options.create !== true) throw new RepositoryNotFound(options.gitdir ?? options.dir ?? '/');
    const git = await import('isomorphic-git');
    const bare = options.dir === undefined;
    await git.init({ fs, gitdir, bare, defaultBranch: 'main', ...(bare ? {} : { dir: options.dir }) });
  }
  const config = (await files.readText(`${gitdir}/config`)) ?? '';
  if ((await files.kindOf(`${gitdir}/commondir`)) !== undefined) {
    const hint = 'name the repository that it belongs to with gitdir: refs and objects are there';
    throw unsupportedRepository(gitdir, 'a linked worktree', hint);
  }
  assertOrdinaryFormat(readRepositoryFormat(parseGitConfig(config, `${gitdir}/config`), gitdir), gitdir);
  const now = options.now ?? Date.now;
  const objects = new PortableObjectStore(files, gitdir, now);
  return {
    objects,
    refs: new PortableRefStore(files, gitdir, fs),
    location: undefined,
    stateDir: undefined,
    committer: options.committer ?? FALLBACK_COMMITTER,
    now,
    close: () => objects.close(),
  };
}

async function resolveGitdir(options: PortableOptions): Promise<string> {
  if (options.gitdir !== undefined) return withoutTrailingSlash(options.gitdir);
  const dir = withoutTrailingSlash(options.dir ?? '');
  const files = new PortableFileSystem(options.fs, dir);
  const link = await files.readText(`${dir}/.git`);
  if (link !== undefined) {
    const target = /^gitdir: (.*?)[\r\n]*$/s.exec(link)?.[1];
    if (target === undefined) throw new RepositoryNotFound(`${dir}/.git`, "it does not start with 'gitdir: '");
    const isAbsolute = target.startsWith('/') || /^[A-Za-z]:[\\/]/.test(target);
    return withoutTrailingSlash(isAbsolute ? target : `${dir}/${target}`);
  }
  const isBare =
    (await files.kindOf(`${dir}/.git`)) === undefined &&
    (await files.kindOf(`${dir}/HEAD`)) === 'file' &&
    (await files.kindOf(`${dir}/objects`)) === 'folder' &&
    (await files.kindOf(`${dir}/refs`)) === 'folder';
  return isBare ? dir : `${dir}/.git`;
}

function withoutTrailingSlash(path: string): string {
  return path.replace(/(?<=.)\/+$/, '');
}

/**
 * Objects by isomorphic-git: loose and packed ones are read, loose ones written.
 *
 * Packs are read into memory whole and kept for as long as the store lives, so this is for small repositories;
 * `maxBytes` is checked only after an object was read. Alternates are not followed.
 */
class PortableObjectStore implements ObjectStore {
  readonly format = 'sha1';
  readonly #files: PortableFileSystem;
  readonly #gitdir: string;
  readonly #now: () => number;
  /** isomorphic-git keeps parsed packs here; without one object for all calls it parses them on every read. */
  #cache: object = {};

  constructor(files: PortableFileSystem, gitdir: string, now: () => number) {
    this.#files = files;
    this.#gitdir = gitdir;
    this.#now = now;
  }

  async read(id: ObjectId, options: ReadOptions = {}): Promise<GitObject | undefined> {
    const object = await this.#readAgainIfMoved(id);
    if (object === undefined) return undefined;
    const { maxBytes } = options;
    if (maxBytes !== undefined && object.data.byteLength > maxBytes) {
      throw new ObjectTooLarge(id, object.data.byteLength, maxBytes);
    }
    return object;
  }

  async has(id: ObjectId): Promise<boolean> {
    if ((await this.#files.kindOf(this.#loosePath(id))) !== undefined) return true;
    return (await this.#readAgainIfMoved(id)) !== undefined;
  }

  async write(objects: readonly GitObject[]): Promise<WrittenObjects> {
    for (const object of objects) await this.#writeLoose(object);
    // Single process: no other process collects garbage, so nothing has to be protected.
    return { release: async () => {} };
  }

  async close(): Promise<void> {
    this.#cache = {};
  }

  async #writeLoose(object: GitObject): Promise<void> {
    const id = hashObject(object);
    const path = this.#loosePath(id);
    if ((await this.#files.kindOf(path)) !== undefined) {
      const isSound = (await this.#readOnce(id).catch(inPlaceOf(CorruptObject, undefined))) !== undefined;
      if (isSound) return this.#files.touch(path, this.#now());
      // isomorphic-git accepts any file at the path as the object, also one that a power cut left half-written.
      await this.#files.removeFile(path);
    }
    const git = await import('isomorphic-git');
    try {
      await git.writeObject({
        fs: this.#files.forGit(),
        gitdir: this.#gitdir,
        type: object.type,
        object: object.data,
        format: 'content',
      });
    } catch (error) {
      throw asStorageError(error, path);
    }
  }

  async #readAgainIfMoved(id: ObjectId): Promise<GitObject | undefined> {
    try {
      return await this.#readOnce(id);
    } catch (error) {
      if (!(error instanceof CorruptObject)) throw error;
      // The damage can be a pack that a `git repack` replaced during the read: drop the cached packs and read again.
      this.#cache = {};
      return this.#readOnce(id);
    }
  }

  async #readOnce(id: ObjectId): Promise<GitObject | undefined> {
    const git = await import('isomorphic-git');
    let found;
    try {
      found = await git.readObject({
        fs: this.#files.forGit(),
        gitdir: this.#gitdir,
        oid: id,
        format: 'content',
        cache: this.#cache,
      });
    } catch (error) {
      if (error instanceof git.Errors.NotFoundError) return undefined;
      // An error of the file system says nothing about the object.
      if (/^E[A-Z]+$/.test(errnoOf(error) ?? '')) throw error;
      throw new CorruptObject(id, messageOf(error), error);
    }
    const { type, object: data } = found;
    if (!isObjectType(type) || !(data instanceof Uint8Array)) throw new CorruptObject(id, 'it is no object of git');
    const object: GitObject = { type, data };
    const actual = hashObject(object);
    if (actual !== id) throw new CorruptObject(id, `its content has the id ${actual}`);
    return object;
  }

  #loosePath(id: ObjectId): string {
    return `${this.#gitdir}/objects/${id.slice(0, 2)}/${id.slice(2)}`;
  }
}

/** Git follows no longer chain of symbolic refs (`SYMREF_MAXDEPTH` in refs.c). */
const MAX_SYMBOLIC_DEPTH = 5;

/**
 * Refs as git keeps them, loose and packed, over any file system; for one process.
 *
 * isomorphic-git's own refs are not used: it writes them in place and without comparing, finds `refs/heads/x` under
 * `refs/refs/heads/x`, lists `x.lock` and siblings, and lets a deleted ref's old packed value show for a moment.
 */
class PortableRefStore implements RefStore {
  readonly #files: PortableFileSystem;
  readonly #gitdir: string;
  readonly #lockOwner: object;

  /** @param lockOwner what stores of the same repository in this process have in common: the caller's `fs` */
  constructor(files: PortableFileSystem, gitdir: string, lockOwner: object) {
    this.#files = files;
    this.#gitdir = gitdir;
    this.#lockOwner = lockOwner;
  }

  async read(name: RefName): Promise<ObjectId | undefined> {
    return (await this.#follow(name)).id;
  }

  async list(prefix: string, { damaged }: WantedRefs = {}): Promise<Ref[]> {
    if (!prefix.endsWith('/')) throw new InvalidRefName(prefix, "a prefix to list ends in '/'");
    const names = new Set<string>();
    await this.#collectLoose(prefix.slice(0, -1), names);
    const packed = await this.#packed(damaged);
    for (const name of packed.keys()) if (name.startsWith(prefix)) names.add(name);
    const refs: Ref[] = [];
    for (const name of names) {
      if (!isRefName(name)) {
        if (!isPassedOver(name)) damaged?.(new BrokenRef(name, 'git allows no such name'));
        continue;
      }
      const id = await this.#readUnlessBroken(name, packed, damaged);
      if (id !== undefined) refs.push({ name, id });
    }
    return refs.toSorted((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));
  }

  async update(edits: readonly RefEdit[]): Promise<void> {
    if (edits.length === 0) return;
    await inTurn(this.#lockOwner, this.#gitdir, () => this.#updateInTurn(edits));
  }

  async #updateInTurn(edits: readonly RefEdit[]): Promise<void> {
    const packed = await this.#packed();
    const changes: RefEdit[] = [];
    const names = new Set<string>();
    for (const edit of edits) {
      const { name, id } = await this.#follow(edit.name, packed);
      if (names.has(name)) throw new InvalidRefName(name, 'it is changed twice in one transaction');
      names.add(name);
      if ((id ?? null) !== edit.expected) throw new RefMoved(edit.name, edit.expected, id ?? null);
      if (edit.value !== edit.expected) changes.push({ ...edit, name });
    }
    const writes = changes.flatMap(({ name, value }) => (value === null ? [] : [{ name, value }]));
    const deletions = new Set(changes.filter(({ value }) => value === null).map(({ name }) => name));
    for (const { name } of writes) await this.#assertNoConflict(name, writes, packed);
    await this.#apply(writes, deletions);
  }

  /** All content is staged before the first ref changes, so that a full disk changes none. */
  async #apply(writes: readonly { name: RefName; value: ObjectId }[], deletions: ReadonlySet<RefName>): Promise<void> {
    const staged: { from: string; to: string }[] = [];
    try {
      for (const { name, value } of writes) {
        staged.push({ from: await this.#files.stage(`${value}\n`), to: this.#path(name) });
      }
      const path = this.#path('packed-refs');
      const remaining = withoutRefs(path, await this.#packedFile(), deletions);
      // The packed values go first: until the loose files go too, readers see the newest value, never an older one.
      if (remaining !== undefined) staged.push({ from: await this.#files.stage(remaining), to: path });
    } catch (error) {
      for (const { from } of staged) await this.#files.removeFile(from);
      throw error;
    }
    for (const { from, to } of staged) {
      if ((await this.#files.kindOf(to)) === 'folder') await this.#files.removeIfEmpty(to);
      await this.#files.moveInto(from, to);
    }
    for (const name of deletions) {
      await this.#removeLoose(name);
    }
  }

  /** Removes the folders that became empty too, but keeps `refs/<first>` as git does. */
  async #removeLoose(name: RefName): Promise<void> {
    // Of a packed ref there may be an empty folder in place of a file.
    if ((await this.#files.kindOf(this.#path(name))) === 'file') await this.#files.removeFile(this.#path(name));
    // A reflog without its ref would keep the objects that it names.
    if ((await this.#files.kindOf(this.#path(`logs/${name}`))) === 'file') {
      await this.#files.removeFile(this.#path(`logs/${name}`));
    }
    const components = name.split('/');
    for (let depth = components.length - 1; depth > 2; depth -= 1) {
      if (!(await this.#files.removeIfEmpty(this.#path(components.slice(0, depth).join('/'))))) return;
    }
  }

  /** A ref that the same transaction deletes is a conflict too, as in git. */
  async #assertNoConflict(
    name: RefName,
    writes: readonly { name: RefName }[],
    packed: ReadonlyMap<string, ObjectId>,
  ): Promise<void> {
    for (let slash = name.lastIndexOf('/'); slash > 'refs'.length; slash = name.lastIndexOf('/', slash - 1)) {
      const parent = parseRefName(name.slice(0, slash));
      if ((await this.#stored(parent, packed)) !== undefined) throw new RefNameConflict(name, parent);
    }
    const below = [...writes, ...(await this.list(`${name}/`))].find((other) => other.name.startsWith(`${name}/`));
    if (below !== undefined) throw new RefNameConflict(name, below.name);
  }

  async #follow(
    name: RefName,
    packed?: ReadonlyMap<string, ObjectId>,
  ): Promise<{ name: RefName; id: ObjectId | undefined }> {
    let current = name;
    for (let depth = 0; depth <= MAX_SYMBOLIC_DEPTH; depth += 1) {
      const stored = await this.#stored(current, packed);
      if (stored === undefined) return { name: current, id: undefined };
      if (stored.kind === 'id') return { name: current, id: stored.id };
      current = stored.target;
    }
    throw new BrokenRef(name, `it leads through more than ${MAX_SYMBOLIC_DEPTH} symbolic refs`);
  }

  async #stored(name: RefName, packed?: ReadonlyMap<string, ObjectId>): Promise<LooseRef | undefined> {
    const text = await this.#files.readText(this.#path(name));
    if (text !== undefined) return parseLooseRef(name, text);
    const id = (packed ?? (await this.#packed())).get(name);
    return id && { kind: 'id', id };
  }

  async #readUnlessBroken(
    name: RefName,
    packed: ReadonlyMap<string, ObjectId>,
    damaged: WantedRefs['damaged'],
  ): Promise<ObjectId | undefined> {
    try {
      const { name: end, id } = await this.#follow(name, packed);
      if (id === undefined) damaged?.(new BrokenRef(name, `it leads to ${end}, which is not there`));
      return id;
    } catch (error) {
      if (!(error instanceof BrokenRef)) throw error;
      damaged?.(new BrokenRef(name, error.reason));
      return undefined;
    }
  }

  async #collectLoose(folder: string, names: Set<string>): Promise<void> {
    for (const name of await this.#files.namesIn(this.#path(folder))) {
      const path = `${folder}/${name}`;
      if ((await this.#files.kindOf(this.#path(path))) === 'folder') await this.#collectLoose(path, names);
      else names.add(path);
    }
  }

  async #packed(damaged?: (damage: RefDamage) => void): Promise<Map<string, ObjectId>> {
    const lines = new PackedRefsLines(this.#path('packed-refs'), await this.#packedFile());
    return new Map(soundRefs(lines.from(0, damaged), damaged).map(({ name, id }) => [name, id]));
  }

  async #packedFile(): Promise<Buffer> {
    return Buffer.from((await this.#files.readFile(this.#path('packed-refs'))) ?? []);
  }

  #path(name: string): string {
    return `${this.#gitdir}/${name}`;
  }
}
