import { prepareHashing } from '../../cas/hash.ts';
import { Replayer } from '../replay/replay.ts';
import type { TimeBudget } from '../replay/time-budget.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { CorruptThread } from '../../thread/thread-errors.ts';
import { checkCommit } from '../commit/check-commit.ts';
import { attempt, firstFault, type FirstFault, type ReportFault } from '../fault.ts';
import { findChain, isThreadCommit, type FoundChain } from './find-chain.ts';
import { NodeCache, KnownNodes, type EarlierCommits } from './known-nodes.ts';
import { readChecked, type CheckedCommit } from '../commit/read-checked.ts';
import { furtherParents, resumeVerification } from './resume-verification.ts';
import { readCommitPlace, commitPlaceOf, type CommitPlace } from './commit-place.ts';
import { addCaller, growVerified, textPathOf, type Verified } from './verified.ts';

/** What {@link NewCommits} asks about the origin of commits. */
export type Origin = {
  /** Tells a commit that was verified before, with its history. */
  isVerified(id: ObjectId): Promise<boolean>;
  /** Checks what is no node in a new commit: its objects as git's, recorded files, pinned objects. */
  checkObjects(commit: CheckedCommit, report: ReportFault): Promise<void>;
  /** Checks a commit of the user's code, with its history. */
  checkCode(id: ObjectId, report: ReportFault): Promise<void>;
  /** The lookup of the repository that has the verified commits. */
  lookup?: EarlierCommits['lookup'];
  /** Called after each commit with the number of new commits of the chain checked so far. It can throw to stop the check. */
  passed?(count: number, of: number): void;
};

/** Limits of what is new; see `IncomingLimits`. */
export type ChainLimits = { maxCommits: number; maxNodes: number };

/** Deeper call stacks are refused. */
const MAX_NESTING = 1_000;
/** Bounds of the caches. A forgotten result is computed again. */
const MAX_REMEMBERED = 200_000;
const MAX_SOUND = 50_000;
const MAX_PLACES = 1_000;

/**
 * Verifies the commits of threads that were not verified before, each once, up to the first fault. As strict as
 * {@link Verification}, but its cost depends on what is new.
 */
export class NewCommits {
  readonly #replayer: Replayer;
  readonly #origin: Origin;
  readonly #cache: NodeCache;
  readonly #limits: ChainLimits;
  /** What is wrong with a commit or its history; '' if nothing is. */
  readonly #verdicts = new Map<ObjectId, string>();
  readonly #places = new Map<ObjectId, CommitPlace>();
  readonly #sound = new Set<string>();
  /** The end of the last chain: often the next chain begins there. */
  #last: { head: ObjectId; verified: Verified } | undefined;

  /** @param budget limits the time that the rules of workflows may take; default: no limit */
  constructor(repository: Repository, origin: Origin, limits: ChainLimits, budget?: TimeBudget) {
    this.#limits = limits;
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
    for (const [at, commit] of ids.toReversed().entries()) {
      if (reason === undefined) {
        const found = firstFault(commit);
        const before = verified;
        verified = await attempt(found.report, null, () => this.#check(commit, before, nesting, found));
        reason = found.reason() ?? (verified ? undefined : `commit ${commit}: nothing can follow it`);
        this.#origin.passed?.(at + 1, ids.length);
      }
      remember(this.#verdicts, commit, reason ?? '', MAX_REMEMBERED);
    }
    this.#last = verified && reason === undefined ? { head, verified } : undefined;
    return reason;
  }

  /** Finds the new commits of a chain, and the verdict on the commit before them. */
  async #descend(head: ObjectId): Promise<FoundChain> {
    const isKnown = (id: ObjectId): boolean | Promise<boolean> => this.#verdicts.has(id) || this.#origin.isVerified(id);
    const chain = await findChain(this.#cache.repository, head, isKnown, this.#limits.maxCommits);
    if (chain.wrong !== undefined) return { ...chain, wrong: `commit ${chain.ids.at(-1)}: ${chain.wrong}` };
    const verdict = chain.base && this.#verdicts.get(chain.base);
    return verdict ? { ...chain, wrong: verdict } : chain;
  }

  async #resume(base: ObjectId): Promise<Verified> {
    const last = this.#last;
    this.#last = undefined;
    if (last?.head === base) return last.verified;
    return resumeVerification(this.#nodesOfNone(), this.#replayer, base, this.#origin.lookup);
  }

  #nodesOfNone(): KnownNodes {
    return new KnownNodes(this.#cache, this.#limits.maxNodes);
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
      if (place) {
        threads.set(parent, place);
        known.addOneBehind(place.hash, place.oid);
        if (commit.kind === 'start') addCaller(known, place);
      }
      if (reason() !== undefined) return undefined;
    }
    const caller = commit.kind === 'start' && parents[0] !== undefined ? threads.get(parents[0]) : undefined;
    const mayBeOurs = ({ number = Infinity, start: { hash } }: CommitPlace): boolean =>
      hash === start.hash && number <= (before?.progress.steps ?? 0);
    // A linked step may be one of this thread. Whether it is, only the chain tells.
    if ([...threads.values()].some(mayBeOurs)) await known.recallAll();
    const basis = { start, before, caller, threads };
    await checkCommit(this.#cache.repository, checked, basis, nodes, known, this.#sound, report);
    if (this.#sound.size > MAX_SOUND) this.#sound.clear();
    if (reason() !== undefined) return undefined;
    const text = nodes.get(textPathOf(commit) ?? '');
    return attempt(report, null, async () => {
      const grown = await growVerified(before, commit, text, known, this.#replayer, report);
      remember(this.#places, commitId, commitPlaceOf(commit, start, grown.progress), MAX_PLACES);
      return grown;
    });
  }

  async #settleParent(parent: ObjectId, nesting: number, report: ReportFault): Promise<CommitPlace | undefined> {
    // A bad verdict can be that on a commit of code, which the ref of a thread leads to.
    const isThreads = this.#verdicts.get(parent) === '' || this.#places.has(parent);
    if (!isThreads && !(await isThreadCommit(this.#cache.repository, parent))) {
      await this.#origin.checkCode(parent, report);
      return undefined;
    }
    const wrong = await this.#settle(parent, nesting + 1);
    if (wrong !== undefined) {
      report(null, `its parent is not sound: ${wrong}`);
      return undefined;
    }
    const known = this.#places.get(parent);
    if (known) return known;
    const place = await attempt(report, null, () => readCommitPlace(this.#cache.repository, parent));
    if (place) remember(this.#places, parent, place, MAX_PLACES);
    return place;
  }
}

/** Sets an entry of a memory that forgets its oldest. */
function remember<T>(memory: Map<ObjectId, T>, id: ObjectId, value: T, most: number): void {
  memory.set(id, value);
  if (memory.size > most) memory.delete(memory.keys().next().value ?? id);
}
