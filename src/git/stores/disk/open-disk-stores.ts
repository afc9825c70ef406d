import { constants } from 'node:buffer';
import { existsSync, fstatSync, mkdirSync, openSync, realpathSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { deflateSync } from 'node:zlib';
import { orElse } from '../../../or-else.ts';
import { CorruptObject, errnoOf, isNotThere, ObjectTooLarge } from '../../format/errors.ts';
import { type GitObject, hashObject, isObjectType, type ObjectFormat, type ObjectId } from '../../format/object-id.ts';
import type {
  GitEnvironment,
  ObjectStore,
  ReadOptions,
  RefStore,
  RepositoryLocation,
  WrittenObjects,
} from '../../repository.ts';
import { readIfThere } from '../../repository/git-directory.ts';
import { isSettled, namesIn, READ, readAt, whileOpen } from '../../system/files.ts';
import type { RefWriter } from '../ref-writer.ts';
import { inflate, inflateStart, isPlausibleSize, Pack, PackFiles } from './pack.ts';
import { RefReader } from './read-refs.ts';

export type DiskStoreOptions = {
  /** git's environment, which can name other folders of objects and a quarantine; default: none. */
  env?: GitEnvironment;
  lockTimeoutMs?: number | undefined;
};

export type DiskStores = { objects: ObjectStore; refs: RefStore; close(): Promise<void> };

/**
 * Opens uwf's own stores over a git folder: it reads objects and refs and writes objects itself, and git writes the refs.
 * Nothing is read or started before it is needed.
 *
 * The caller has checked that refs are files.
 */
export function openDiskStores(
  location: RepositoryLocation,
  { env = {}, lockTimeoutMs }: DiskStoreOptions = {},
  format: ObjectFormat = 'sha1',
): DiskStores {
  const objects = new DiskObjectStore(location.commonDir, env, format);
  const reader = new RefReader(location);
  const read: RefStore['read'] = async (name) => reader.follow(name).id;
  let writer: Promise<RefWriter> | undefined;
  // What changes refs is loaded late: reading does not need it.
  const open = async (): Promise<RefWriter> => {
    const { RefWriter: Writer } = await import('../ref-writer.ts');
    return new Writer({ location, env }, { objects: format, refs: 'files', lockTimeoutMs, read });
  };
  return {
    objects,
    refs: {
      read,
      list: async (prefix, wanted) => reader.list(prefix, wanted),
      update: async (edits) => (await (writer ??= open())).update(edits),
    },
    close: async () => {
      await objects.close();
      await (await writer)?.close();
      reader.packed.close();
    },
  };
}

/** How often the search is repeated while git replaces packs. */
const MAX_ROUNDS = 10;
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
    folder.settledTime = time !== undefined && isSettled(time) ? time : undefined;
    return gone.length > 0 || after.size !== before.size;
  }
}

/** How deep git follows alternates of alternates (`link_alt_odb_entries` in object-file.c). */
const MAX_ALTERNATE_DEPTH = 5;

/**
 * The object folders of a repository: its own first, then its alternates, each once.
 *
 * Honours `GIT_OBJECT_DIRECTORY`, `GIT_ALTERNATE_OBJECT_DIRECTORIES` and `info/alternates`, the last recursively. An
 * alternate that does not exist is left out, as git does.
 * Source: gitrepository-layout(5), git(1).
 */
export function findObjectFolders(commonDir: string, env: GitEnvironment): string[] {
  const moved = env['GIT_OBJECT_DIRECTORY'];
  const own = moved === undefined || moved === '' ? join(commonDir, 'objects') : resolve(moved);
  const found = new Set([own]);
  for (const path of splitPaths(env['GIT_ALTERNATE_OBJECT_DIRECTORIES'] ?? '', ':')) {
    addAlternate(resolve(path), 0, found);
  }
  addAlternatesOf(own, 0, found);
  return [...found];
}

function addAlternatesOf(folder: string, depth: number, found: Set<string>): void {
  if (depth > MAX_ALTERNATE_DEPTH) return;
  const text = readIfThere(join(folder, 'info', 'alternates')) ?? '';
  for (const path of splitPaths(text, '\n')) {
    addAlternate(resolve(folder, path), depth, found);
  }
}

