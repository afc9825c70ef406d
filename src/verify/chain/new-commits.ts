import { prepareHashing } from '../../cas/hash.ts';
import { Replayer } from '../replay/replay.ts';
import type { TimeBudget } from '../replay/time-budget.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { CorruptThread } from '../../thread/thread-errors.ts';
import { checkCommit } from '../commit/check-commit.ts';
import { attempt, firstFault, type FirstFault, type ReportFault } from '../fault.ts';
import { findChain, isThreadCommit, type FoundChain } from './find-chain.ts';
import { NodeCache, KnownNodes } from './known-nodes.ts';
import { readChecked, type CheckedCommit } from '../commit/read-checked.ts';
import { furtherParents, resumeVerification } from './resume-verification.ts';
import { readCommitPlace, commitPlaceOf, type CommitPlace } from './commit-place.ts';
import { growVerified, textPathOf, type Verified } from './verified.ts';

/** What {@link NewCommits} asks about the origin of commits. */
export type Origin = {
  /** Tells a commit that was verified before, with its history. */
  isVerified(id: ObjectId): Promise<boolean>;
  /** Checks what is no node in a new commit: its objects as git's, recorded files, pinned objects. */
  checkObjects(commit: CheckedCommit, report: ReportFault): Promise<void>;
  /** Checks a commit of the user's code, with its history. */
  checkCode(id: ObjectId, report: ReportFault): Promise<void>;
};

/** Longer chains and deeper call stacks are refused. */
const MAX_COMMITS = 30_000;
const MAX_NESTING = 1_000;
/** A thread with more nodes is refused, to bound memory. */
const MAX_NODES = 1_000_000;
/** Bounds of the caches. A forgotten result is computed again. */
const MAX_REMEMBERED = 200_000;
const MAX_SOUND = 50_000;
const MAX_PLACES = 1_000;

/**
 * Verifies the commits of threads that were not verified before, each once, up to the first fault. As strict as
 * {@link Verification}, but its cost depends on what is new.
 */
export class NewCommits {
  readonly #repository: Repository;
  readonly #replayer: Replayer;
  readonly #origin: Origin;
  readonly #cache: NodeCache;
  /** What is wrong with a commit or its history; '' if nothing is. */
  readonly #verdicts = new Map<ObjectId, string>();
  readonly #places = new Map<ObjectId, CommitPlace>();
  readonly #sound = new Set<string>();
  /** The end of the last chain: often the next chain begins there. */
  #last: { head: ObjectId; verified: Verified } | undefined;

  /** @param budget limits the time that the rules of workflows may take; default: no limit */
  constructor(repository: Repository, origin: Origin, budget?: TimeBudget) {
    this.#repository = repository;
    this.#replayer = new Replayer(repository, budget);
    this.#origin = origin;
    this.#cache = new NodeCache(repository);
  }

  /** Verifies all new commits that a head reaches. @returns the first fault, or `undefined` */
  async verify(head: ObjectId): Promise<string | undefined> {
    await prepareHashing();
    return this.#settle(head, 0);
  }

