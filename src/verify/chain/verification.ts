import { prepareHashing } from '../../cas/hash.ts';
import { Replayer } from '../replay/replay.ts';
import type { StoredNode } from '../../cas/node-source.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { GitEnvironment, Repository } from '../../git/repository.ts';
import type { ThreadCommit } from '../../thread/thread-commit.ts';
import { checkCommit } from '../commit/check-commit.ts';
import { findChain, isThreadCommit } from './find-chain.ts';
import { attempt, type Fault, type ReportFault } from '../fault.ts';
import { KnownNodes, NodeCache } from './known-nodes.ts';
import { readChecked, type CheckedCommit } from '../commit/read-checked.ts';
import { furtherParents } from './resume-verification.ts';
import { readCommitPlace, commitPlaceOf, type CommitPlace } from './commit-place.ts';
import { addCaller, growVerified, textPathOf, type Verified } from './verified.ts';
import { callerCommit, type CommitOf } from '../../thread/thread-state.ts';
import { WORKSPACE } from '../../thread/step-files.ts';
import { repeatMergeOf } from '../blocks/repeat-merge.ts';

/** The result for one thread. */
export type ThreadFaults = {
  /** How many commits were checked, with those of child threads. */
  commits: number;
  /** What is wrong, in the order of the commits, oldest first. */
  findings: Fault[];
  /** The merges that could not be repeated, and why. They are no faults. */
  unrepeated: Unrepeated[];
};

/** A merge that was not compared. */
export type Unrepeated = { commit: ObjectId; why: string };

const MAX_REMEMBERED = 50_000;

/**
 * Verifies threads of one repository against the whole format. Reads every object, computes every hash, and replays every
 * decision. Runs no agent and writes nothing.
 *
 * Commits that threads share (forks, children) are checked once, and their faults are reported for each thread.
 */
export class Verification {
  readonly #replayer: Replayer;
  readonly #cache: NodeCache;
  readonly #places = new Map<ObjectId, CommitPlace>();
  /** The faults of commits that have some. */
  readonly #findings = new Map<ObjectId, Fault[]>();
  readonly #met = new Set<ObjectId>();
  readonly #sound = new Set<string>();
  readonly #unrepeated = new Map<ObjectId, Unrepeated>();
  readonly #env: GitEnvironment | undefined;
  readonly #onCommit: (() => void) | undefined;

  /**
   * @param options.env with which git repeats merges; default: they are not repeated
   * @param options.onCommit called for each commit that is checked
   */
  constructor(
    repository: Repository,
    { env, onCommit }: { env?: GitEnvironment | undefined; onCommit?: (() => void) | undefined } = {},
  ) {
    this.#env = env;
    this.#onCommit = onCommit;
    this.#replayer = new Replayer(repository);
    this.#cache = new NodeCache(repository);
  }

