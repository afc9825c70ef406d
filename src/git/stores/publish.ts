import { ObjectTooLarge } from '../format/errors.ts';
import { type GitObject, hashObject, type ObjectFormat, type ObjectId } from '../format/object-id.ts';
import { type Commit, encodeCommit, encodeTree, type TreeEntry } from '../format/objects.ts';
import { type RefEdit, RefMoved, type Repository } from '../repository.ts';

/**
 * Writes objects and then moves refs to them. All new objects enter a repository this way.
 *
 * The objects are durable before the first ref is touched, and are protected from a concurrent `git gc` until the refs
 * have moved. If the refs cannot move, the objects stay behind unreferenced, as garbage that git collects.
 * @param onLostRace runs if a ref has another value than expected, while the objects are still protected
 * @throws {RefMoved} if a ref has another value than expected; no ref is changed then
 */
export async function publish(
  repository: Pick<Repository, 'objects' | 'refs'>,
  batch: Pick<ObjectBatch, 'format'> & { readonly objects: readonly GitObject[] },
  edits: readonly RefEdit[],
  onLostRace?: (error: RefMoved) => Promise<void>,
): Promise<void> {
  // git could never read an object under an id of the other hash.
  if (batch.format !== repository.objects.format)
    throw new Error(`objects of ${batch.format} are for another repository`);
  const written = await repository.objects.write(batch.objects);
  try {
    await repository.refs.update(edits);
  } catch (error) {
    if (error instanceof RefMoved) await onLostRace?.(error);
    throw error;
  } finally {
    await written.release();
  }
}

/** Tries `work`, which changes refs, again if another process moved a ref first; at most `mostTries` times. */
export async function againIfMoved<T>(mostTries: number, work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof RefMoved) || tries === mostTries) throw error;
    }
  }
}

/**
 * Collects objects in memory that are written together.
 *
 * Adding an object computes its id, so trees and commits can refer to objects that are not written yet. The same object is
 * kept once. Nothing reaches the repository before `publish`.
 */
export class ObjectBatch {
  readonly format: ObjectFormat;
  readonly #byId = new Map<ObjectId, GitObject>();

  /** @param format that of the repository the objects are for (`objects.format`) */
  constructor(format: ObjectFormat = 'sha1') {
    this.format = format;
  }

  /** Adds a blob; a string is stored as UTF-8. */
  addBlob(data: Uint8Array | string): ObjectId {
    return this.add({ type: 'blob', data: typeof data === 'string' ? Buffer.from(data) : data });
  }

  /** @throws {UnwritableObject} as `encodeTree` does */
  addTree(entries: readonly TreeEntry[]): ObjectId {
    return this.add({ type: 'tree', data: encodeTree(entries) });
  }

  /** @throws {UnwritableObject} as `encodeCommit` does */
  addCommit(commit: Commit): ObjectId {
    return this.add({ type: 'commit', data: encodeCommit(commit) });
  }

  /** Adds a commit of which uwf itself is the author. The same tree, parents, message and time are the same commit everywhere. */
  addOwnCommit(commit: Pick<Commit, 'tree' | 'parents' | 'message'>, atMs: number): ObjectId {
    const author = { name: 'uwf', email: 'uwf@localhost', atMs };
    return this.addCommit({ ...commit, author, committer: author });
  }

  /** All objects in the order of adding: an object comes before those that refer to it. */
  get objects(): GitObject[] {
    return [...this.#byId.values()];
  }

  find(id: ObjectId): GitObject | undefined {
    return this.#byId.get(id);
  }

  /** Adds an encoded object, without checks: a tree that git has written can hold names of any bytes. */
  add(object: GitObject): ObjectId {
    const id = hashObject(object, this.format);
    if (!this.#byId.has(id)) this.#byId.set(id, object);
    return id;
  }
}

/** A repository as it will be once a batch is written. Nothing can be written to it. */
export function repositoryWith(repository: Repository, batch: ObjectBatch): Repository {
  const { objects } = repository;
  return {
    ...repository,
    objects: {
      format: objects.format,
      async read(id, options) {
        const object = batch.find(id);
        if (object === undefined) return objects.read(id, options);
        const { maxBytes = Infinity } = options ?? {};
        if (object.data.byteLength > maxBytes) throw new ObjectTooLarge(id, object.data.byteLength, maxBytes);
        return object;
      },
      has: async (id) => batch.find(id) !== undefined || objects.has(id),
      write: () => Promise.reject(new Error('a repository that is only imagined is not written to')),
      close: () => Promise.resolve(),
    },
  };
}

/** The last action of each name, by its owner. Weak, so that a file system in memory can be collected. */
const lastTurns = new WeakMap<object, Map<string, Promise<unknown>>>();

/**
 * Runs the actions of one name of one owner one after the other, within this process: also those of two repositories that
 * were opened over the same file system and folder.
 */
export async function inTurn<T>(owner: object, name: string, action: () => Promise<T>): Promise<T> {
  const turns = lastTurns.get(owner) ?? new Map<string, Promise<unknown>>();
  lastTurns.set(owner, turns);
  const before = turns.get(name) ?? Promise.resolve();
  const turn = before.then(action, action);
  turns.set(name, turn);
  try {
    return await turn;
  } finally {
    if (turns.get(name) === turn) turns.delete(name);
  }
}
