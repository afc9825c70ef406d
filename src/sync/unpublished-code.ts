import type { GitEnvironment } from '../git/git-directory.ts';
import { listCommits, type CommitLine } from '../git/native/list-commits.ts';
import type { ObjectId } from '../git/object-id.ts';
import { readCommit } from '../git/read.ts';
import type { Repository } from '../git/repository.ts';
import { findCodeCommits } from './find-code-commits.ts';
import type { RemoteRefs } from './remote-refs.ts';
import type { ThreadChange } from './report.ts';

/** A report names no more commits than this. */
const MAX_NAMED = 1000;
/** So far behind where the remote has a thread is looked for the code that it has with it. */
const NEAR = 16;

/**
 * Finds the commits of the user's code that a push of a thread would publish.
 *
 * A step that recorded files has the commit that was checked out as a parent, and a push sends what that follows: commits
 * that the user has not pushed, and what later commits took away again.
 */
export class UnpublishedCode {
  readonly #repository: Repository;
  readonly #there: RemoteRefs;
  readonly #options: { env?: GitEnvironment };
  readonly #missing = new Map<string, Promise<CommitLine[]>>();
  #without: Promise<ObjectId[]> | undefined;

  constructor(repository: Repository, there: RemoteRefs, options: { env?: GitEnvironment }) {
    this.#repository = repository;
    this.#there = there;
    this.#options = options;
  }

  /**
   * Tells for each of some threads which commits no ref of the remote leads to, the newest first, at most 1,000; those that
   * would publish none are left out.
   * @throws {RemoteUnreachable} if the remote cannot be asked what it has
   */
  async of<T extends Pick<ThreadChange, 'head' | 'before'>>(changes: readonly T[]): Promise<Map<T, CommitLine[]>> {
    const from = new Map<T, ObjectId[]>();
    for (const change of changes) {
      const code = await this.#codeOf(change);
      if (code.length > 0) from.set(change, code);
    }
    const found = new Map<T, CommitLine[]>();
    // Mostly nothing is missing, which git says of all at once.
    if (from.size === 0 || (await this.#findMissing([...from.values()].flat())).length === 0) return found;
    for (const [change, code] of from) {
      const missing = await this.#findMissing(code);
      if (missing.length > 0) found.set(change, missing);
    }
    return found;
  }

  /** The code that a thread leads to and that does not lie right behind what the push expects the remote to have. */
  async #codeOf({ head, before }: Pick<ThreadChange, 'head' | 'before'>): Promise<ObjectId[]> {
    const code = head === null ? [] : [...(await findCodeCommits(this.#repository, head, before))];
    const had = new Set<ObjectId>();
    let at = code.length === 0 ? null : before;
    for (let passed = 0; at !== null && passed < NEAR; passed += 1) {
      const [previous = null, ...further] = (await readCommit(this.#repository.objects, at)).parents;
      for (const id of further) had.add(id);
      at = previous;
    }
    return code.filter((id) => !had.has(id));
  }

  async #findMissing(code: readonly ObjectId[]): Promise<CommitLine[]> {
    const from = [...new Set(code)].toSorted();
    const key = from.join(' ');
    const missing = this.#missing.get(key) ?? this.#list(from);
    this.#missing.set(key, missing);
    return missing;
  }

  async #list(from: readonly ObjectId[]): Promise<CommitLine[]> {
    this.#without ??= this.#readThere();
    const without = await this.#without;
    const { location } = this.#repository;
    // Without a disk there is no code beside the threads.
    if (location === undefined) return from.filter((id) => !without.includes(id)).map(asLine);
    return listCommits(location, this.#options.env ?? {}, { from, without, most: MAX_NAMED });
  }

  async #readThere(): Promise<ObjectId[]> {
    const here: ObjectId[] = [];
    const ids = new Set((await this.#there.said()).map(({ id }) => id));
    for (const id of ids) if (await this.#repository.objects.has(id)) here.push(id);
    return here;
  }
}

function asLine(commit: ObjectId): CommitLine {
  return { commit, subject: '' };
}
