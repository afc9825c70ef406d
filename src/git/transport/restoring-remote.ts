import { isObjectId, type ObjectId } from '../format/object-id.ts';
import { parseRefName } from '../format/refs.ts';
import type { GitEnvironment, RepositoryLocation } from '../repository.ts';
import { inPlaceOf } from '../../or-else.ts';
import { GitFailed, runGit } from '../process/run-git.ts';
import { lostTipIn } from './git-output.ts';
import {
  refusalIn,
  type FetchRequest,
  type IncomingObjects,
  type PushEdit,
  type PushRequest,
  type PushResult,
  type Remote,
  type RemoteRef,
} from './remote.ts';

/** What sending lost objects again needs. */
export type RestoringOptions = {
  /** The repository that may have the objects. */
  location: RepositoryLocation;
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
 * pushed again, so that nothing is lost that another clone has published meanwhile. What is killed in between leaves it deleted: a
 * fetch then names it as gone there, and a push that names it sends it.
 *
 * Source: `check_connected` in git's connected.c, which no deletion passes through.
 */
export class RestoringRemote implements Remote {
  readonly name: string;
  readonly url: string;
  readonly isConfigured: boolean;
  readonly #remote: Remote;
  readonly #options: RestoringOptions;

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
    const tried = new Set<string>();
    for (;;) {
      const results = await this.#remote.push(request);
      let lost = lostIn(results);
      if (lost === undefined) return results;
      const owed: PushEdit[] = [];
      while (lost !== undefined) {
        const taken: PushEdit[] | undefined = tried.has(lost) ? undefined : await this.#takeOut(lost, signal);
        tried.add(lost);
        if (taken === undefined) return this.#explained(results, lost, owed);
        owed.push(...taken);
        const again: PushResult[] =
          owed.length === 0 ? [] : await this.#remote.push({ edits: owed, isForward: true, signal });
        lost = lostIn(again);
        const refusal = refusalIn(again);
        if (lost === undefined && refusal !== undefined) return this.#explained(results, refusal, owed);
        for (const { name, outcome } of again) if (outcome === 'done') this.#options.onRestored?.(name);
      }
    }
  }

  /**
   * Deletes a lost ref there, if all it led to is here.
   * @param lost its name, or the commit
   * @returns what brings it back: nothing where another clone is doing the same; `undefined` if it was not deleted
   */
  async #takeOut(lost: string, signal: AbortSignal | undefined): Promise<PushEdit[] | undefined> {
    const listed = await this.#remote.list([isObjectId(lost) ? 'refs/*' : lost], signal);
    const ref = listed.find(({ name, id }) => name === lost || id === lost);
    if (ref === undefined) return [];
    if (!this.isConfigured || !this.#options.isOurs(ref.name) || !(await this.#isWhole(ref.id))) return undefined;
    const name = parseRefName(ref.name);
    const deletion = { name, value: null, expected: ref.id };
    const [result] = await this.#remote.push({ edits: [deletion], isForward: true, signal });
    if (result?.outcome === 'done') return [{ name, value: ref.id, expected: null }];
    return result?.outcome === 'moved' ? [] : undefined;
  }

  /** Tells whether a commit is here with everything it leads to. */
  async #isWhole(id: ObjectId): Promise<boolean> {
    const { location, env } = this.#options;
    const args = ['rev-list', '--objects', '--quiet', id, '--not', '--all'];
    return runGit({ location, env, args }).then(() => true, inPlaceOf(GitFailed, false));
  }

  #explained(results: readonly PushResult[], lost: string, owed: readonly PushEdit[]): PushResult[] {
    const remote = this.name;
    const isRef = lost.startsWith('refs/') || isObjectId(lost);
    const what = isRef
      ? `${remote} has lost the commit of ${lost}, and takes no push before a clone that has it pushes, ` +
        `or the ref is removed: git push ${remote} :${lost}`
      : `${remote} had lost commits, and does not take them again: ${lost}`;
    const names = owed.map(({ name }) => name).join(', ');
    const reason = names === '' ? what : `${what}; then push what is missing there: ${names}`;
    return results.map((result) => (result.outcome === 'refused' ? { ...result, reason } : result));
  }
}

function lostIn(results: readonly PushResult[]): string | undefined {
  for (const result of results) {
    const lost = result.outcome === 'refused' ? lostTipIn(result.reason) : undefined;
    if (lost !== undefined) return lost;
  }
  return undefined;
}
