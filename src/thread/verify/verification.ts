import type { NodeHash } from '../../cas/hash.ts';
import { prepareHashing } from '../../cas/hash.ts';
import type { StoredNode } from '../../cas/node-source.ts';
import type { ObjectId } from '../../git/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import type { ThreadCommit } from '../thread-commit.ts';
import type { ThreadId } from '../thread-id.ts';
import { stateHash, type ThreadState } from '../thread-state.ts';
import { checkCommit, type Judge } from './check-commit.ts';
import { attempt, type Finding, type Report } from './finding.ts';
import { growState } from './grow-state.ts';
import { KnownNodes, NodeCache } from './known-nodes.ts';
import { readChecked, type CheckedCommit } from './read-checked.ts';
import { readStanding, type Standing } from './standing.ts';

/** What was found out about one thread. */
export type Verified = {
  /** How many commits were looked at, those of child threads included. */
  commits: number;
  /** What is wrong, the commits in the order in which they were made. */
  findings: Finding[];
};

const MAX_REMEMBERED = 50_000;

/**
 * Verifies threads of one repository. What threads share (forks, children) is looked at once, and is reported for each.
 *
 * All that a promise of the format says is checked, and nothing is believed: every object is read, every hash computed
 * again, every decision made again. Nothing is run and nothing is written.
 */
export class Verification {
  readonly #repository: Repository;
  readonly #judge: Judge;
  readonly #cache: NodeCache;
  readonly #commits = new Map<ObjectId, CheckedCommit | undefined>();
  readonly #standings = new Map<ObjectId, Standing>();
  readonly #findings = new Map<ObjectId, Finding[]>();
  readonly #sound = new Set<NodeHash>();

  /** @param leavesOut whether contents that a light fetch left out are left unchecked, rather than fetched */
  constructor(repository: Repository, judge: Judge, leavesOut: boolean = false) {
    this.#repository = repository;
    this.#judge = judge;
    this.#cache = new NodeCache(repository, leavesOut);
  }

  /** Contents that were not here and not checked, of all threads so far. */
  get leftOut(): readonly ObjectId[] {
    return [...this.#cache.leftOut];
  }

  /** Verifies all that a head reaches, except commits of somebody's code. */
  async verify(id: ThreadId, head: ObjectId): Promise<Verified> {
    await prepareHashing();
    if (this.#commits.size > MAX_REMEMBERED) {
      for (const memory of [this.#commits, this.#standings, this.#findings]) memory.clear();
    }
    const visited = new Set<ObjectId>();
    await this.#verifyThread(id, head, visited);
    return { commits: visited.size, findings: [...visited].flatMap((commit) => this.#findings.get(commit) ?? []) };
  }

  async #verifyThread(id: ThreadId, head: ObjectId, visited: Set<ObjectId>): Promise<Standing | undefined> {
    const chain = await this.#readChain(head, visited);
    const [first] = chain;
    if (first === undefined || first.commit.kind !== 'start') return undefined;
    const start = first.commit;
    const known = new KnownNodes(this.#repository, this.#cache);
    let state: ThreadState | undefined;
    for (const checked of chain) {
      const { commit, files } = checked;
      visited.add(commit.id);
      const report = this.#reportOn(commit.id, this.#standings.has(commit.id));
      const nodes = new Map<string, StoredNode>();
      for (const entry of files.index) {
        const node = await attempt(report, entry.path, () => known.add(entry, files.index));
        if (node) nodes.set(entry.path, node);
      }
      const further = commit.kind === 'start' ? commit.commit.parents : commit.commit.parents.slice(1);
      for (const parent of further) known.addBehind(parent);
      const threads = commit.kind === 'start' ? undefined : await this.#verifyParents(id, further, visited);
      if (!this.#standings.has(commit.id)) {
        const caller = await this.#callerOf(commit, report);
        const place = { start, before: state, caller, threads: threads ?? new Map() };
        await checkCommit(this.#repository, checked, place, nodes, known, this.#sound, this.#judge, report);
      }
      state = growState(id, state, commit, nodes);
      this.#standings.set(commit.id, { head: commit, start, state: stateHash(state) });
    }
    return this.#standings.get(head);
  }

  /** The commits of a thread, the start first; none if it cannot be gone through to there. */
  async #readChain(head: ObjectId, visited: Set<ObjectId>): Promise<CheckedCommit[]> {
    const chain: CheckedCommit[] = [];
    for (let id = head; ;) {
      const report = this.#reportOn(id, this.#commits.has(id));
      const checked = this.#commits.has(id)
        ? this.#commits.get(id)
        : await readChecked(this.#repository, this.#cache, id, report);
      this.#commits.set(id, checked);
      const parent = checked?.commit.commit.parents[0];
      if (checked?.commit.kind === 'start') return [checked, ...chain.toReversed()];
      if (checked === undefined || parent === undefined) {
        if (checked) report(null, 'it is no start and has no parent');
        for (const broken of [id, ...chain.map(({ commit }) => commit.id).toReversed()]) visited.add(broken);
        return [];
      }
      chain.push(checked);
      id = parent;
    }
  }

  /** Verifies the further parents that are commits of threads: children, what was replaced, what is linked to. */
  async #verifyParents(
    id: ThreadId,
    parents: readonly ObjectId[],
    visited: Set<ObjectId>,
  ): Promise<Map<ObjectId, Standing>> {
    const threads = new Map<ObjectId, Standing>();
    for (const parent of parents) {
      if (!(await this.#isThreads(parent))) continue;
      const standing = await this.#verifyThread(id, parent, visited);
      if (standing) threads.set(parent, standing);
    }
    return threads;
  }

  /** Tells a commit of a thread, damaged or not, from one of somebody's code. */
  async #isThreads(id: ObjectId): Promise<boolean> {
    if (this.#commits.has(id)) return true;
    const { readCommitNodes } = await import('../../cas/commit-nodes.ts');
    const nodes = await attempt(
      () => undefined,
      null,
      () => readCommitNodes(this.#repository, id),
    );
    return nodes === undefined || nodes.entries !== undefined;
  }

  async #callerOf(commit: ThreadCommit, report: Report): Promise<Standing | undefined> {
    const [caller] = commit.commit.parents;
    if (commit.kind !== 'start' || caller === undefined) return undefined;
    return attempt(report, null, async () => this.#standings.get(caller) ?? readStanding(this.#repository, caller));
  }

  #reportOn(commit: ObjectId, isKnown: boolean): Report {
    const findings = this.#findings.get(commit) ?? [];
    this.#findings.set(commit, findings);
    return (path, what) => {
      // What is gone through again for another thread was reported the first time.
      if (!isKnown) findings.push({ commit, path, what });
    };
  }
}
