// The room verify: a thread of this repository, or one that a fetch has brought, comes in, and a list of faults goes
// out. There is one walk for both: `verify-threads.ts` begins it for what is here, `check-incoming.ts` for what may
// not enter before it is checked. It hashes every node again, checks form, links and totals of every commit, and makes
// each decision again (`replay.ts`). Whoever made a thread controls its size and its rules, so all of it has limits;
// what exceeds one is refused, and what was verified once is remembered.

import { readCommitNodes } from '../cas/commit-nodes.ts';
import { prepareHashing } from '../cas/hash.ts';
import type { StoredNode } from '../cas/node.ts';
import type { StepsSeen } from '../expression/analysis/steps-seen.ts';
import { alone, type ObjectId } from '../git/format/object-id.ts';
import type { GitEnvironment, Repository } from '../git/repository.ts';
import { payloadOf } from '../schema/built-in.ts';
import { nextOfMessage } from '../thread/commit-message.ts';
import { WORKSPACE } from '../thread/step-files.ts';
import { readChain, readRoles } from '../thread/thread-chain.ts';
import { findEventFile, findNodeAt, readThreadCommit, type ThreadCommit } from '../thread/thread-commit.ts';
import { CorruptThread } from '../thread/thread-errors.ts';
import {
  addToTally,
  callerCommit,
  type CommitOf,
  readPlace,
  type StepEntry,
  type Tally,
  type ThreadPlace,
} from '../thread/thread-state.ts';
import { repeatMergeOf } from './check-block.ts';
import { checkCommit } from './check-commit.ts';
import { attempt, type Fault, findChain, isThreadCommit, type ReportFault, sentenceOf } from './find-chain.ts';
import {
  type CheckedCommit,
  type EarlierCommit,
  type EarlierCommits,
  KnownNodes,
  NodeCache,
  readChecked,
} from './read-checked.ts';
import { type Replay, Replayer } from './replay.ts';
import type { TimeBudget } from './step-history.ts';
import { type CommitPlace, commitPlaceOf, readCommitPlace, ThreadProgress } from './thread-progress.ts';

type ThreadFaults = {
  /** How many commits were checked, with those of child threads. */
  commits: number;
  /** What is wrong, in the order of the commits, oldest first. */
  findings: Fault[];
  /** The merges that could not be repeated, and why. They are no faults. */
  unrepeated: Unrepeated[];
};

export type Unrepeated = { commit: ObjectId; why: string };

/** Where commits come from that are not in this repository yet. With it, they are checked up to the first fault of each thread. */
export type Origin = {
  /** Tells a commit that was verified before, with its history: the walk stops there. */
  isKnown(id: ObjectId): Promise<boolean>;
  /** Checks what is no node in a new commit: its objects as git's, recorded files, pinned objects. */
  checkObjects(commit: CheckedCommit, report: ReportFault): Promise<void>;
  /** Checks a commit of the user's code, with its history. */
  checkCode(id: ObjectId, report: ReportFault): Promise<void>;
  /** The lookup of the repository that has the known commits. */
  lookup?: EarlierCommits['lookup'];
  /** Limits of what is new; see `IncomingLimits`. */
  limits: { maxCommits: number; maxNodes: number };
};

type VerificationOptions = {
  /** Default: all is checked, also what follows a fault. */
  origin?: Origin;
  /** Limits the time that the rules of workflows may take; default: no limit. */
  budget?: TimeBudget;
  /** With which git repeats merges; default: they are not repeated. */
  env?: GitEnvironment | undefined;
  /** Called for each commit that is checked, with the number of those of its chain. It can throw to stop. */
  onCommit?: ((count: number, of: number) => void) | undefined;
};

/** Deeper call stacks are refused. */
const MAX_NESTING = 1_000;
/** Bounds of what is remembered. What was forgotten is computed again. */
const MAX_MET = 200_000;
const MAX_REMEMBERED = 50_000;

