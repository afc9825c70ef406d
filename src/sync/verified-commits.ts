import { readCommitNodes } from '../cas/commit-nodes.ts';
import { ObjectMissing } from '../git/object-errors.ts';
import type { ObjectId } from '../git/object-id.ts';
import { readCommit } from '../git/read.ts';
import type { Repository } from '../git/repository.ts';
import { ACTIVE_PREFIX, HISTORY_PREFIX } from '../thread/thread-refs.ts';
import { WORKFLOWS_PREFIX } from '../workflow/workflow-refs.ts';

const DAY_MS = 86_400_000;
/** How many local commits are gone through to find out; what was not found by then is verified again. */
const MAX_WALKED = 200_000;

type Waiting = { id: ObjectId; atMs: number; parents: readonly ObjectId[] };

/**
 * The commits that local threads, or workflows, lead to: they were verified before a ref led to them.
 *
 * Most are told without a walk: a head, and what is not in the repository at all. For the rest local history is walked,
 * newest first, no further than to a day before the commit in question. Whoever is not found is verified once more, so a
 * clock that was wrong costs time and nothing else.
 */
export class VerifiedCommits {
  readonly #repository: Repository;
  readonly #heads: ReadonlySet<ObjectId>;
  readonly #met = new Set<ObjectId>();
  /** What was met and whose parents were not yet, sorted by time, the newest last. */
  #waiting: Waiting[] | undefined;

  private constructor(repository: Repository, heads: ReadonlySet<ObjectId>) {
    this.#repository = repository;
    this.#heads = heads;
  }

  /**
   * What local refs of one kind lead to: that a commit is a sound part of a thread does not make it a version of a
   * workflow, nor the other way round.
   */
  static async of(repository: Repository, kind: 'threads' | 'workflows'): Promise<VerifiedCommits> {
    const heads = new Set<ObjectId>();
    for (const prefix of kind === 'threads' ? [ACTIVE_PREFIX, HISTORY_PREFIX] : [WORKFLOWS_PREFIX]) {
      for (const { id } of await repository.refs.list(prefix)) heads.add(id);
    }
    return VerifiedCommits.behind(repository, heads);
  }

  /** What some commits of threads lead to. */
  static behind(repository: Repository, heads: ReadonlySet<ObjectId>): VerifiedCommits {
    return new VerifiedCommits(repository, heads);
  }

  /** Tells whether a commit was verified; one that was may be taken for one that was not. */
  async has(id: ObjectId): Promise<boolean> {
    if (this.#heads.has(id) || this.#met.has(id)) return true;
    if (this.#heads.size === 0 || !(await this.#repository.objects.has(id))) return false;
    const commit = await readCommit(this.#repository.objects, id).catch(() => undefined);
    if (commit === undefined) return false;
    await this.#walkTo(commit.committer.atMs - DAY_MS, id);
    return this.#met.has(id);
  }

  async #walkTo(untilMs: number, wanted: ObjectId): Promise<void> {
    this.#waiting ??= await this.#begin();
    while (!this.#met.has(wanted) && this.#met.size < MAX_WALKED) {
      const next = this.#waiting.at(-1);
      if (next === undefined || next.atMs < untilMs) return;
      this.#waiting.pop();
      for (const [place, parent] of next.parents.entries()) {
        // The first parent of what belongs to a thread belongs to one; others may be somebody's code.
        if (place === 0 || (await this.#isOurs(parent))) await this.#meet(parent, this.#waiting);
      }
    }
  }

  async #begin(): Promise<Waiting[]> {
    const waiting: Waiting[] = [];
    for (const head of this.#heads) {
      const entry = await this.#read(head);
      if (entry) waiting.push(entry);
    }
    return waiting.toSorted((a, b) => a.atMs - b.atMs);
  }

  async #meet(id: ObjectId, waiting: Waiting[]): Promise<void> {
    if (this.#met.has(id)) return;
    const entry = await this.#read(id);
    if (entry === undefined) return;
    const place = waiting.findLastIndex(({ atMs }) => atMs <= entry.atMs);
    waiting.splice(place + 1, 0, entry);
  }

  async #read(id: ObjectId): Promise<Waiting | undefined> {
    try {
      const { committer, parents } = await readCommit(this.#repository.objects, id);
      this.#met.add(id);
      return { id, atMs: committer.atMs, parents };
    } catch (error) {
      // A ref to something damaged leads nowhere.
      if (error instanceof ObjectMissing || isData(error)) return undefined;
      throw error;
    }
  }

  async #isOurs(id: ObjectId): Promise<boolean> {
    const nodes = await readCommitNodes(this.#repository, id).catch(() => undefined);
    return nodes?.entries !== undefined;
  }
}

function isData(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'kind' in error && error.kind === 'data';
}
