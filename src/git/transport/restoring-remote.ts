import { isObjectId, type ObjectId } from '../format/object-id.ts';
import { parseRefName } from '../format/ref-name.ts';
import type { GitEnvironment, RepositoryLocation } from '../repository.ts';
import { inPlaceOf } from '../../or-else.ts';
import { GitFailed, runGit } from '../process/run-git.ts';
import { lostTipIn } from './git-output.ts';
import type { FetchRequest, IncomingObjects, PushRequest, PushResult, Remote, RemoteRef } from './remote.ts';

/** What sending lost objects again needs. */
export type RestoringOptions = {
  /** The repository that may have the objects. */
  source: { location: RepositoryLocation; env: GitEnvironment };
  /** Whether it may lack objects that its refs lead to: a partial clone. */
  isPartial: boolean;
  /** Tells whether a ref of the remote is uwf's, by its name there. */
  isOurs: (name: string) => boolean;
  /** Is told of each ref whose objects were sent again. */
  onRestored?: ((name: string) => void) | undefined;
};

/**
 * A remote that gets back what it has lost.
 *
 * `git gc --prune=now` at a remote removes the objects of a push that is under way. The ref then leads to a missing commit, and
 * git takes no push at all to that remote, only deletions. Where the commit is here, the ref is deleted under its value and
 * pushed again, so that nothing is lost that another clone has published meanwhile.
 *
 * Source: `check_connected` in git's connected.c, which no deletion passes through.
 */
export class RestoringRemote implements Remote {
  readonly name: string;
  readonly url: string;
  readonly isConfigured: boolean;
  readonly #remote: Remote;
  readonly #options: RestoringOptions;
  /** Refs that were deleted there and not yet pushed again: a connection broke in between. */
  readonly #owed = new Map<string, RemoteRef>();

  constructor(remote: Remote, options: RestoringOptions) {
    this.name = remote.name;
    this.url = remote.url;
    this.isConfigured = remote.isConfigured;
    this.#remote = remote;
    this.#options = options;
  }

  list(patterns: readonly string[], signal?: AbortSignal): Promise<RemoteRef[]> {
    return this.#remote.list(patterns, signal);
  }

  fetch(request: FetchRequest): Promise<IncomingObjects> {
    return this.#remote.fetch(request);
  }

  async push(request: PushRequest): Promise<PushResult[]> {
    const { signal } = request;
    if (this.#owed.size > 0) await this.#pushOwed(signal);
    const tried = new Set<string>();
    for (;;) {
      const results = await this.#remote.push(request);
      let lost = lostIn(results);
      if (lost === undefined) return results;
      while (lost !== undefined) {
        if (tried.has(lost) || !(await this.#takeOut(lost, signal))) return explained(results, lost, this.name);
        tried.add(lost);
        lost = await this.#pushOwed(signal);
      }
    }
  }

  /**
   * Deletes a lost ref there, if all it led to is here.
   * @param lost its name, or the commit
   * @returns whether it was deleted, or another clone is doing the same
   */
  async #takeOut(lost: string, signal: AbortSignal | undefined): Promise<boolean> {
    const listed = await this.#remote.list([isObjectId(lost) ? 'refs/*' : lost], signal);
    const ref = listed.find(({ name, id }) => name === lost || id === lost);
    if (ref === undefined) return true;
    const { name } = ref;
    if (!this.#options.isOurs(name)) return false;
    if (!(await this.#isWhole(ref.id))) return false;
    this.#owed.set(name, ref);
    const deletion = { name: parseRefName(name), value: null, expected: ref.id };
    const [result] = await this.#remote.push({ edits: [deletion], isForward: true, signal });
    if (result?.outcome === 'done') return true;
    this.#owed.delete(name);
    return result?.outcome === 'moved';
  }

  /** @returns another ref that is lost, and so in the way */
  async #pushOwed(signal: AbortSignal | undefined): Promise<string | undefined> {
    const edits = [...this.#owed.values()].map(({ name, id }) => ({
      name: parseRefName(name),
      value: id,
      expected: null,
    }));
    const results = await this.#remote.push({ edits, isForward: true, signal });
    const lost = lostIn(results);
    if (lost !== undefined) return lost;
    for (const { name, outcome } of results) {
      // `moved`: another clone was faster.
      if (outcome !== 'refused' && outcome !== 'undone') this.#owed.delete(name);
      if (outcome === 'done') this.#options.onRestored?.(name);
    }
    return undefined;
  }

  /** Tells whether a commit is here with everything it leads to. */
  async #isWhole(id: ObjectId): Promise<boolean> {
    const { source, isPartial } = this.#options;
    if (isPartial) return false;
    const args = ['rev-list', '--objects', '--quiet', id, '--not', '--all'];
    return runGit({ ...source, args }).then(() => true, inPlaceOf(GitFailed, false));
  }
}

function lostIn(results: readonly PushResult[]): string | undefined {
  for (const result of results) {
    const lost = result.outcome === 'refused' ? lostTipIn(result.reason) : undefined;
    if (lost !== undefined) return lost;
  }
  return undefined;
}

function explained(results: readonly PushResult[], lost: string, remote: string): PushResult[] {
  const reason =
    `${remote} has lost the commit of ${lost}, and takes no push before a clone that has it pushes, ` +
    `or the ref is removed: git push ${remote} :${lost}`;
  return results.map((result) => (result.outcome === 'refused' ? { ...result, reason } : result));
}
