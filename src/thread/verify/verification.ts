import { prepareHashing } from '../../cas/hash.ts';
import type { StoredNode } from '../../cas/node-source.ts';
import type { ObjectId } from '../../git/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import type { ThreadCommit } from '../thread-commit.ts';
import type { ThreadId } from '../thread-id.ts';
import { checkCommit, type Judge } from './check-commit.ts';
import { findChain } from './find-chain.ts';
import { attempt, type Finding, type Report } from './finding.ts';
import { KnownNodes, NodeCache } from './known-nodes.ts';
import { readChecked, type CheckedCommit } from './read-checked.ts';
import { furtherParents } from './resume-verification.ts';
import { readStanding, standingOf, type Standing } from './standing.ts';
import { growVerified, textPathOf, type Verified } from './verified.ts';

/** What was found out about one thread. */
export type Verdict = {
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
  readonly #standings = new Map<ObjectId, Standing>();
  /** What is wrong with commits that were looked at; of most it is nothing. */
  readonly #findings = new Map<ObjectId, Finding[]>();
  readonly #met = new Set<ObjectId>();
  readonly #sound = new Set<string>();

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
  async verify(id: ThreadId, head: ObjectId): Promise<Verdict> {
    await prepareHashing();
    for (const memory of [this.#met, this.#standings, this.#findings, this.#sound]) {
      if (memory.size > MAX_REMEMBERED) memory.clear();
    }
    const visited = new Set<ObjectId>();
    await this.#verifyThread(id, head, visited);
    return { commits: visited.size, findings: [...visited].flatMap((commit) => this.#findings.get(commit) ?? []) };
  }

  async #verifyThread(id: ThreadId, head: ObjectId, visited: Set<ObjectId>): Promise<Standing | undefined> {
    const { ids, wrong } = await findChain(this.#repository, head, { isKnown: () => false, maxCommits: Infinity });
    let isBroken = wrong !== undefined;
    let before: Verified | undefined;
    for (const commit of ids.toReversed()) {
      visited.add(commit);
      const report = this.#reportOn(commit);
      const checked = await readChecked(this.#repository, this.#cache, commit, report);
      // Of commits that lead to no start no more can be said than what each says by itself.
      if (wrong !== undefined && commit === ids.at(-1)) report(null, wrong);
      const isChecked = checked !== undefined && !isBroken;
      if (isChecked) {
        const stand = before;
        before = await attempt(report, null, () => this.#verifyCommit(id, checked, stand, visited, report));
      }
      isBroken ||= before === undefined || !isChecked;
      this.#met.add(commit);
    }
    return this.#standings.get(head);
  }

  /** Checks one commit. @returns what the next one is checked by; `undefined` if there is no going on */
  async #verifyCommit(
    id: ThreadId,
    checked: CheckedCommit,
    before: Verified | undefined,
    visited: Set<ObjectId>,
    report: Report,
  ): Promise<Verified | undefined> {
    const { commit, files } = checked;
    const start = commit.kind === 'start' ? commit : before?.progress.start;
    if (start === undefined) return undefined;
    const known = before?.known ?? new KnownNodes(this.#repository, this.#cache);
    const isKnown = this.#standings.has(commit.id);
    const textPath = textPathOf(commit);
    const nodes = new Map<string, StoredNode>();
    for (const entry of files.index) {
      // What was read for another thread is not read again, but for what rules see of it.
      if (isKnown && entry.path !== textPath) known.recall(entry);
      else {
        const node = await attempt(report, entry.path, () => known.add(entry, files.index));
        if (node) nodes.set(entry.path, node);
      }
    }
    const further = furtherParents(commit);
    for (const parent of further) known.addBehind(parent);
    const threads = commit.kind === 'start' ? undefined : await this.#verifyParents(id, further, visited);
    if (!isKnown) {
      const caller = await this.#callerOf(commit, report);
      const place = { start, before, caller, threads: threads ?? new Map() };
      await checkCommit(this.#repository, checked, place, nodes, known, this.#sound, report);
    }
    const text = nodes.get(textPath ?? '');
    const grown = await attempt(report, null, () => growVerified(before, commit, text, known, this.#judge));
    if (grown) this.#standings.set(commit.id, standingOf(commit, start, grown.progress));
    return grown;
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
    if (this.#met.has(id)) return true;
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

  #reportOn(commit: ObjectId): Report {
    // What is gone through again for another thread was reported the first time.
    const isKnown = this.#met.has(commit);
    return (path, what) => {
      if (isKnown) return;
      const findings = this.#findings.get(commit) ?? [];
      this.#findings.set(commit, findings);
      findings.push({ commit, path, what });
    };
  }
}
