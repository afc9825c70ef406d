import { PackWriter } from '../disk/pack-writer.ts';
import type { GitEnvironment } from '../git-directory.ts';
import { CorruptObject, ObjectTooLarge } from '../object-errors.ts';
import { hashObject } from '../object-id.ts';
import type { GitObject, ObjectFormat, ObjectId } from '../object-id.ts';
import type { ObjectStore, ReadOptions, WrittenObjects } from '../object-store.ts';
import type { RepositoryLocation } from '../repository.ts';
import { CatFile } from './cat-file.ts';
import { ObjectUnavailable } from './object-unavailable.ts';
import { GitFailed } from './run-git.ts';

/** git had to ask a remote for an object, and did not get it. Source: git's promisor-remote.c and fetch-pack.c. */
const notFetched =
  /promisor remote|[Cc]ould not (?:fetch|read from remote)|unable to access|does not appear to be a git/;

/**
 * The objects of a repository whose format only git speaks, or whose objects git fetches when they are needed.
 *
 * Read through one `git cat-file` that goes on running, and checked again here. Written as one small pack, by uwf's own
 * writer: a pack of SHA-256 differs in its hashes alone, no process has to be started, and the pack has a keep that no
 * other writer shares, as one of `git index-pack` would.
 */
export class NativeObjectStore implements ObjectStore {
  readonly format: ObjectFormat;
  readonly #cat: CatFile;
  readonly #packs: PackWriter;

  constructor(location: RepositoryLocation, env: GitEnvironment, format: ObjectFormat) {
    this.format = format;
    this.#cat = new CatFile({ location, env });
    this.#packs = new PackWriter(location.commonDir, env, format);
  }

  async read(id: ObjectId, { maxBytes }: ReadOptions = {}): Promise<GitObject | undefined> {
    if (maxBytes !== undefined) {
      const info = await this.#explain(id, this.#cat.info(id));
      if (info === undefined) return undefined;
      if (info.size > maxBytes) throw new ObjectTooLarge(id, info.size, maxBytes);
    }
    const object = await this.#explain(id, this.#cat.contents(id));
    if (object === undefined) return undefined;
    const actual = hashObject(object, this.format);
    if (actual !== id) throw new CorruptObject(id, `what lies there is the ${object.type} ${actual}`);
    return object;
  }

  async has(id: ObjectId): Promise<boolean> {
    return (await this.#cat.info(id)) !== undefined;
  }

  async write(objects: readonly GitObject[]): Promise<WrittenObjects> {
    return this.#packs.write(objects);
  }

  close(): Promise<void> {
    return this.#cat.close();
  }

  /** git says 'missing' of what it cannot read as well, and ends over what is damaged within a pack; stderr tells. */
  async #explain<Answer>(id: ObjectId, answer: Promise<Answer | undefined>): Promise<Answer | undefined> {
    let said: string;
    try {
      const found = await answer;
      if (found !== undefined) return found;
      said = await this.#cat.said();
    } catch (error) {
      if (!(error instanceof GitFailed)) throw error;
      if (notFetched.test(error.said)) throw new ObjectUnavailable(id, error.said, error);
      if (!error.said.includes(id)) throw error;
      said = error.said;
    }
    const complaint = said.split('\n').findLast((line) => line.includes(id));
    if (complaint === undefined) return undefined;
    throw new CorruptObject(id, complaint.replace(/^(?:fatal|error): /, ''));
  }
}