  async #settle(head: ObjectId, nesting: number): Promise<string | undefined> {
    const { ids, base, wrong } = await this.#descend(head);
    if (ids.length === 0) return wrong;
    let reason = wrong ?? (nesting > MAX_NESTING ? `it calls threads more than ${MAX_NESTING} deep` : undefined);
    const first = firstFault(ids.at(-1) ?? head);
    let verified =
      reason === undefined && base !== undefined
        ? await attempt(first.report, null, () => this.#resume(base))
        : undefined;
    reason ??= first.reason();
    for (const commit of ids.toReversed()) {
      if (reason === undefined) {
        const found = firstFault(commit);
        const before = verified;
        verified = await attempt(found.report, null, () => this.#check(commit, before, nesting, found));
        reason = found.reason() ?? (verified ? undefined : `commit ${commit}: nothing can follow it`);
      }
      this.#remember(commit, reason ?? '');
    }
    this.#last = verified && reason === undefined ? { head, verified } : undefined;
    return reason;
  }

  /** Finds the new commits of a chain, and the verdict on the commit before them. */
  async #descend(head: ObjectId): Promise<FoundChain> {
    const isKnown = (id: ObjectId): boolean | Promise<boolean> => this.#verdicts.has(id) || this.#origin.isVerified(id);
    const chain = await findChain(this.#repository, head, isKnown, MAX_COMMITS);
    if (chain.wrong !== undefined) return { ...chain, wrong: `commit ${chain.ids.at(-1)}: ${chain.wrong}` };
    const verdict = chain.base && this.#verdicts.get(chain.base);
    return verdict ? { ...chain, wrong: verdict } : chain;
  }

  async #resume(base: ObjectId): Promise<Verified | undefined> {
    const last = this.#last;
    this.#last = undefined;
    return last?.head === base
      ? last.verified
      : resumeVerification(this.#repository, this.#nodesOfNone(), this.#replayer, base);
  }

  #nodesOfNone(): KnownNodes {
    return new KnownNodes(this.#cache, MAX_NODES);
  }

  /**
   * Checks one commit. The commits before it are sound.
   * @returns the state for the next commit; `undefined` if a fault was reported
   */
  async #check(
    commitId: ObjectId,
    before: Verified | undefined,
    nesting: number,
    { report, reason }: FirstFault,
  ): Promise<Verified | undefined> {
    const checked = await readChecked(this.#cache, commitId, report);
    if (checked === undefined) return undefined;
    const { commit, files } = checked;
    const start = commit.kind === 'start' ? commit : before?.progress.start;
    if (start === undefined) throw new CorruptThread(commitId, 'its thread has no start');
    const known = before?.known ?? this.#nodesOfNone();
    const nodes = await known.addAll(files.index, report);
    await this.#origin.checkObjects(checked, report);
    if (reason() !== undefined) return undefined;
    const parents = furtherParents(commit);
    const threads = new Map<ObjectId, CommitPlace>();
    for (const parent of parents) {
      known.addBehind(parent);
      const place = await this.#settleParent(parent, nesting, report);
      if (place) threads.set(parent, place);
      if (reason() !== undefined) return undefined;
    }
    const caller = commit.kind === 'start' && parents[0] !== undefined ? threads.get(parents[0]) : undefined;
    const basis = { start, before, caller, threads };
    await checkCommit(this.#repository, checked, basis, nodes, known, this.#sound, report);
    if (this.#sound.size > MAX_SOUND) this.#sound.clear();
    if (reason() !== undefined) return undefined;
    const text = nodes.get(textPathOf(commit) ?? '');
    const grown = await attempt(report, null, () => growVerified(before, commit, text, known, this.#replayer));
    if (grown !== undefined) this.#keep(commitId, commitPlaceOf(commit, start, grown.progress));
    return grown;
  }

  async #settleParent(parent: ObjectId, nesting: number, report: ReportFault): Promise<CommitPlace | undefined> {
    const isThreads = this.#verdicts.has(parent) || this.#places.has(parent);
    if (!isThreads && !(await isThreadCommit(this.#repository, parent))) {
      await this.#origin.checkCode(parent, report);
      return undefined;
    }
    const wrong = await this.#settle(parent, nesting + 1);
    if (wrong !== undefined) {
      report(null, `its parent ${parent} is not sound: ${wrong}`);
      return undefined;
    }
    const known = this.#places.get(parent);
    if (known) return known;
    const place = await attempt(report, null, () => readCommitPlace(this.#repository, parent));
    if (place) this.#keep(parent, place);
    return place;
  }

  #remember(id: ObjectId, verdict: string): void {
    this.#verdicts.set(id, verdict);
    if (this.#verdicts.size > MAX_REMEMBERED) this.#verdicts.delete(this.#verdicts.keys().next().value ?? id);
  }

  #keep(id: ObjectId, place: CommitPlace): void {
    this.#places.set(id, place);
    if (this.#places.size > MAX_PLACES) this.#places.delete(this.#places.keys().next().value ?? id);
  }
}
