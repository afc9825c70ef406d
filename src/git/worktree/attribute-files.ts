import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { isDotGit } from '../format/dot-git.ts';
import { ObjectMissing, storing } from '../format/object-errors.ts';
import { hashObject, parseObjectId, type ObjectFormat, type ObjectId } from '../format/object-id.ts';
import type { ObjectReader } from '../stores/read.ts';

const NAME = '.gitattributes';

/** The `.gitattributes` of a tree as files of a folder, all others left out: git reads the names of merge drivers from files. */
export class AttributeFiles {
  readonly #top: string;
  readonly #objects: ObjectReader;
  /** The tree whose files are there. */
  #shown: ObjectId;

  /** @param top the folder, which is empty */
  constructor(top: string, objects: ObjectReader, format: ObjectFormat) {
    this.#top = top;
    this.#objects = objects;
    this.#shown = hashObject({ type: 'tree', data: new Uint8Array() }, format);
  }

  /**
   * Replaces the files by those of another tree. Contents are as git stores them: no filter runs, and line ends stay. Links are
   * left out, because git follows none to its attributes.
   *
   * @param git runs git where it has both trees
   * @throws {StorageFull} / {StorageReadOnly} / {GitFailed}
   */
  async show(tree: ObjectId, git: (args: readonly string[]) => Promise<Buffer>): Promise<void> {
    const listing = ['diff-tree', '-r', '-z', '--raw', '--no-renames', '--no-abbrev', this.#shown, tree];
    const fields = (await git([...listing, '--', `:(glob)**/${NAME}`])).toString('latin1').split('\0');
    const files = new Map<string, ObjectId>();
    for (let at = 0; at + 1 < fields.length; at += 2) {
      const [, mode = '', , id = ''] = (fields[at] ?? '').split(' ');
      const path = fields[at + 1] ?? '';
      if (!isAttributesFile(path)) continue;
      // Before any is written: a folder of this name can become a file.
      rmSync(this.#at(path), { recursive: true, force: true });
      if (mode.startsWith('100')) files.set(path, parseObjectId(id));
    }
    for (const [path, id] of files) await this.#write(path, id);
    this.#shown = tree;
  }

  async #write(path: string, id: ObjectId): Promise<void> {
    const blob = await this.#objects.read(id);
    if (blob === undefined) throw new ObjectMissing(id);
    storing(this.#top, () => {
      mkdirSync(this.#at(path.slice(0, -NAME.length)), { recursive: true });
      writeFileSync(this.#at(path), blob.data);
    });
  }

  #at(path: string): Buffer {
    return Buffer.concat([Buffer.from(`${this.#top}/`), Buffer.from(path, 'latin1')]);
  }
}

/** A tree can have names that lead out of the folder. */
function isAttributesFile(path: string): boolean {
  const parts = Buffer.from(path, 'latin1').toString('utf8').split('/');
  return parts.pop() === NAME && !parts.some((part) => part === '' || part === '.' || part === '..' || isDotGit(part));
}