  /** Verifies everything that a head reaches, except commits of the user's code. */
  async verify(head: ObjectId): Promise<ThreadFaults> {
    await prepareHashing();
    for (const memory of [this.#met, this.#places, this.#findings, this.#sound, this.#unrepeated]) {
      if (memory.size > MAX_REMEMBERED) memory.clear();
    }
    const visited = new Set<ObjectId>();
    await this.#verifyThread(head, visited);
    const all = [...visited];
    return {
      commits: visited.size,
      findings: all.flatMap((commit) => this.#findings.get(commit) ?? []),
      unrepeated: all.flatMap((commit) => this.#unrepeated.get(commit) ?? []),
    };
  }

  async #verifyThread(head: ObjectId, visited: Set<ObjectId>): Promise<CommitPlace | undefined> {
    const { ids, wrong } = await findChain(this.#cache.repository, head);
    let isBroken = wrong !== undefined;
    let before: Verified | undefined;
    for (const commit of ids.toReversed()) {
      visited.add(commit);
      const report = this.#reportOn(commit);
      const checked = await readChecked(this.#cache, commit, report);
      // Without a start, each commit can only be checked by itself.
      if (wrong !== undefined && commit === ids.at(-1)) report(null, wrong);
      const isChecked = checked !== undefined && !isBroken;
      if (isChecked) {
        const stand = before;
        before = await attempt(report, null, () => this.#verifyCommit(checked, stand, visited, report));
      }
      isBroken ||= before === undefined || !isChecked;
      this.#met.add(commit);
      this.#onCommit?.();
    }
    return this.#places.get(head);
  }

  /** Checks one commit. @returns the state for the next one; `undefined` if that cannot be checked */
  async #verifyCommit(
    checked: CheckedCommit,
    before: Verified | undefined,
    visited: Set<ObjectId>,
    report: ReportFault,
  ): Promise<Verified | undefined> {
    const { commit, files } = checked;
    const start = commit.kind === 'start' ? commit : before?.progress.start;
    if (start === undefined) return undefined;
    const known = before?.known ?? new KnownNodes(this.#cache);
    const isKnown = this.#places.has(commit.id);
    const textPath = textPathOf(commit);
    const nodes = new Map<string, StoredNode>();
    for (const entry of files.index) {
      // The nodes were read for another thread. Only the text that rules see is read again.
      if (isKnown && entry.path !== textPath) known.recall(entry);
      else {
        const node = await attempt(report, entry.path, () => known.add(entry));
        if (node) nodes.set(entry.path, node);
      }
    }
    const further = furtherParents(commit);
    for (const parent of further) known.addBehind(parent);
    const threads = commit.kind === 'start' ? undefined : await this.#verifyParents(further, visited);
    for (const { hash, oid } of threads?.values() ?? []) known.addOneBehind(hash, oid);
    if (!isKnown) {
      const caller = await this.#callerOf(commit, report);
      if (caller) addCaller(known, caller);
      const place = { start, before, caller, threads: threads ?? new Map() };
      await checkCommit(this.#cache.repository, checked, place, nodes, known, this.#sound, report);
      if (commit.kind === 'step' && commit.node.merge !== undefined) await this.#repeatMerge(commit, report);
    }
    const text = nodes.get(textPath ?? '');
    const grown = await attempt(report, null, () => growVerified(before, commit, text, known, this.#replayer, report));
    if (grown) this.#places.set(commit.id, commitPlaceOf(commit, start, grown.progress));
    return grown;
  }

  /** Verifies the further parents that are commits of threads: children, a replaced step, linked commits. */
  async #verifyParents(parents: readonly ObjectId[], visited: Set<ObjectId>): Promise<Map<ObjectId, CommitPlace>> {
    const threads = new Map<ObjectId, CommitPlace>();
    for (const parent of parents) {
      if (!this.#met.has(parent) && !(await isThreadCommit(this.#cache.repository, parent))) continue;
      const place = await this.#verifyThread(parent, visited);
      if (place) threads.set(parent, place);
    }
    return threads;
  }

  async #repeatMerge(step: CommitOf<'step'>, report: ReportFault): Promise<void> {
    const env = this.#env;
    if (env === undefined) return;
    const left = (why: string): void => void this.#unrepeated.set(step.id, { commit: step.id, why });
    const result = await attempt(report, null, () => repeatMergeOf(this.#cache.repository, env, step));
    if (result?.fault !== undefined) report(WORKSPACE, result.fault);
    if (result?.unchecked !== undefined) left(result.unchecked);
  }

  async #callerOf(commit: ThreadCommit, report: ReportFault): Promise<CommitPlace | undefined> {
    const caller = commit.kind === 'start' ? callerCommit(commit) : undefined;
    if (caller === undefined) return undefined;
    return attempt(
      report,
      null,
      async () => this.#places.get(caller) ?? readCommitPlace(this.#cache.repository, caller),
    );
  }

  #reportOn(commit: ObjectId): ReportFault {
    // A commit that another thread shares was reported the first time.
    const isKnown = this.#met.has(commit);
    return (path, what) => {
      if (isKnown) return;
      const findings = this.#findings.get(commit) ?? [];
      this.#findings.set(commit, findings);
      findings.push({ commit, path, what });
    };
  }
}
