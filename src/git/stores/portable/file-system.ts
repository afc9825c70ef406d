import { asStorageError, errnoOf, isNotThere } from '../../format/errors.ts';

/** Takes what the function of that name in Node's `fs` takes. */
type FsFunction = (...args: never[]) => unknown;

type FsFunctions = Record<
  'readFile' | 'writeFile' | 'unlink' | 'readdir' | 'mkdir' | 'rmdir' | 'stat' | 'lstat',
  FsFunction
> & { readlink?: FsFunction | undefined; symlink?: FsFunction | undefined };

/** Any file system with the calls of Node's `fs`, in promises (`fs.promises`) or with callbacks: node:fs, memfs, LightningFS. */
export type FsClient = FsFunctions | { promises: FsFunctions };

type Call = (...args: unknown[]) => Promise<unknown>;

/**
 * The few file operations that a repository needs, over any {@link FsClient}.
 *
 * Files appear whole or not at all, as far as the file system can rename: they are written beside the objects under a
 * name that `git prune` removes (`tmp_obj_…`), synced where files can be synced, and then renamed.
 */
export class PortableFileSystem {
  readonly #fs: FsClient;
  readonly #gitdir: string;
  readonly #calls = new Map<string, Call | undefined>();

  constructor(fs: FsClient, gitdir: string) {
    this.#fs = fs;
    this.#gitdir = gitdir;
  }

  /** A file's bytes; `undefined` if there is none, or a folder in its place. */
  async readFile(path: string): Promise<Uint8Array | undefined> {
    const data = await this.#orAbsent(this.#call('readFile', path), 'EISDIR');
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Reading without an encoding gives bytes; LightningFS gives undefined for a folder.
    return data as Uint8Array | undefined;
  }

  async readText(path: string): Promise<string | undefined> {
    const bytes = await this.readFile(path);
    return bytes === undefined ? undefined : Buffer.from(bytes).toString('utf8');
  }

