import { prepareHashing } from '../../cas/hash.ts';
import { readCommitNodes } from '../../cas/commit-nodes.ts';
import type { StoredNode } from '../../cas/node-source.ts';
import type { ObjectId } from '../../git/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { CorruptThread } from '../thread-errors.ts';
import type { ThreadId } from '../thread-id.ts';
import { checkCommit, type Judge } from './check-commit.ts';
import { attempt, firstFinding, type FirstFinding, type Report } from './finding.ts';
import { findChain, type FoundChain } from './find-chain.ts';
import { NodeCache, KnownNodes } from './known-nodes.ts';
import { readChecked, type CheckedCommit } from './read-checked.ts';
import { furtherParents, resumeVerification } from './resume-verification.ts';
import { readStanding, standingOf, type Standing } from './standing.ts';
import { growVerified, textPathOf, type Verified } from './verified.ts';

/** What {@link NewCommits} asks of who knows where commits come from. */
export type Origin = {
  /** Tells a commit that was verified before, with all behind it. */
  isVerified(id: ObjectId): Promise<boolean>;
  /** Checks of a new commit what is no node: the objects as such, recorded files, what is pinned. */
  checkObjects(commit: CheckedCommit, report: Report): Promise<void>;
  /** Checks a new commit that is a parent of a thread's and none itself, and all behind it. */
  checkCode(id: ObjectId, report: Report): Promise<void>;
};

/** Longer chains, and deeper call stacks, are nobody's. */
const MAX_COMMITS = 30_000;
const MAX_NESTING = 1_000;
/** More than that is held in mind of no thread. */
const MAX_NODES = 1_000_000;
/** Verdicts that are remembered; one that was forgotten is found out again. */
const MAX_REMEMBERED = 200_000;
const MAX_SOUND = 50_000;

/**
 * Verifies the commits of threads that were not verified before: each once, and no further than to the first thing that is
 * wrong with one. As strict as {@link Verification}; what it costs is what is new.
 */
export class NewCommits {
  readonly #repository: Repository;
  readonly #judge: Judge;
  readonly #origin: Origin;
  readonly #cache: NodeCache;
  /** What is wrong with a commit or with one behind it; '' if nothing is. */
  readonly #verdicts = new Map<ObjectId, string>();
  readonly #standings = new Map<ObjectId, Standing>();
  readonly #sound = new Set<string>();
  /** Where the last chain ended: the next one often goes on there. */
  #last: { head: ObjectId; verified: Verified } | undefined;

  constructor(repository: Repository, judge: Judge, origin: Origin) {
    this.#repository = repository;
    this.#judge = judge;
    this.#origin = origin;
    this.#cache = new NodeCache(repository);
  }

  /** Verifies all that a head reaches and that is new. @returns the first thing that is wrong; `undefined` if nothing is */
  async verify(id: ThreadId, head: ObjectId): Promise<string | undefined> {
    await prepareHashing();
    return this.#settle(id, head, 0);
  }

