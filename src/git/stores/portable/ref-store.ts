import { isPassedOver, parseLooseRef, type LooseRef } from '../../format/ref-files.ts';
import type { ObjectId } from '../../format/object-id.ts';
import { PackedRefsLines, soundRefs, withoutRefs } from '../../format/ref-files.ts';
import { BrokenRef, InvalidRefName, RefNameConflict } from '../../format/ref-errors.ts';
import { isRefName, parseRefName } from '../../format/ref-name.ts';
import { RefMoved } from '../../ref-store.ts';
import type { RefDamage } from '../../format/ref-errors.ts';
import type { Ref, RefEdit, RefName, RefStore, WantedRefs } from '../../ref-store.ts';
import type { PortableFileSystem } from './file-system.ts';
import { inTurn } from '../../system/in-turn.ts';

/** Git follows no longer chain of symbolic refs (`SYMREF_MAXDEPTH` in refs.c). */
const MAX_SYMBOLIC_DEPTH = 5;

/**
 * Refs as git keeps them, loose and packed, over any file system; for one process.
 *
 * isomorphic-git's own refs are not used: it writes them in place and without comparing, finds `refs/heads/x` under
 * `refs/refs/heads/x`, lists `x.lock` and siblings, and lets a deleted ref's old packed value show for a moment.
 */
export class PortableRefStore implements RefStore {
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