  /** The names in a folder; empty if it is not there. */
  async namesIn(path: string): Promise<string[]> {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- readdir without options gives names.
    return ((await this.#orAbsent(this.#call('readdir', path))) ?? []) as string[];
  }

  async kindOf(path: string): Promise<'file' | 'folder' | undefined> {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Every implementation of stat gives an object with isDirectory().
    const stats = (await this.#orAbsent(this.#call('stat', path))) as { isDirectory(): boolean } | undefined;
    if (stats === undefined) return undefined;
    return stats.isDirectory() ? 'folder' : 'file';
  }

  /** Writes a temporary file for {@link moveInto}. */
  async stage(data: Uint8Array | string): Promise<string> {
    const path = `${this.#gitdir}/objects/tmp_obj_${crypto.randomUUID()}`;
    try {
      await this.#writeSynced(path, data);
      return path;
    } catch (error) {
      await this.removeFile(path);
      throw asStorageError(error, path);
    }
  }

  /**
   * Renames a staged file to its place and makes missing folders. The staged file is gone afterwards, also after an error.
   */
  async moveInto(staged: string, path: string): Promise<void> {
    try {
      await this.#retryWithFolder(path, () => this.#call('rename', staged, path));
    } catch (error) {
      await this.removeFile(staged);
      throw asStorageError(error, path);
    }
  }

  async writeWhole(path: string, data: Uint8Array | string): Promise<void> {
    if (this.#find('rename') !== undefined) await this.moveInto(await this.stage(data), path);
    else await this.#retryWithFolder(path, () => this.#writeSynced(path, data));
  }

  /** Removes a file, if there is one. */
  async removeFile(path: string): Promise<void> {
    try {
      await this.#orAbsent(this.#call('unlink', path));
    } catch (error) {
      throw asStorageError(error, path);
    }
  }

  /** Removes a folder and the empty folders in it. Tells whether it is gone. */
  async removeIfEmpty(path: string): Promise<boolean> {
    for (const name of await this.namesIn(path)) {
      if ((await this.kindOf(`${path}/${name}`)) === 'file' || !(await this.removeIfEmpty(`${path}/${name}`)))
        return false;
    }
    return this.#orAbsent(this.#call('rmdir', path)).then(
      () => true,
      () => false,
    );
  }

  /** Sets a file's time to now, where the file system keeps times that can be set. */
  async touch(path: string, nowMs: number): Promise<void> {
    if (this.#find('utimes') !== undefined) await this.#call('utimes', path, nowMs / 1000, nowMs / 1000);
  }

  /**
   * The file system for isomorphic-git: files that it writes appear whole, and in the folder of packs it sees only packs, not
   * the `.tmp-*-pack-*.idx` of a killed git.
   */
  forGit(): FsClient {
    const pass =
      (name: string): Call =>
      (...args) =>
        this.#call(name, ...args);
    return {
      promises: {
        readFile: pass('readFile'),
        writeFile: (path: string, data: Uint8Array | string) => this.writeWhole(path, data),
        unlink: pass('unlink'),
        readdir: async (path: string, ...args: unknown[]) => {
          // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- isomorphic-git asks for names only.
          const names = (await this.#call('readdir', path, ...args)) as string[];
          return path.endsWith('/objects/pack') ? names.filter((name) => /^pack-.*\.(idx|pack)$/.test(name)) : names;
        },
        mkdir: pass('mkdir'),
        rmdir: pass('rmdir'),
        stat: pass('stat'),
        lstat: pass('lstat'),
        readlink: pass('readlink'),
        symlink: pass('symlink'),
      },
    };
  }

  async #writeSynced(path: string, data: Uint8Array | string): Promise<void> {
    if ('promises' in this.#fs && this.#find('open') !== undefined) {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `open` of a promise API gives a FileHandle.
      const file = (await this.#call('open', path, 'wx')) as {
        writeFile(data: Uint8Array | string): Promise<void>;
        sync?(): Promise<void>;
        close(): Promise<void>;
      };
      try {
        await file.writeFile(data);
        await file.sync?.();
      } finally {
        await file.close();
      }
    } else await this.#call('writeFile', path, data);
  }

  async #retryWithFolder(path: string, write: () => Promise<unknown>): Promise<void> {
    try {
      await write();
    } catch (error) {
      // `git prune-packed` and `git pack-refs` remove folders that became empty, at any moment.
      if (errnoOf(error) !== 'ENOENT') throw error;
      await this.#makeFolder(parentOf(path));
      await write();
    }
  }

  async #makeFolder(path: string): Promise<void> {
    if (path === '' || (await this.kindOf(path)) === 'folder') return;
    await this.#makeFolder(parentOf(path));
    try {
      await this.#call('mkdir', path);
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST') throw error;
    }
  }

  async #orAbsent(result: Promise<unknown>, alsoAbsent?: string): Promise<unknown> {
    try {
      return await result;
    } catch (error) {
      if (isNotThere(error) || errnoOf(error) === alsoAbsent) return undefined;
      throw error;
    }
  }

  async #call(name: string, ...args: unknown[]): Promise<unknown> {
    const call = this.#find(name);
    if (call === undefined) throw new TypeError(`the file system has no '${name}'`);
    return call(...args);
  }

  #find(name: string): Call | undefined {
    if (!this.#calls.has(name)) this.#calls.set(name, bind(this.#fs, name));
    return this.#calls.get(name);
  }
}

function bind(fs: FsClient, name: string): Call | undefined {
  const isPromising = 'promises' in fs;
  // Both kinds of file system are objects of functions by name.
  const functions = (isPromising ? fs.promises : fs) as Record<string, unknown>;
  const call = functions[name];
  if (typeof call !== 'function') return undefined;
  if (isPromising) return async (...args) => call.apply(functions, args);
  return (...args) =>
    new Promise((resolve, reject) => {
      call.call(functions, ...args, (error: Error | null, value: unknown) => (error ? reject(error) : resolve(value)));
    });
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}
