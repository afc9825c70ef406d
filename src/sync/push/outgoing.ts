import type { ObjectId } from '../../git/format/object-id.ts';
import type { RefName } from '../../git/ref-store.ts';
import type { Commit } from '../../git/format/commit.ts';
import { readCommit } from '../../git/stores/read.ts';
import type { RemoteRef } from '../../git/transport/remote.ts';
import type { Repository } from '../../git/repository.ts';
import type { SecretPlace, SecretScan } from '../../thread/secret-scan.ts';
import { nodeOfMessage } from '../../thread/commit-message.ts';
import { readThreadCommit } from '../../thread/thread-commit.ts';
import { ACTIVE_PREFIX, HISTORY_PREFIX, historyRef, type ThreadId } from '../../thread/thread-id.ts';
import { checkForm } from '../../verify/commit/check-form.ts';
import { firstFault } from '../../verify/fault.ts';
import { NodeCache } from '../../verify/chain/known-nodes.ts';
import { VerifiedCommits } from '../../verify/incoming/verified-commits.ts';
import { eachOnce } from '../each-once.ts';

/** A thread's ref that a push would send. */
export type OutgoingRef = {
  name: RefName;
  thread: ThreadId;
  head: ObjectId;
  /** The commit that the push expects at the remote, or `null` for none. If the remote has another one, the push fails. */
  before: ObjectId | null;
};

/** The result of the check before a push. */
export type OutgoingVerdict = {
  /** Why it is no sound thread. */
  fault?: string;
  secrets: SecretPlace[];
};

/** A shorter thread is checked before the remote would have answered. */
const FIRST_ASKED = 32;

/** What was found in one commit, whatever its parents are. */
type Seen = OutgoingVerdict & { threads: readonly ObjectId[] };

/**
 * Checks what a push would send of threads, before it is sent: every commit has to have the form of a thread's commit, and
 * contain no secret.
 *
 * Commits behind the one that the push expects at the remote are not checked. Other refs of the remote may lead to a commit
 * as well; the remote is asked for them only if something was found, because a push does not send what the remote has.
 */
export class Outgoing {
  readonly #listAll: () => Promise<readonly RemoteRef[]>;
  readonly #scan: SecretScan | undefined;
  readonly #cache: NodeCache;
  readonly #seen = new Map<ObjectId, Seen>();
  readonly #bases = new Map<ObjectId, ObjectId | null>();
  #behindThere: Promise<VerifiedCommits> | undefined;

  /**
   * @param listAll lists all refs of the remote
   * @param scan finds secrets; default: they are not searched for
   */
  constructor(repository: Repository, listAll: () => Promise<readonly RemoteRef[]>, scan?: SecretScan) {
    this.#listAll = listAll;
    this.#scan = scan;
    this.#cache = new NodeCache(repository);
  }

  /**
   * Checks what would be sent of a thread, with its callers and children, but without commits of the user's code.
   * @throws {UwfError} of kind `data` if something cannot be read
   */
  async check({ name, thread, head, before }: OutgoingRef, signal?: AbortSignal): Promise<OutgoingVerdict> {
    const passed = await this.#behind(before);
    const secrets: SecretPlace[] = [];
    const waiting = [head];
    for (const id of eachOnce(waiting, passed)) {
      signal?.throwIfAborted();
      const { threads, ...seen } = this.#seen.get(id) ?? (await this.#look(id));
      const isOdd = seen.fault !== undefined || seen.secrets.length > 0;
      if (isOdd && (await this.#isThere(id))) continue;
      if (seen.fault !== undefined) return { ...seen, secrets };
      secrets.push(...seen.secrets);
      waiting.push(...threads);
    }
    const fault = await this.#faultOfName(name, thread, head);
    return { ...(fault !== undefined && { fault }), secrets };
  }

  /**
   * Finds a commit at the remote behind the head of a thread that the remote does not have: a fork may share most of its
   * steps with a thread there. The remote is asked only about a long chain, and about few of its commits.
   */
  async findBase(head: ObjectId): Promise<ObjectId | null> {
    const known = this.#bases.get(head);
    if (known !== undefined) return known;
    let base: ObjectId | null = null;
    let [at, passed, next]: [ObjectId | undefined, number, number] = [head, 0, FIRST_ASKED];
    while (at !== undefined && base === null) {
      passed += 1;
      if (passed === next) {
        next *= 2;
        if (await this.#isThere(at)) base = at;
      }
      // The check reports a commit that cannot be read.
      const commit: Commit | undefined = await readCommit(this.#cache.repository.objects, at).catch(() => undefined);
      // Behind the start can be the user's code, which may be long.
      at = commit && nodeOfMessage(commit.message) !== undefined ? commit.parents[0] : undefined;
    }
    this.#bases.set(head, base);
    return base;
  }

  /** Searches commits of code that go along for secrets. */
  async checkCode(commits: readonly ObjectId[]): Promise<SecretPlace[]> {
    const secrets: SecretPlace[] = [];
    for (const id of commits) secrets.push(...((await this.#scan?.scanCode(id)) ?? []));
    return secrets;
  }

  /** The remote's commit of the thread and its parents: a step that was done again has the same parents. */
  async #behind(before: ObjectId | null): Promise<Set<ObjectId>> {
    if (before === null) return new Set();
    return new Set([before, ...(await readCommit(this.#cache.repository.objects, before)).parents]);
  }

  async #look(id: ObjectId): Promise<Seen> {
    const seen = await this.#checkCommit(id);
    this.#seen.set(id, seen);
    return seen;
  }

  async #checkCommit(id: ObjectId): Promise<Seen> {
    const { report, reason } = firstFault(id);
    const form = await checkForm(this.#cache, id, report);
    const fault = reason();
    if (fault !== undefined) return { fault, secrets: [], threads: [] };
    if (form === undefined) return { secrets: [], threads: [] };
    const { commit, nodes, threads, code } = form;
    const step = commit.kind === 'step' ? commit.node.number : null;
    const secrets = await this.#scan?.scanCommit({ id, tree: commit.commit.tree, step, nodes, code });
    return { secrets: secrets ?? [], threads };
  }

  async #faultOfName(name: RefName, thread: ThreadId, head: ObjectId): Promise<string | undefined> {
    if (!name.startsWith(HISTORY_PREFIX)) return undefined;
    const commit = await readThreadCommit(this.#cache.repository, head);
    if (commit.kind !== 'end') return 'its ref is for threads that ended, and it has not';
    return historyRef(thread, commit.node.completedAtMs) === name
      ? undefined
      : 'it ended on another day than its ref says';
  }

  async #isThere(id: ObjectId): Promise<boolean> {
    this.#behindThere ??= this.#listAll().then((refs) => {
      const ofThreads = refs.filter(({ name }) => name.startsWith(ACTIVE_PREFIX) || name.startsWith(HISTORY_PREFIX));
      return new VerifiedCommits(this.#cache.repository, new Set(ofThreads.map(({ id }) => id)));
    });
    return (await this.#behindThere).has(id);
  }
}