/**
 * Verifies threads against the whole format: reads every object, computes every hash, and replays every decision. Runs no agent
 * and writes nothing. Commits that threads share (forks, children) are checked once.
 *
 * The one walk over threads, of `verify` as of a fetch: down to the start or to what is known, and up again commit by commit.
 */
export class Verification {
  readonly #repository: Repository;
  readonly #options: VerificationOptions;
  readonly #origin: Origin | undefined;
  readonly #replayer: Replayer;
  readonly #cache: NodeCache;
  /** The commits that were checked. */
  readonly #met = new Set<ObjectId>();
  /** The faults of commits that have some. With an origin, a commit has the first fault of its history. */
  readonly #findings = new Map<ObjectId, Fault[]>();
  readonly #places = new Map<ObjectId, CommitPlace>();
  readonly #sound = new Set<string>();
  readonly #unrepeated = new Map<ObjectId, Unrepeated>();
  /** The end of the last chain from an origin: often the next chain begins there. */
  #last: { head: ObjectId; verified: Verified } | undefined;

  constructor(repository: Repository, options: VerificationOptions = {}) {
    this.#repository = repository;
    this.#options = options;
    this.#origin = options.origin;
    this.#replayer = new Replayer(repository, options.budget);
    this.#cache = new NodeCache(repository);
  }

