import { packWriter } from '../disk/pack-writer.ts';
import { CorruptObject, ObjectTooLarge } from '../../format/object-errors.ts';
import { hashObject, isObjectType } from '../../format/object-id.ts';
import type { GitObject, ObjectFormat, ObjectId, ObjectType } from '../../format/object-id.ts';
import type { ObjectStore, ReadOptions, WrittenObjects } from '../../object-store.ts';
import type { GitEnvironment, RepositoryLocation } from '../../repository.ts';
import { LongLivedGit, type AnswerReader } from '../../process/long-lived-git.ts';
import { GitFailed, leftOutIn } from '../../process/run-git.ts';

/**
 * The objects of a repository in a format that only git supports.
 *
 * Objects are read through running `git cat-file` processes, one for sizes and one for contents, and checked here again. They
 * are written by uwf's own writer of packs: a pack of SHA-256 differs only in its hashes, no process is started, and the keep of
 * the pack is not shared with another writer, as that of `git index-pack` would be.
 * Source: git-cat-file(1), "BATCH OUTPUT".
 */
export class NativeObjectStore implements ObjectStore {
  readonly format: ObjectFormat;
  readonly #sizes: LongLivedGit;
  readonly #contents: LongLivedGit;
  readonly #write: ReturnType<typeof packWriter>;

  constructor(location: RepositoryLocation, env: GitEnvironment, format: ObjectFormat) {
    this.format = format;
    const open = (mode: string): LongLivedGit =>
      new LongLivedGit({ location, env, args: ['--no-replace-objects', 'cat-file', mode] });
    this.#sizes = open('--batch-check');
    this.#contents = open('--batch');
    this.#write = packWriter(location.commonDir, env, format);
  }

  async read(id: ObjectId, { maxBytes }: ReadOptions = {}): Promise<GitObject | undefined> {
    if (maxBytes !== undefined) {
      const info = await this.#ask(this.#sizes, id, readInfo);
      if (info === undefined) return undefined;
      if (info.size > maxBytes) throw new ObjectTooLarge(id, info.size, maxBytes);
    }
    const object = await this.#ask(this.#contents, id, readContents);
    if (object === undefined) return undefined;
    const actual = hashObject(object, this.format);
    if (actual !== id) throw new CorruptObject(id, `what lies there is the ${object.type} ${actual}`);
    return object;
  }

  async has(id: ObjectId): Promise<boolean> {
    return (await this.#ask(this.#sizes, id, readInfo)) !== undefined;
  }

  async write(objects: readonly GitObject[]): Promise<WrittenObjects> {
    return this.#write(objects);
  }

  async close(): Promise<void> {
    await Promise.all([this.#sizes.close(), this.#contents.close()]);
  }

  /** git reports an unreadable object as missing too, and ends at damage in a pack; stderr has the reason. */
  async #ask<Answer>(
    git: LongLivedGit,
    id: ObjectId,
    read: () => AnswerReader<Answer | undefined>,
  ): Promise<Answer | undefined> {
    let said: string;
    try {
      const found = await git.ask(`${id}\n`, read);
      if (found !== undefined) return found;
      said = await git.said();
    } catch (error) {
      if (!(error instanceof GitFailed)) throw error;
      if (leftOutIn(error.said) !== undefined) return undefined;
      if (!error.said.includes(id)) throw error;
      said = error.said;
    }
    const complaint = said.split('\n').findLast((line) => line.includes(id));
    if (complaint === undefined) return undefined;
    throw new CorruptObject(id, complaint.replace(/^(?:fatal|error): /, ''));
  }
}

const header = /^[0-9a-f]+ ([a-z]+) ([0-9]+)$/;

/** Type and size of an object; `undefined` if git does not find it, or cannot read it. */
function* readInfo(): AnswerReader<{ type: ObjectType; size: number } | undefined> {
  const [, type, size] = header.exec((yield 'line').toString('latin1')) ?? [];
  // A line that is no header says that the object is missing.
  return isObjectType(type) ? { type, size: Number(size) } : undefined;
}

function* readContents(): AnswerReader<GitObject | undefined> {
  const info = yield* readInfo();
  if (info === undefined) return undefined;
  const data = yield info.size;
  // A line end follows.
  yield 1;
  return { type: info.type, data };
}