function addAlternate(path: string, depth: number, found: Set<string>): void {
  const folder = orElse(() => realpathSync(path), undefined);
  if (folder === undefined || found.has(folder)) return;
  found.add(folder);
  addAlternatesOf(folder, depth + 1, found);
}

/** Splits a list of paths; a path may be quoted as in C, and a line that starts with `#` is a comment. */
function splitPaths(text: string, separator: ':' | '\n'): string[] {
  const paths: string[] = [];
  let rest = text;
  while (rest !== '') {
    const quoted = /^"((?:[^"\\]|\\[^])*)"/.exec(rest);
    const end = rest.indexOf(separator, quoted?.[0].length ?? 0);
    const plain = end === -1 ? rest : rest.slice(0, end);
    rest = end === -1 ? '' : rest.slice(end + 1);
    if (plain === '' || plain.startsWith('#')) continue;
    paths.push(quoted === null ? plain : unquote(quoted[1] ?? ''));
  }
  return paths;
}

const escapes: Readonly<Record<string, string>> = { a: '\x07', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' };

/** Undoes git's C-style quoting. Octal escapes are bytes of UTF-8. Source: git's quote.c. */
function unquote(text: string): string {
  const bytes = text.replaceAll(/\\([0-3][0-7]{2}|[^])|([^\\]+)/g, (_, escape?: string, plain?: string) => {
    if (plain !== undefined) return Buffer.from(plain, 'utf8').toString('latin1');
    const character = escape ?? '';
    return character.length === 3
      ? String.fromCharCode(Number.parseInt(character, 8))
      : (escapes[character] ?? character);
  });
  return Buffer.from(bytes, 'latin1').toString('utf8');
}

/** Compressed bytes that always include the header. */
const startBytes = 1024;
/** More than the longest header. */
const headerBytes = 32;
const header = /^([a-z]+) (0|[1-9][0-9]{0,15})\0/;

/**
 * Reads a loose object; `undefined` if this object folder does not have it.
 *
 * The object's id is not checked here.
 * @throws {CorruptObject} if the file is not a whole object
 * @throws {ObjectTooLarge} before the object is inflated, if it is larger than `maxBytes`
 * Source: gitformat-loose(5).
 */
export function readLooseObject(folder: string, id: ObjectId, maxBytes: number): GitObject | undefined {
  const file = readWhole(looseObjectPath(folder, id));
  if (file === undefined) return undefined;
  const start = inflateStart(file.subarray(0, startBytes), headerBytes);
  const [head = '', type, digits] = header.exec(start?.toString('latin1') ?? '') ?? [];
  if (!isObjectType(type)) throw new CorruptObject(id, 'its file does not start with a header');
  const size = Number(digits);
  const limit = Math.min(maxBytes, constants.MAX_LENGTH);
  if (size > limit) throw new ObjectTooLarge(id, size, limit, type);
  if (!isPlausibleSize(size, file.byteLength)) throw new CorruptObject(id, `its file is too short for ${size} bytes`);
  const outcome = inflate(file, head.length + size);
  if ('problem' in outcome) throw new CorruptObject(id, `its file is ${outcome.problem}`);
  return { type, data: outcome.data.subarray(head.length) };
}

/** Writes a loose object that need not survive a power cut: into a quarantine. */
export function writeLooseObject(folder: string, object: GitObject, format: ObjectFormat): ObjectId {
  const id = hashObject(object, format);
  const path = looseObjectPath(folder, id);
  mkdirSync(dirname(path), { recursive: true });
  const head = Buffer.from(`${object.type} ${object.data.byteLength}\0`);
  writeFileSync(path, deflateSync(Buffer.concat([head, object.data])));
  return id;
}

export function hasLooseObject(folder: string, id: ObjectId): boolean {
  return existsSync(looseObjectPath(folder, id));
}

function looseObjectPath(folder: string, id: ObjectId): string {
  return join(folder, id.slice(0, 2), id.slice(2));
}

function readWhole(path: string): Buffer | undefined {
  const file = orElse(() => openSync(path, READ), undefined, isNotThere);
  if (file === undefined) return undefined;
  return whileOpen(file, () => readAt(file, Buffer.allocUnsafe(fstatSync(file).size), 0));
}
