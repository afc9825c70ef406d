import { listCommits, type CommitLine } from '../git/native/list-commits.ts';
import type { GitEnvironment } from '../git/git-directory.ts';
import type { ObjectId } from '../git/object-id.ts';
import type { Remote, RemoteRef } from '../git/remote.ts';
import type { Repository } from '../git/repository.ts';
import { findCodeCommits } from './find-code-commits.ts';
import type { ThreadChange } from './report.ts';

/** A report names no more commits than this. */
const MAX_NAMED = 1000;

/**
 * Finds the commits of the user's code that a push of a thread would publish.
 *
 * A step that recorded files has the commit that was checked out as a parent, and a push sends what that follows: commits
 * that the user has not pushed, and what later commits took away again.
 */
export class UnpublishedCode {
  readonly #repository: Repository;
  readonly #remote: Remote;
  readonly #known: readonly ObjectId[];
  readonly #options: { env?: GitEnvironment; signal?: AbortSignal };
  #listed: Promise<ObjectId[]> | undefined;

  /** @param there what the remote is known to have of threads and workflows */
  constructor(
    repository: Repository,
    remote: Remote,
    there: readonly RemoteRef[],
    options: { env?: GitEnvironment; signal?: AbortSignal },
  ) {
    this.#repository = repository;
    this.#remote = remote;
    this.#known = there.map(({ id }) => id);
    this.#options = options;
  }

  /**
   * @returns the commits that no ref of the remote leads to, the newest first, at most 1,000
   * @throws {RemoteUnreachable} if the remote cannot be asked what it has
   */
  async of({ head, before }: ThreadChange): Promise<CommitLine[]> {
    if (head === null) return [];
    const from = [...(await findCodeCommits(this.#repository, head, before))];
    // Most threads that go forward bring no other commit than before: then the remote need not be asked.
    if (from.length === 0 || (await this.#missing(from, this.#known)).length === 0) return [];
    this.#listed ??= this.#list();
    return this.#missing(from, await this.#listed);
  }

  async #list(): Promise<ObjectId[]> {
    return (await this.#remote.list(['refs/*'], this.#options.signal)).map(({ id }) => id);
  }

  async #missing(from: readonly ObjectId[], there: readonly ObjectId[]): Promise<CommitLine[]> {
    const { location, objects } = this.#repository;
    const without: ObjectId[] = [];
    for (const id of new Set(there)) if (await objects.has(id)) without.push(id);
    // Without a disk there is no code beside the threads.
    if (location === undefined) return from.filter((id) => !without.includes(id)).map(asLine);
    return listCommits(location, this.#options.env ?? {}, { from, without, most: MAX_NAMED });
  }
}

function asLine(commit: ObjectId): CommitLine {
  return { commit, subject: '' };
}