  async #settle(id: ThreadId, head: ObjectId, nesting: number): Promise<string | undefined> {
    const { ids, base, wrong } = await this.#descend(head);
    if (ids.length === 0) return wrong;
    let reason = wrong ?? (nesting > MAX_NESTING ? `it calls threads more than ${MAX_NESTING} deep` : undefined);
    const first = firstFinding(ids.at(-1) ?? head);
    let verified =
      reason === undefined && base !== undefined
        ? await attempt(first.report, null, () => this.#resume(base))
        : undefined;
    reason ??= first.reason();
    for (const commit of ids.toReversed()) {
      if (reason === undefined) {
        const found = firstFinding(commit);
        const before = verified;
        verified = await attempt(found.report, null, () => this.#check(id, commit, before, nesting, found));
        reason = found.reason() ?? (verified ? undefined : `commit ${commit}: nothing can follow it`);
      }
      this.#remember(commit, reason ?? '');
    }
    this.#last = verified && reason === undefined ? { head, verified } : undefined;
    return reason;
  }

  /** Finds the commits of a chain that are new, and what was found out of the one before them. */
  async #descend(head: ObjectId): Promise<FoundChain> {
    const chain = await findChain(this.#repository, head, {
      isKnown: (id) => this.#verdicts.has(id) || this.#origin.isVerified(id),
      maxCommits: MAX_COMMITS,
    });
    if (chain.wrong !== undefined) return { ...chain, wrong: `commit ${chain.ids.at(-1)}: ${chain.wrong}` };
    const verdict = chain.base && this.#verdicts.get(chain.base);
    return verdict ? { ...chain, wrong: verdict } : chain;
  }

  async #resume(base: ObjectId): Promise<Verified | undefined> {
    const last = this.#last;
    this.#last = undefined;
    return last?.head === base
      ? last.verified
      : resumeVerification(this.#repository, this.#nodesOfNone(), this.#judge, base);
  }

  #nodesOfNone(): KnownNodes {
    return new KnownNodes(this.#repository, this.#cache, MAX_NODES);
  }

  /**
   * Checks one commit, those before it being sound.
   * @returns how the thread stands after it; `undefined` if something was found, which has been reported
   */
  async #check(
    id: ThreadId,
    commitId: ObjectId,
    before: Verified | undefined,
    nesting: number,
    { report, reason }: FirstFinding,
  ): Promise<Verified | undefined> {
    const checked = await readChecked(this.#repository, this.#cache, commitId, report);
    if (checked === undefined) return undefined;
    const { commit, files } = checked;
    const start = commit.kind === 'start' ? commit : before?.progress.start;
    if (start === undefined) throw new CorruptThread(commitId, 'its thread has no start');
    const known = before?.known ?? this.#nodesOfNone();
    const nodes = new Map<string, StoredNode>();
    for (const entry of files.index) {
      const node = await attempt(report, entry.path, () => known.add(entry, files.index));
      if (node) nodes.set(entry.path, node);
    }
    await this.#origin.checkObjects(checked, report);
    if (reason() !== undefined) return undefined;
    const parents = furtherParents(commit);
    const threads = new Map<ObjectId, Standing>();
    for (const parent of parents) {
      known.addBehind(parent);
      const standing = await this.#settleParent(id, parent, nesting, report);
      if (standing) threads.set(parent, standing);
      if (reason() !== undefined) return undefined;
    }
    const caller = commit.kind === 'start' && parents[0] !== undefined ? threads.get(parents[0]) : undefined;
    const place = { start, before, caller, threads };
    await checkCommit(this.#repository, checked, place, nodes, known, this.#sound, report);
    if (this.#sound.size > MAX_SOUND) this.#sound.clear();
    if (reason() !== undefined) return undefined;
    const text = nodes.get(textPathOf(commit) ?? '');
    const grown = await attempt(report, null, () => growVerified(before, commit, text, known, this.#judge));
    if (grown !== undefined) this.#stand(commitId, standingOf(commit, start, grown.progress));
    return grown;
  }

  async #settleParent(id: ThreadId, parent: ObjectId, nesting: number, report: Report): Promise<Standing | undefined> {
    if (!(await this.#isThreads(parent))) {
      await this.#origin.checkCode(parent, report);
      return undefined;
    }
    const wrong = await this.#settle(id, parent, nesting + 1);
    if (wrong !== undefined) {
      report(null, `its parent ${parent} is not sound: ${wrong}`);
      return undefined;
    }
    const known = this.#standings.get(parent);
    if (known) return known;
    const standing = await attempt(report, null, () => readStanding(this.#repository, parent));
    if (standing) this.#stand(parent, standing);
    return standing;
  }

  /** Tells a commit of a thread, damaged or not, from one of somebody's code. */
  async #isThreads(id: ObjectId): Promise<boolean> {
    if (this.#verdicts.has(id) || this.#standings.has(id)) return true;
    const nodes = await attempt(
      () => undefined,
      null,
      () => readCommitNodes(this.#repository, id),
    );
    return nodes === undefined || nodes.entries !== undefined;
  }

  #remember(id: ObjectId, verdict: string): void {
    this.#verdicts.set(id, verdict);
    if (this.#verdicts.size > MAX_REMEMBERED) this.#verdicts.delete(this.#verdicts.keys().next().value ?? id);
  }

  #stand(id: ObjectId, standing: Standing): void {
    this.#standings.set(id, standing);
    if (this.#standings.size > MAX_STANDINGS) this.#standings.delete(this.#standings.keys().next().value ?? id);
  }
}

const MAX_STANDINGS = 1_000;