  /** Verifies everything that a head reaches, except commits of the user's code. A fault of a shared commit is one of each thread. */
  async verify(head: ObjectId): Promise<ThreadFaults> {
    if (this.#met.size > MAX_REMEMBERED) {
      for (const memory of [this.#met, this.#places, this.#findings, this.#unrepeated]) memory.clear();
    }
    const visited = await this.#begin(head);
    return {
      commits: visited.length,
      findings: visited.flatMap((commit) => this.#findings.get(commit) ?? []),
      unrepeated: visited.flatMap((commit) => this.#unrepeated.get(commit) ?? []),
    };
  }

  /** Verifies what is new behind a head. @returns the first fault, or `undefined` */
  async faultOf(head: ObjectId): Promise<string | undefined> {
    await this.#begin(head);
    const [fault] = this.#findings.get(head) ?? [];
    return fault && sentenceOf(fault);
  }

  async #begin(head: ObjectId): Promise<ObjectId[]> {
    await prepareHashing();
    const visited = new Set<ObjectId>();
    await this.#walk(head, 0, visited);
    return [...visited];
  }

  async #walk(head: ObjectId, nesting: number, visited: Set<ObjectId>): Promise<void> {
    const { ids, base, wrong } = await this.#descend(head, nesting);
    const oldest = ids.at(-1);
    if (oldest === undefined) return;
    /** The fault that the commits which follow have, too. */
    let fault = base && this.#findings.get(base)?.[0];
    const found = (path: string | null, what: string): void => void (fault ??= { commit: oldest, path, what });
    if (wrong !== undefined) found(null, wrong);
    let before = base && !fault ? await attempt(found, null, () => this.#resume(base)) : undefined;
    let isBroken = fault !== undefined;
    for (const [at, id] of ids.toReversed().entries()) {
      visited.add(id);
      if (this.#origin && fault !== undefined) this.#findings.set(id, [fault]);
      else {
        const report = this.#reportOn(id);
        const checked = await readChecked(this.#cache, id, report);
        // Without a start, each commit can only be checked by itself.
        if (wrong !== undefined && id === oldest) report(null, wrong);
        isBroken ||= checked === undefined;
        if (checked && !isBroken) {
          const stand = before;
          before = await attempt(report, null, () => this.#check(checked, stand, nesting, visited, report));
          isBroken = before === undefined;
        }
        if (this.#origin && isBroken) report(null, 'nothing can follow it');
        [fault] = this.#findings.get(id) ?? [];
        this.#options.onCommit?.(at + 1, ids.length);
      }
      remember(this.#met, id, MAX_MET);
    }
    this.#last = this.#origin && before && fault === undefined ? { head, verified: before } : undefined;
  }

  async #descend(head: ObjectId, nesting: number): ReturnType<typeof findChain> {
    const { limits } = this.#origin ?? {};
    const isKnown = (id: ObjectId): boolean | Promise<boolean> =>
      this.#origin !== undefined && (this.#met.has(id) || this.#origin.isKnown(id));
    const chain = await findChain(this.#repository, head, isKnown, limits?.maxCommits);
    return nesting > MAX_NESTING ? { wrong: `it calls threads more than ${MAX_NESTING} deep`, ...chain } : chain;
  }

  async #resume(base: ObjectId): Promise<Verified> {
    const last = this.#last;
    this.#last = undefined;
    if (last?.head === base) return last.verified;
    return resumeVerification(this.#nodesOfNone(), this.#replayer, base, this.#origin?.lookup);
  }

  #nodesOfNone(): KnownNodes {
    return new KnownNodes(this.#cache, this.#origin?.limits.maxNodes);
  }

  /** @returns the state for the next commit; `undefined` if that cannot be checked, or has not to be */
  async #check(
    checked: CheckedCommit,
    before: Verified | undefined,
    nesting: number,
    visited: Set<ObjectId>,
    report: ReportFault,
  ): Promise<Verified | undefined> {
    const { commit, files } = checked;
    const { id } = commit;
    const isOver = (): boolean => this.#origin !== undefined && this.#findings.has(id);
    const start = commit.kind === 'start' ? commit : before?.progress.start;
    if (start === undefined) throw new CorruptThread(id, 'its thread has no start');
    const known = before?.known ?? this.#nodesOfNone();
    // Its nodes were read for another thread. Only the text that rules see is read again.
    const isAgain = this.#places.has(id);
    const textPath = textPathOf(commit);
    const nodes = new Map<string, StoredNode>();
    for (const entry of files.index) {
      if (isAgain && entry.path !== textPath) known.recall(entry);
      else {
        const node = await attempt(report, entry.path, () => known.add(entry));
        if (node) nodes.set(entry.path, node);
      }
    }
    await this.#origin?.checkObjects(checked, report);
    if (isOver()) return undefined;
    const threads = new Map<ObjectId, CommitPlace>();
    for (const parent of furtherParents(commit)) {
      known.addBehind(parent);
      const place = await this.#placeOf(parent, commit, nesting, visited, report);
      if (isOver()) return undefined;
      if (place === undefined) continue;
      threads.set(parent, place);
      known.addOneBehind(place.hash, place.oid);
      if (commit.kind === 'start') addCaller(known, place);
    }
    if (!isAgain) {
      const caller = commit.kind === 'start' ? threads.get(furtherParents(commit)[0] ?? id) : undefined;
      const mayBeOurs = ({ number = Infinity, start: { hash } }: CommitPlace): boolean =>
        hash === start.hash && number <= (before?.progress.steps ?? 0);
      // A linked step may be one of this thread. Whether it is, only the chain tells.
      if ([...threads.values()].some(mayBeOurs)) await known.recallAll();
      const basis = { start, before, caller, threads };
      await checkCommit(this.#repository, checked, basis, nodes, known, this.#sound, report);
      if (this.#sound.size > MAX_REMEMBERED) this.#sound.clear();
      if (commit.kind === 'step' && commit.node.merge !== undefined) await this.#repeatMerge(commit, report);
      if (isOver()) return undefined;
    }
    const grown = await growVerified(before, commit, nodes.get(textPath ?? ''), known, this.#replayer, report);
    this.#places.delete(id);
    this.#places.set(id, commitPlaceOf(commit, start, grown.progress));
    if (this.#places.size > MAX_REMEMBERED) this.#places.delete(this.#places.keys().next().value ?? id);
    return grown;
  }

  /** Verifies a further parent of a commit, and finds its place. @returns `undefined` for a commit of the user's code */
  async #placeOf(
    parent: ObjectId,
    commit: ThreadCommit,
    nesting: number,
    visited: Set<ObjectId>,
    report: ReportFault,
  ): Promise<CommitPlace | undefined> {
    const origin = this.#origin;
    const readPlace = async (): Promise<CommitPlace | undefined> =>
      this.#places.get(parent) ?? attempt(report, null, () => readCommitPlace(this.#repository, parent));
    // Of a repository's own thread, the threads below it are verified, not those above it.
    if (!origin && commit.kind === 'start') return parent === callerCommit(commit) ? readPlace() : undefined;
    // With an origin, a commit of code can have been met, too: the ref of a thread led to it.
    const isMet = this.#met.has(parent) && !(origin && this.#findings.has(parent));
    if (!isMet && !(await isThreadCommit(this.#repository, parent))) {
      await origin?.checkCode(parent, report);
      return undefined;
    }
    await this.#walk(parent, nesting + 1, visited);
    if (!origin) return this.#places.get(parent);
    const [wrong] = this.#findings.get(parent) ?? [];
    if (wrong === undefined) return readPlace();
    report(null, `its parent is not sound: ${sentenceOf(wrong)}`);
    return undefined;
  }

  async #repeatMerge(step: CommitOf<'step'>, report: ReportFault): Promise<void> {
    const { env } = this.#options;
    if (env === undefined) return;
    const result = await attempt(report, null, () => repeatMergeOf(this.#repository, env, step));
    if (result?.fault !== undefined) report(WORKSPACE, result.fault);
    if (result?.unchecked !== undefined) this.#unrepeated.set(step.id, { commit: step.id, why: result.unchecked });
  }

  #reportOn(commit: ObjectId): ReportFault {
    // A commit that another thread shares was reported the first time.
    if (this.#met.has(commit)) return () => {};
    this.#findings.delete(commit);
    return (path, what) => {
      const findings = this.#findings.get(commit) ?? [];
      this.#findings.set(commit, findings);
      if (this.#origin === undefined || findings.length === 0) findings.push({ commit, path, what });
    };
  }
}

function addCaller(known: KnownNodes, { start, state, stateOid }: CommitPlace): void {
  known.addOneBehind(start.hash, start.oid);
  known.addOneBehind(state, stateOid);
}

/** Adds to a memory that forgets its oldest. */
function remember(memory: Set<ObjectId>, id: ObjectId, most: number): void {
  memory.add(id);
  if (memory.size > most) memory.delete(memory.keys().next().value ?? id);
}

/** The facts about earlier commits that the check of a commit needs. */
type Verified = { progress: ThreadProgress; replay: Replay; known: KnownNodes; tally: Tally };

/** The path of the text that rules can see: the prompt or the reply. */
function textPathOf({ kind }: Pick<ThreadCommit, 'kind'>): string | undefined {
  return kind === 'start' ? 'prompt.md' : kind === 'step' ? 'output.md' : undefined;
}

/**
 * Reads what the check of the next commit needs of a thread that was verified up to a commit: its totals, and the newest steps, as far
 * as rules can see them. Does not verify them again. Reads few commits, unless the rules list all steps.
 * @param known has no nodes yet
 * @param lookup by which a new hash is compared with those of commits that are not read
 */
async function resumeVerification(
  known: KnownNodes,
  replayer: Replayer,
  head: ObjectId,
  lookup: EarlierCommits['lookup'],
): Promise<Verified> {
  const { repository } = replayer;
  const place = await readPlace(repository, head);
  const { start, tally } = place;
  const progress = ThreadProgress.upTo(place);
  for (const entry of start.index) known.recall(entry);
  known.standOn({ head, lookup, read: (id) => readEarlier(repository, progress, id) });
  const replay = replayer.begin(start, await textOf(repository, start));
  const { members, newest, ends } = await replay.seen(known);
  if (members === undefined) await resumeReplay(repository, replay, place, { newest, ends }, known);
  else {
    const { ids, wrong } = await findChain(repository, head);
    if (wrong !== undefined) throw new CorruptThread(head, wrong);
    for (const id of ids.toReversed()) {
      const commit = await readThreadCommit(repository, id);
      if (commit.kind !== 'step') continue;
      const isTold = members.has('text') || commit.node.number > tally.steps - Math.max(1, newest);
      await replay.add(commit, isTold ? await textOf(repository, commit) : '', known);
    }
  }
  return { progress, replay, known, tally };
}

/** Reads where the nodes of a verified commit are, and adds it to the progress if it is a step. */
async function readEarlier(repository: Repository, progress: ThreadProgress, id: ObjectId): Promise<EarlierCommit> {
  const { parents, entries = [] } = await readCommitNodes(repository, id);
  const kind = findEventFile(entries)?.kind;
  if (kind === undefined) throw new CorruptThread(id, 'its tree has no start, step, suspend, resume or end node');
  if (kind === 'step') progress.own(id);
  const [first, ...others] = parents.map(alone);
  if (kind === 'start') return { entries, previous: undefined, furtherParents: parents.map(alone) };
  if (first === undefined) throw new CorruptThread(id, 'it is no start and has no parent');
  return { entries, previous: first, furtherParents: others };
}

/** Begins a replay with what rules see of the newest steps and of roles. */
async function resumeReplay(
  repository: Repository,
  replay: Replay,
  place: ThreadPlace,
  { newest, ends }: Pick<StepsSeen, 'newest' | 'ends'>,
  known: KnownNodes,
): Promise<void> {
  const { head, tally } = place;
  const roles = await readRoles(repository, place, ends);
  const steps: StepEntry[] = [];
  for await (const commit of readChain(repository, head.id)) {
    if (steps.length >= Math.min(Math.max(1, newest), tally.steps)) break;
    if (commit.kind === 'step') steps.unshift({ commit, text: await textOf(repository, commit) });
  }
  await replay.resume(roles, steps, known);
}

function furtherParents({ kind, commit: { parents } }: ThreadCommit): readonly ObjectId[] {
  return kind === 'start' ? parents : parents.slice(1);
}

/** The text that a commit adds; '' if it has none. */
async function textOf(repository: Repository, commit: ThreadCommit): Promise<string> {
  const path = textPathOf(commit);
  const node = path === undefined ? undefined : await findNodeAt(repository, commit, path);
  return node === undefined ? '' : payloadOf(node, 'content').text;
}

/**
 * Adds a checked commit, and checks what its message tells of the rules.
 * @param before the state before the commit, of which all but the tally is changed; `undefined` for a start
 * @param text the node of the text that rules see; a missing one has been reported, and counts as ''
 */
async function growVerified(
  before: Verified | undefined,
  commit: ThreadCommit,
  text: StoredNode | undefined,
  known: KnownNodes,
  replayer: Replayer,
  report: ReportFault,
): Promise<Verified> {
  const said = text === undefined ? '' : payloadOf(text, 'content').text;
  const tally = await addToTally(replayer.repository, before?.tally, commit);
  if (before === undefined) {
    if (commit.kind !== 'start') throw new CorruptThread(commit.id, 'its thread has no start');
    return { progress: new ThreadProgress(commit), replay: replayer.begin(commit, said), known, tally };
  }
  before.progress.advance(commit);
  if (commit.kind === 'step') {
    await before.replay.add(commit, said, known);
    const next = nextOfMessage(commit.commit.message);
    const faults = next === undefined ? [] : await before.replay.checkNext(before.progress, next, known);
    for (const what of faults) report(null, what);
  }
  return { ...before, tally };
}
