import type { ObjectId } from '../git/object-id.ts';
import type { RefName } from '../git/ref-store.ts';
import { readCommit } from '../git/read.ts';
import type { Repository } from '../git/repository.ts';
import type { SecretPlace, SecretScan } from '../thread/secrets/secret-scan.ts';
import { readThreadCommit } from '../thread/thread-commit.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import { ACTIVE_PREFIX, HISTORY_PREFIX, historyRef } from '../thread/thread-refs.ts';
import { checkForm } from '../thread/verify/check-form.ts';
import { firstFinding } from '../thread/verify/finding.ts';
import { NodeCache } from '../thread/verify/known-nodes.ts';
import type { RemoteRefs } from './remote-refs.ts';
import { VerifiedCommits } from './verified-commits.ts';

/** A ref of a thread that is about to be pushed. */
export type OutgoingRef = {
  name: RefName;
  thread: ThreadId;
  head: ObjectId;
  /** Where the push expects the remote to have the thread, without which nothing of it is sent; `null` for nowhere. */
  before: ObjectId | null;
};

/** What was found out about it. */
export type OutgoingVerdict = {
  /** Why it is no sound thread. */
  fault?: string;
  secrets: SecretPlace[];
};

/** The fault of a thread that is sound and must not leave. */
export const GONE = 'it stands on what secrets were taken out of';

/** A commit that was looked at; `fault` and `secrets` are its own, whatever stands behind it. */
type Seen = { fault: string | undefined; secrets: SecretPlace[]; threads: readonly ObjectId[] };

/**
 * Looks through what a push would send of threads, before it is sent: all of it has to be a thread's, and none of it a secret.
 *
 * What lies behind where the remote has the thread is not looked at. That is what the push itself expects the remote to have,
 * so that it fails if that is not so. For what other refs of the remote may lead to, the remote is asked, and only where
 * something was found: what it has it is not sent.
 */
export class Outgoing {
  readonly #repository: Repository;
  readonly #there: RemoteRefs;
  readonly #isGone: (id: ObjectId) => boolean;
  readonly #scan: SecretScan | undefined;
  readonly #cache: NodeCache;
  readonly #seen = new Map<ObjectId, Seen>();
  #behindThere: Promise<VerifiedCommits> | undefined;

  /**
   * @param isGone tells of a commit that secrets were taken out of
   * @param scan looks for secrets; default: they are not looked for
   */
  constructor(repository: Repository, there: RemoteRefs, isGone: (id: ObjectId) => boolean, scan?: SecretScan) {
    this.#repository = repository;
    this.#there = there;
    this.#isGone = isGone;
    this.#scan = scan;
    this.#cache = new NodeCache(repository);
  }

  /**
   * Judges what would be sent of a thread, its callers and children included; no commit of somebody's code.
   * @throws {UwfError} of kind `data` if something cannot be read
   */
  async judge({ name, thread, head, before }: OutgoingRef, signal?: AbortSignal): Promise<OutgoingVerdict> {
    const passed = await this.#behind(before);
    const secrets: SecretPlace[] = [];
    const waiting = [head];
    for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
      if (passed.has(id)) continue;
      passed.add(id);
      signal?.throwIfAborted();
      const seen = this.#seen.get(id) ?? (await this.#look(id));
      this.#seen.set(id, seen);
      const isOdd = seen.fault !== undefined || seen.secrets.length > 0;
      if (isOdd && (await this.#isThere(id))) continue;
      if (seen.fault !== undefined) return { fault: seen.fault, secrets };
      secrets.push(...seen.secrets);
      waiting.push(...seen.threads);
    }
    const fault = await this.#faultOfName(name, thread, head);
    return { ...(fault !== undefined && { fault }), secrets };
  }

  /** Looks for secrets in commits of code that go along. */
  async judgeCode(commits: readonly ObjectId[]): Promise<SecretPlace[]> {
    const secrets: SecretPlace[] = [];
    for (const id of commits) secrets.push(...((await this.#scan?.scanCode(id)) ?? []));
    return secrets;
  }

  /** Where the remote has the thread, and what that stands on: a step that is done again stands on the same. */
  async #behind(before: ObjectId | null): Promise<Set<ObjectId>> {
    if (before === null) return new Set();
    return new Set([before, ...(await readCommit(this.#repository.objects, before)).parents]);
  }

  async #look(id: ObjectId): Promise<Seen> {
    if (this.#isGone(id)) return { fault: GONE, secrets: [], threads: [] };
    const { report, reason } = firstFinding(id);
    const form = await checkForm(this.#repository, this.#cache, id, report);
    const fault = reason();
    if (form === undefined || fault !== undefined) return { fault, secrets: [], threads: [] };
    const { commit, nodes, threads, code } = form;
    const step = commit.kind === 'step' ? commit.node.number : null;
    const secrets = await this.#scan?.scanCommit({ id, tree: commit.commit.tree, step, nodes, code });
    return { fault, secrets: secrets ?? [], threads };
  }

  async #faultOfName(name: RefName, thread: ThreadId, head: ObjectId): Promise<string | undefined> {
    if (!name.startsWith(HISTORY_PREFIX)) return undefined;
    const commit = await readThreadCommit(this.#repository, head);
    if (commit.kind !== 'end') return 'its ref is for threads that ended, and it has not';
    return historyRef(thread, commit.node.completedAtMs) === name
      ? undefined
      : 'it ended on another day than its ref says';
  }

  async #isThere(id: ObjectId): Promise<boolean> {
    this.#behindThere ??= this.#there.said().then((refs) => {
      const ofThreads = refs.filter(({ name }) => name.startsWith(ACTIVE_PREFIX) || name.startsWith(HISTORY_PREFIX));
      return VerifiedCommits.behind(this.#repository, new Set(ofThreads.map((ref) => ref.id)));
    });
    return (await this.#behindThere).has(id);
  }
}
