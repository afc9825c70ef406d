import { isObjectId, type ObjectId } from '../format/object-id.ts';
import { parseRefName } from '../format/ref-name.ts';
import type { GitEnvironment, Repository, RepositoryLocation } from '../repository.ts';
import { inPlaceOf } from '../../or-else.ts';
import { GitFailed, runGit } from '../process/run-git.ts';
import { lostTipIn } from './git-output.ts';
import type { FetchRequest, IncomingObjects, PushEdit, PushRequest, PushResult, Remote, RemoteRef } from './remote.ts';

/** Where a repository notes what it has deleted at a remote and not yet pushed again. */
const OWED_PREFIX = 'refs/uwf/owed/';

/** What sending lost objects again needs. */
export type RestoringOptions = {
  /** The repository that may have the objects. */
  repository: Pick<Repository, 'refs'> & { location: RepositoryLocation };
  env: GitEnvironment;
  /** Tells whether a ref of the remote is uwf's, by its name there. */
  isOurs: (name: string) => boolean;
  /** Called for each ref whose objects were sent again. */
  onRestored?: ((name: string) => void) | undefined;
};

/**
 * A remote that gets back what it has lost.
 *
 * `git gc --prune=now` at a remote removes the objects of a push that is under way. The ref then leads to a missing commit, and
 * git takes no push at all to that remote, only deletions. Where the commit is here, the ref is deleted under its value and
 * pushed again, so that nothing is lost that another clone has published meanwhile. A ref here says so until that is done: the
 * next push of this repository does it, should the process be killed in between.
 *
 * Source: `check_connected` in git's connected.c, which no deletion passes through.
 */
export class RestoringRemote implements Remote {
  readonly name: string;
  readonly url: string;
  readonly isConfigured: boolean;
  readonly #remote: Remote;
  readonly #options: RestoringOptions;
  readonly #owedPrefix: string;

  constructor(remote: Remote, options: RestoringOptions) {
    this.name = remote.name;
    this.url = remote.url;
    this.isConfigured = remote.isConfigured;
    this.#remote = remote;
    this.#options = options;
    this.#owedPrefix = `${OWED_PREFIX}${remote.name}/`;
  }

  list(patterns: readonly string[], signal?: AbortSignal): Promise<RemoteRef[]> {
    return this.#remote.list(patterns, signal);
  }

  fetch(request: FetchRequest): Promise<IncomingObjects> {
    return this.#remote.fetch(request);
  }

  async push(request: PushRequest): Promise<PushResult[]> {
    const { signal } = request;
    if (this.isConfigured) await this.#pushOwed(signal);
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
    if (!this.isConfigured || !this.#options.isOurs(ref.name) || !(await this.#isWhole(ref.id))) return false;
    const { refs } = this.#options.repository;
    const owed = parseRefName(this.#owedPrefix + ref.name.slice('refs/'.length));
    await refs.update([{ name: owed, expected: (await refs.read(owed)) ?? null, value: ref.id }]);
    const deletion = { name: parseRefName(ref.name), value: null, expected: ref.id };
    const [result] = await this.#remote.push({ edits: [deletion], isForward: true, signal });
    if (result?.outcome === 'done') return true;
    await refs.update([{ name: owed, expected: ref.id, value: null }]);
    return result?.outcome === 'moved';
  }

  /** @returns another ref that is lost, and so in the way */
  async #pushOwed(signal: AbortSignal | undefined): Promise<string | undefined> {
    const { repository, onRestored } = this.#options;
    const owed = await repository.refs.list(this.#owedPrefix);
    if (owed.length === 0) return undefined;
    const edits = owed.map(({ name, id }): PushEdit => ({
      name: parseRefName(`refs/${name.slice(this.#owedPrefix.length)}`),
      value: id,
      expected: null,
    }));
    const results = await this.#remote.push({ edits, isForward: true, signal });
    const lost = lostIn(results);
    if (lost !== undefined) return lost;
    for (const [at, { name, outcome }] of results.entries()) {
      const done = owed[at];
      // `moved`: another clone was faster.
      if (outcome === 'refused' || outcome === 'undone' || done === undefined) continue;
      await repository.refs.update([{ name: done.name, expected: done.id, value: null }]);
      if (outcome === 'done') onRestored?.(name);
    }
    return undefined;
  }

  /** Tells whether a commit is here with everything it leads to. */
  async #isWhole(id: ObjectId): Promise<boolean> {
    const { repository, env } = this.#options;
    const args = ['rev-list', '--objects', '--quiet', id, '--not', '--all'];
    return runGit({ location: repository.location, env, args }).then(() => true, inPlaceOf(GitFailed, false));
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
