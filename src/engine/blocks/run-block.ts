import { setImmediate as eventsHandled } from 'node:timers/promises';
import type { ObjectId } from '../../git/format/object-id.ts';
import { mergeAll, type MergeConflict } from '../../git/worktree/merge-trees.ts';
import type { Snapshot } from '../../git/worktree/snapshot.ts';
import { type Branch, type JoinVerdict, judgeJoin, listBranches, type TakenBranch } from '../../moderator/branches.ts';
import { BlockFailed } from '../../moderator/decide.ts';
import { inPlaceOf } from '../../or-else.ts';
import type { MergeRecord } from '../../schema/built-in/thread-step.ts';
import { findCalledNow } from '../../thread/find-children.ts';
import { getThread } from '../../thread/find-thread.ts';
import { filesOfStep, findNewestRecorded } from '../../thread/step-files.ts';
import { findFilesToMerge, readBranchEnd } from '../../thread/step-view.ts';
import { readThreadCommit } from '../../thread/thread-commit.ts';
import { WrongThreadState } from '../../thread/thread-errors.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import type { ThreadState } from '../../thread/thread-state.ts';
import { type BranchDefinition, CONFLICT, isIsolated } from '../../workflow/definition.ts';
import { pinnedName } from '../../workflow/stored-blocks.ts';
import type { ChildEnd } from '../children/turn-calls.ts';
import type { Reading } from '../engine-context.ts';
import { BranchesElsewhere, DepthExceeded } from '../engine-errors.ts';
import { findLease } from '../leases/find-lease.ts';
import { findBudgetSpent } from '../limits/allowance.ts';
import { Interrupted } from '../limits/limits.ts';
import { type TakenTurn, type TurnEnd, UNRUN } from '../turn/step.ts';
import { cancelThread } from '../verbs/cancel.ts';
import { joinThread } from '../verbs/join.ts';
import { describeBlock, describeWaiting } from '../describe/describe.ts';
import { type BlockTurn, workflowOf } from './prepare-block.ts';

/**
 * Runs the branches of a block until its join is decided, each as a child thread.
 *
 * A turn that is repeated after a crash or a suspension finds its branches by their ids: those that have ended are taken in
 * first, and none is paid twice. If nothing can go on without a person, the turn is suspended.
 * @throws {BranchesElsewhere} if it goes on when branches have that other machines run
 * @throws what kept a branch from running, if the join cannot be decided without it
 */
export async function runBlock(turn: BlockTurn): Promise<TakenTurn> {
  const { end, merged } = await new BlockRun(turn).toEnd().catch((error: unknown): BlockResult => {
    if (!(error instanceof BlockFailed)) throw error;
    // Running it again would change nothing: a person decides what becomes of the thread.
    return { end: suspended('invalid-reply', error.message) };
  });
  return { result: { ...end, ...UNRUN }, merged };
}

function suspended(cause: 'child' | 'invalid-reply' | 'limit', reason: string): BlockEnd {
  return { kind: 'suspended', cause, reason, text: undefined };
}

type BlockEnd = Extract<TurnEnd, { kind: 'done' }> | Extract<TurnEnd, { kind: 'suspended' }>;
type BlockResult = { end: BlockEnd; merged?: MergedFiles };

/** A branch whose thread waits for a person: for an answer, or to be run again once a person has stopped it. */
type Waiting = { branch: Branch; thread: ThreadId; reason: string };
type Ended = { key: string; end: ChildEnd };

/** How many branches of a block run at once, where the block does not say it. Slots limit how many of them work. */
export const DEFAULT_AT_ONCE = 64;

class BlockRun {
  readonly #turn: BlockTurn;
  readonly #taken: TakenBranch[] = [];
  readonly #ends: ChildEnd[] = [];
  readonly #stops = new Map<string, AbortController>();
  readonly #waiting = new Map<string, Waiting>();
  readonly #failures: Error[] = [];
  readonly #ended: Ended[] = [];
  /** Keys of branches that other machines run. */
  readonly #elsewhere = new Set<string>();
  /** Keys of branches that were started, by this turn or one before. */
  readonly #begun = new Set<string>();
  /** Says which budget keeps other branches from being started. */
  #spent: string | undefined;
  #queue: Branch[] = [];
  #total = 0;
  #base: ObjectId | 'head' | undefined;
  #verdict: JoinVerdict = { kind: 'open' };
  #wake: () => void = () => {};

  constructor(turn: BlockTurn) {
    this.#turn = turn;
  }

  async toEnd(): Promise<BlockResult> {
    const { engine, block, choice, decisions, request } = this.#turn;
    const branches = await listBranches(choice.role, block, decisions, request.prompt);
    this.#total = branches.length;
    this.#base = await baseOfBranches(this.#turn);
    this.#queue = await this.#knownFirst(branches);
    await this.#judge();
    try {
      while (this.#verdict.kind === 'open' && (await this.#goOn())) {
        // Signals are heard, and git repacks, however much of the work needs no waiting.
        await eventsHandled();
      }
    } catch (error) {
      // As where one branch fails: the others are paid for, and come to rest by themselves.
      await this.#untilAtRest();
      throw error;
    }
    await this.#stopRunning();
    if (this.#verdict.kind === 'open') {
      const [failure] = this.#failures;
      if (engine.signal.aborted) throw new Interrupted(this.#turn.state.id, engine.signal.reason);
      // As for the children of a role: another run would change nothing.
      if (failure instanceof DepthExceeded) return { end: suspended('limit', failure.message) };
      if (failure !== undefined) throw failure;
      if (this.#elsewhere.size > 0)
        throw new BranchesElsewhere(this.#turn.state.id, this.#turn.choice.role, this.#elsewhere.size);
      if (this.#waiting.size === 0 && this.#spent !== undefined) return { end: suspended('limit', this.#spent) };
      return { end: suspended('child', this.#whatWaits()) };
    }
    const rest = await this.#cancelRest();
    return this.#result(this.#verdict, rest);
  }

  /** Branches that have ended come first, then those that have begun: what was paid for decides before more is paid. */
  async #knownFirst(branches: readonly Branch[]): Promise<Branch[]> {
    const { engine, state, choice } = this.#turn;
    const known = await findBranches(engine, state, choice.role);
    const places = new Map(known.map(({ key }, place) => [key, place]));
    for (const key of places.keys()) this.#begun.add(key);
    const placeOf = ({ key }: Branch): number => places.get(key) ?? places.size;
    return branches.toSorted((a, b) => placeOf(a) - placeOf(b));
  }

  async #judge(): Promise<void> {
    const { block, choice } = this.#turn;
    this.#verdict = await judgeJoin(choice.role, block, this.#taken, this.#total);
  }

  /** Takes in a branch that has ended, or starts what may run and waits. @returns false if nothing can go on */
  async #goOn(): Promise<boolean> {
    const { engine, block } = this.#turn;
    if (engine.signal.aborted) return false;
    const ended = this.#ended.shift();
    if (ended !== undefined) {
      // One at a time: the join is judged after each.
      await this.#takeIn(ended);
      return true;
    }
    const atOnce = block.each?.atOnce ?? DEFAULT_AT_ONCE;
    const woken = new Promise<void>((resolve) => (this.#wake = resolve));
    while (this.#stops.size + this.#elsewhere.size < atOnce) {
      const [branch] = this.#queue;
      if (branch === undefined || !(await this.#mayStart(branch))) break;
      this.#queue.shift();
      this.#begun.add(branch.key);
      this.#start(branch);
    }
    if (this.#stops.size === 0) return this.#takeUpWaiting();
    await woken;
    return true;
  }

  /** A branch that has begun is held to the budget by itself: it may have ended, or been allowed more. */
  async #mayStart({ key }: Branch): Promise<boolean> {
    if (this.#begun.has(key)) return true;
    this.#spent = (await findBudgetSpent(this.#turn, this.#turn.choice.role))?.text;
    return this.#spent === undefined;
  }

  #start(branch: Branch): void {
    const stop = new AbortController();
    this.#stops.set(branch.key, stop);
    void this.#run(branch, stop.signal)
      .catch((error: unknown) => {
        if (!stop.signal.aborted) this.#failures.push(error instanceof Error ? error : new Error(String(error)));
      })
      .finally(() => {
        this.#stops.delete(branch.key);
        this.#wake();
      });
  }

  async #run(branch: Branch, signal: AbortSignal): Promise<void> {
    const { engine, calls, choice, block, definition } = this.#turn;
    const { key, prompt } = branch;
    const task: BranchDefinition | undefined = block.each ?? block.branches?.[key];
    if (task === undefined) throw new Error(`block '${choice.role}' has no branch '${key}'`);
    const pinnedAs = pinnedName(choice.role, block.each ? undefined : key);
    const call = {
      workflow: workflowOf(task, definition),
      prompt,
      key,
      signal,
      branch: { pinnedAs, base: this.#base },
      isLeft: engine.sharesTurns && isIsolated(block.isolation),
    };
    const thread = calls.childOf(call);
    const outcome = await calls.run(call);
    if (calls.isElsewhere(thread)) {
      this.#elsewhere.add(key);
      return;
    }
    if (outcome.kind === 'suspended') {
      this.#waiting.set(key, { branch, thread, reason: outcome.reason });
      return;
    }
    const end = calls.endOf(thread);
    if (end === undefined) throw new Error(`the branch '${key}' ended without an end`);
    this.#ended.push({ key, end });
  }

  async #takeIn({ key, end }: Ended): Promise<void> {
    const { repository } = this.#turn.engine;
    this.#taken.push({ key, ...(await readBranchEnd(repository, end.commit, this.#total)) });
    this.#ends.push(end);
    await this.#judge();
  }

  /** Takes up the branches that a person has answered meanwhile, and waits for those that another process runs. */
  async #takeUpWaiting(): Promise<boolean> {
    const { engine, calls } = this.#turn;
    let isAny = false;
    for (const [key, { branch, thread }] of this.#waiting) {
      const isElsewhere = findLease(engine.repository, thread) !== undefined;
      if (isElsewhere) await joinThread(engine, thread);
      const { head } = await getThread(engine.repository, thread);
      const { kind } = await readThreadCommit(engine.repository, head);
      if (kind === 'suspend' || (kind !== 'end' && calls.wasStopped(thread))) continue;
      this.#waiting.delete(key);
      this.#queue.push(branch);
      isAny = true;
    }
    return isAny;
  }

  /** What was stored of a branch stays; its turn is cut off. */
  async #stopRunning(): Promise<void> {
    for (const stop of this.#stops.values()) stop.abort(new Error('the block goes on without it'));
    await this.#untilAtRest();
  }

  async #untilAtRest(): Promise<void> {
    while (this.#stops.size > 0) await new Promise<void>((resolve) => (this.#wake = resolve));
  }

  /** Cancels the branches that the join did not wait for. @returns their ends: what they have used counts */
  async #cancelRest(): Promise<ChildEnd[]> {
    if (this.#taken.length === this.#total) return [];
    const { engine, state, choice } = this.#turn;
    const reason = `block '${choice.role}' was decided without it`;
    for (const { thread, endedAtMs } of await findBranches(engine, state, choice.role)) {
      if (endedAtMs !== undefined) continue;
      // It may end meanwhile.
      await cancelThread(engine, thread, { reason }).catch(inPlaceOf(WrongThreadState, undefined));
    }
    const taken = new Set(this.#taken.map(({ key }) => key));
    const rest: ChildEnd[] = [];
    for (const { key, head, endedAtMs } of await findBranches(engine, state, choice.role)) {
      if (endedAtMs === undefined || taken.has(key)) continue;
      rest.push({ commit: head, hash: (await readThreadCommit(engine.repository, head)).hash });
    }
    return rest;
  }

  #whatWaits(): string {
    return describeWaiting([...this.#waiting.values()].map(({ branch, reason }) => ({ key: branch.key, reason })));
  }

  async #result(verdict: Extract<JoinVerdict, { kind: 'over' }>, rest: readonly ChildEnd[]): Promise<BlockResult> {
    const { block, choice } = this.#turn;
    const merged = verdict.isJoined && block.merge ? await this.#merge() : undefined;
    const conflicts = merged?.conflicts ?? [];
    const status = conflicts.length > 0 ? CONFLICT : verdict.status;
    const order = this.#taken.map(({ key }) => key);
    const branches = Object.fromEntries(this.#taken.map(({ key, ...end }) => [key, end]));
    const places = conflicts.map(({ path, kind, keys }) => ({ path, kind, keys: [...keys] }));
    const end: BlockEnd = {
      kind: 'done',
      meta: { $status: status, order, branches, ...(places.length > 0 && { conflicts: places }) },
      text: describeBlock(choice.role, status, { taken: this.#taken, total: this.#total, conflicts }),
      agentVersion: undefined,
      stopReason: undefined,
      childThreads: [...this.#ends, ...rest],
    };
    return merged ? { end, merged } : { end };
  }

  async #merge(): Promise<MergedFiles> {
    const ended = this.#taken.map(({ key, end: { outcome } }, at) => ({ key, outcome, end: this.#ends[at]?.commit }));
    const completed = ended.flatMap(({ key, outcome, end }) => (outcome === 'completed' && end ? [{ key, end }] : []));
    return mergeBranches(this.#turn, this.#base, completed);
  }
}

/** The thread of a branch that has begun. */
export type BranchThread = {
  key: string;
  thread: ThreadId;
  head: ObjectId;
  /** In ms since 1970; absent while it has not ended. */
  endedAtMs: number | undefined;
  /** Whether it waits for a person. */
  isWaiting: boolean;
};

/** Finds the branches of a block that have begun since the caller's last step: those that have ended first, by the time of their ends. */
export async function findBranches(
  { repository }: Reading,
  state: ThreadState,
  block: string,
): Promise<BranchThread[]> {
  const found: BranchThread[] = [];
  for (const { pointer, start } of await findCalledNow(repository, state, state.id)) {
    const { call, parentRole } = start.node;
    if (call?.block !== block || parentRole !== block) continue;
    const head = await readThreadCommit(repository, pointer.head);
    const endedAtMs = head.kind === 'end' ? head.node.completedAtMs : undefined;
    const isWaiting = head.kind === 'suspend';
    found.push({ key: call.key, thread: pointer.id, head: pointer.head, endedAtMs, isWaiting });
  }
  return found.toSorted((a, b) => (a.endedAtMs ?? Number.MAX_VALUE) - (b.endedAtMs ?? Number.MAX_VALUE));
}

/**
 * The commit that the work trees of a block's branches are made from: the caller's newest snapshot, else the base of the caller,
 * else what is checked out.
 * @returns `undefined` if the branches have no work trees of their own
 */
async function baseOfBranches({
  engine,
  state,
  block,
}: Pick<BlockTurn, 'engine' | 'state' | 'block'>): Promise<ObjectId | 'head' | undefined> {
  if (!isIsolated(block.isolation)) return undefined;
  const { start, last } = state;
  if (start.node.base === undefined && !engine.sharesTurns) return 'head';
  const step = await findNewestRecorded(engine.repository, last);
  return step?.node.workspace?.commit ?? start.node.base ?? 'head';
}

/** The files of all branches, as the block's step records them. */
type MergedFiles = { merge: MergeRecord; snapshot: Snapshot; conflicts: readonly MergeConflict[] };

type Completed = { key: string; end: ObjectId };

/**
 * Merges the newest files of branches that began at one base into that base, one after the other.
 * @param completed in the order in which they ended
 */
async function mergeBranches(
  { engine, state, block, choice }: BlockTurn,
  base: ObjectId | 'head' | undefined,
  completed: readonly Completed[],
): Promise<MergedFiles> {
  const { repository, env, signal } = engine;
  if (base === undefined || base === 'head') {
    const reason = 'the thread has no work tree of its own';
    throw new BlockFailed(choice.role, 'merge', JSON.stringify(block.merge), reason);
  }
  const branches = await findFilesToMerge(repository, block.merge?.order, completed);
  const merged = await mergeAll({ repository, env, signal }, base, base, branches);
  const { tree, objects, release, conflicts, gitVersion: git, isRepeatable } = merged;
  const { start, last } = state;
  const before = await findNewestRecorded(repository, last);
  const commit = (before && (await filesOfStep(repository, before))?.commit) ?? start.node.base;
  return {
    merge: { base, branches, git, isRepeatable },
    snapshot: { tree, ...(commit && { commit }), objects, packs: [], release },
    conflicts,
  };
}
