import type { NodeHash } from '../cas/hash.ts';
import { alone, type ObjectId } from '../git/format/object-id.ts';
import type { Commit } from '../git/format/objects.ts';
import type { Repository } from '../git/repository.ts';
import { isOfOutside } from '../git/format/paths.ts';
import { setMember } from '../json.ts';
import {
  addUsage,
  countedLimits,
  type MoreLimits,
  type Usage,
  type UsageByRole,
} from '../schema/built-in/schema-parts.ts';
import type { ThreadEnd, ThreadSuspend } from '../schema/built-in/thread-start.ts';
import { type RoleTotals, SKIPS, type ThreadStep, type Totals } from '../schema/built-in/thread-step.ts';
import type { CommittedState } from './new-thread-id.ts';
import { readTextAt, readThreadCommit, type ThreadCommit, type ThreadEvent } from './thread-commit.ts';
import { CorruptThread, nothingForDataError } from './thread-errors.ts';
import type { ThreadId } from './thread-id.ts';

export type CommitOf<K extends ThreadCommit['kind']> = Extract<ThreadCommit, { kind: K }>;

/**
 * The commit of the caller from which a child was called; `undefined` for a thread without a caller, whose start can have its
 * base as first parent.
 */
export function callerCommit({ node, commit }: Pick<CommitOf<'start'>, 'node' | 'commit'>): ObjectId | undefined {
  return node.parentThread === null ? undefined : commit.parents[0];
}

/** A step with the text of its reply. */
export type StepEntry = { commit: CommitOf<'step'>; text: string };

/**
 * A thread as it is at one head. A value: it does not change when the thread advances.
 *
 * It holds the newest commits, and what all come to. What else a command needs of earlier steps it reads from the chain.
 */
export type ThreadState = {
  /** The id of its ref. A fork has its own id, and shares `start.node.id`. */
  id: ThreadId;
  head: ThreadCommit;
  start: CommitOf<'start'>;
  prompt: string;
  /** The newest step; absent before the first. */
  last: CommitOf<'step'> | undefined;
  /** The suspensions and resumptions after the last step, oldest first. */
  pauses: readonly CommitOf<'suspend' | 'resume'>[];
  tally: Tally;
  end: CommitOf<'end'> | undefined;
};

export type ThreadPlace = Omit<ThreadState, 'id' | 'prompt' | 'end'>;

/** The part of a thread's state by which its definition is found. */
export type StartedThread = Pick<ThreadState, 'start'>;

/**
 * Reads the state of a thread: its head, which tells what the commits before it come to, those back to the last step, and its start.
 */
export async function readState(repository: Repository, id: ThreadId, from: ObjectId): Promise<ThreadState> {
  const place = await readPlace(repository, from);
  const prompt = await readTextAt(repository, place.start, 'prompt.md');
  return { id, prompt, ...place, end: place.head.kind === 'end' ? place.head : undefined };
}

/** Reads as {@link readState} does, but no text. */
export async function readPlace(repository: Repository, from: ObjectId): Promise<ThreadPlace> {
  const head = await readThreadCommit(repository, from);
  const tally = await addToTally(repository, tallyBefore(head), head);
  const pauses: CommitOf<'suspend' | 'resume'>[] = [];
  let last: CommitOf<'step'> | undefined;
  for (let commit = head; ;) {
    if (commit.kind === 'suspend' || commit.kind === 'resume') pauses.unshift(commit);
    if (commit.kind === 'step') last = commit;
    if (commit.kind === 'step' || commit.kind === 'start') break;
    const [parent] = commit.commit.parents;
    if (parent === undefined) throw new CorruptThread(commit.id, 'it is no start and has no parent');
    commit = await readThreadCommit(repository, parent);
  }
  const start = head.kind === 'start' ? head : await readThreadCommit(repository, tally.start);
  // Plain git can bring a head that tells of another thread.
  const isItsStart = start.kind === 'start' && (head.kind === 'start' || head.node.start === start.hash);
  if (!isItsStart || (last?.node.number ?? 0) !== tally.steps) {
    throw new CorruptThread(from, 'its totals are not those of the commits before it');
  }
  return { head, start, last, pauses, tally };
}

/** The state after one more commit, which has the head for its parent. */
export async function advanceState(
  repository: Repository,
  state: ThreadState,
  commit: ThreadCommit,
): Promise<ThreadState> {
  const tally = await addToTally(repository, state.tally, commit);
  const after = { ...state, head: commit, tally };
  switch (commit.kind) {
    case 'start':
      throw new CorruptThread(commit.id, 'a second start in one chain');
    case 'step':
      return { ...after, last: commit, pauses: [] };
    case 'suspend':
    case 'resume':
      return { ...after, pauses: [...state.pauses, commit] };
    case 'end':
      return { ...after, end: commit };
  }
}

/** The hash of the last step, or of the start: `parentState` of a child, `previous` of a step. */
export function stateHash(state: Pick<ThreadState, 'last' | 'start'>): NodeHash {
  return stateCommit(state).hash;
}

/** The commit of the last step, or of the start. The ids of children that are called now follow from it. */
export function stateCommit({ last, start }: Pick<ThreadState, 'last' | 'start'>): CommitOf<'step' | 'start'> {
  return last ?? start;
}

/** The parts of a commit from which ids follow. */
export function committedAt({ id, commit }: Pick<ThreadCommit, 'id' | 'commit'>): CommittedState {
  return { commit: id, committedAtMs: commit.committer.atMs };
}

/** {@link Totals} in memory. A value: it does not change when the thread advances. */
export type Tally = Readonly<Omit<Totals, 'roles' | 'skips'>> & {
  roles: ReadonlyMap<string, Readonly<RoleTotals>>;
  skips: readonly ObjectId[];
};

type CountedCommit = ThreadEvent & { id: ObjectId; commit: Pick<Commit, 'parents'> };

/** The totals as the node of the next commit has them. */
export function totalsOf({ roles, ...tally }: Tally): Totals {
  const byRole: Totals['roles'] = {};
  for (const [role, totals] of roles) setMember(byRole, role, totals);
  return { ...tally, roles: byRole, skips: [...tally.skips] };
}

/** The tally of all commits before one, as its node has it; `undefined` for a start. */
function tallyBefore(commit: ThreadEvent): Tally | undefined {
  if (commit.kind === 'start') return undefined;
  const { roles, ...totals } = commit.node.totals;
  return { ...totals, roles: new Map(Object.entries(roles)) };
}

export function stepsUpTo(commit: ThreadEvent): number {
  if (commit.kind === 'start') return 0;
  return commit.node.totals.steps + (commit.kind === 'step' ? 1 : 0);
}

/**
 * The tally of all commits up to one.
 * @param before that of the commits before it; `undefined` for a start
 */
export async function addToTally(
  repository: Repository,
  before: Tally | undefined,
  commit: ThreadCommit,
): Promise<Tally> {
  return tallyAfter(before, commit, commit.kind === 'step' ? await readReplaced(repository, commit) : []);
}

/** The same, where the steps that the commit replaces are known. */
export function tallyAfter(
  before: Tally | undefined,
  commit: CountedCommit,
  replaced: readonly { node: ThreadStep }[] = [],
): Tally {
  const id = alone(commit.id);
  if (before === undefined || commit.kind === 'start') return tallyOfStart(id);
  switch (commit.kind) {
    case 'end':
      return withChildren(before, [commit.node]);
    case 'resume': {
      const more = sumOf(before.more, commit.node.more ?? {});
      // It stands on the last step, and has the end as a further parent.
      const isReopening = commit.commit.parents.length > 1;
      return { ...before, more, ...(isReopening && { reopened: { commit: id, number: before.steps } }) };
    }
    case 'suspend': {
      const { role, usage } = commit.node;
      const own = before.roles.get(role) ?? NO_TURN;
      const waited = { ...own, waits: own.waits + 1, usage: addUsage(own.usage, usage) };
      return { ...before, roles: new Map(before.roles).set(role, waited), usage: addUsage(before.usage, usage) };
    }
    case 'step': {
      const { role, usage, workspace, compact } = commit.node;
      const number = before.steps + 1;
      const own = before.roles.get(role) ?? NO_TURN;
      const again = replaced.reduce<Usage | null>((sum, { node }) => addUsage(sum, node.usage), null);
      const visited: RoleTotals = {
        ...own,
        visits: own.visits + 1,
        first: own.first ?? number,
        last: number,
        usage: addUsage(own.usage, usage),
        replaced: addUsage(own.replaced, again),
        waits: 0,
      };
      const advanced = {
        ...before,
        steps: number,
        roles: new Map(before.roles).set(role, visited),
        usage: addUsage(before.usage, usage),
        replaced: addUsage(before.replaced, again),
        ...(workspace !== undefined && { recorded: id }),
        ...(compact !== null && { compacted: { commit: id, number } }),
        ...([commit.node, ...replaced.map(({ node }) => node)].some(isCalling) && { calling: id }),
        skips: SKIPS.flatMap((distance, at) => (number % distance === 0 ? id : (before.skips[at] ?? []))),
      };
      return withChildren(advanced, [commit.node, ...replaced.map(({ node }) => node)]);
    }
  }
}

/** Adds what the children have used of steps, those that they replaced included, or of an end. */
function withChildren(before: Tally, nodes: readonly CallingNode[]): Tally {
  let { children } = before;
  const roles = new Map(before.roles);
  for (const node of nodes) {
    for (const [role, used] of childUsageOf(node)) {
      const own = roles.get(role) ?? NO_TURN;
      roles.set(role, { ...own, children: addUsage(own.children, used) });
      children = addUsage(children, used);
    }
  }
  return { ...before, children, roles };
}

/** The tally of a thread that leaves children. */
export function withLeft(tally: Tally, leftUsage: UsageByRole = {}): Tally {
  return withChildren(tally, [{ leftUsage }]);
}

/** Tells whether a step has called child threads, as far as it says. */
function isCalling({ childThreads, leftUsage }: Pick<ThreadStep, 'childThreads' | 'leftUsage'>): boolean {
  return childThreads.length > 0 || leftUsage !== undefined;
}

type CallingNode = { leftUsage?: UsageByRole | undefined } & Partial<Pick<ThreadStep, 'role' | 'childUsage'>>;

/** What the children have used that a step took in or left, or an end cut off, by the roles that called them. */
export function childUsageOf({ role, childUsage, leftUsage = {} }: CallingNode): [role: string, used: Usage][] {
  // Roles with numbers for names would come first.
  const left = Object.entries(leftUsage).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return role === undefined || childUsage === undefined ? left : [[role, childUsage], ...left];
}

/** All that a thread has used up to a commit: its steps, those that they replaced, and all that it called. */
export function usageInAll({
  usage,
  replaced,
  children,
}: Pick<Totals, 'usage' | 'replaced' | 'children'>): Usage | null {
  return addUsage(addUsage(usage, replaced), children);
}

export function usageOfEnded({ totals, leftUsage }: Pick<ThreadEnd, 'totals' | 'leftUsage'>): Usage | null {
  return childUsageOf({ leftUsage }).reduce((sum, [, used]) => addUsage(sum, used), usageInAll(totals));
}

export const NO_TURN: Readonly<RoleTotals> = {
  visits: 0,
  first: null,
  last: null,
  usage: null,
  replaced: null,
  children: null,
  waits: 0,
};

export function tallyOfStart(start: ObjectId): Tally {
  return {
    start,
    steps: 0,
    usage: null,
    replaced: null,
    children: null,
    roles: new Map(),
    more: {},
    recorded: null,
    compacted: null,
    calling: null,
    reopened: null,
    skips: [],
  };
}

/** Adds up what people have added to limits. */
export function sumOf(...added: readonly MoreLimits[]): MoreLimits {
  const sum: MoreLimits = {};
  for (const name of countedLimits) {
    const amount = added.reduce((total, more) => total + (more[name] ?? 0), 0);
    if (amount > 0) sum[name] = amount;
  }
  return sum;
}

type Step = Extract<ThreadCommit, { kind: 'step' }>;

/** Reads the steps that a step replaced, directly or through others, the newest first. */
export async function readReplaced(repository: Repository, step: Step): Promise<Step[]> {
  const replaced: Step[] = [];
  for (let last = step; last.node.replaces !== undefined;) {
    const { replaces } = last.node;
    const parents = await Promise.all(last.commit.parents.slice(1).map((id) => findStep(repository, id)));
    const before = parents.find((parent) => parent?.hash === replaces);
    // It is damaged, which verification names.
    if (before === undefined) break;
    replaced.push(before);
    last = before;
  }
  return replaced;
}

/** A parent that is a step; pinned commits and those of the user's code are none. */
async function findStep(repository: Repository, id: ObjectId): Promise<Step | undefined> {
  const commit = await readThreadCommit(repository, id).catch(nothingForDataError);
  return commit?.kind === 'step' ? commit : undefined;
}

/**
 * The status of a thread, from its head and from whether a process holds its lease.
 *
 * - `idle`: its next step can run now
 * - `interrupted`: as `idle`, but the process that ran it died, and may have left its agent at work
 * - `running`: a process works on it
 * - `suspended`: it waits for a person
 * - `ended`, `failed`, `cancelled`: it is over
 * - `newer`: a newer version of uwf wrote it
 * - `corrupt`: its head cannot be read
 */
export type ThreadStatus = (typeof threadStatuses)[number];

/** Every status, in the order in which a thread may have them. */
export const threadStatuses = [
  'idle',
  'interrupted',
  'running',
  'suspended',
  'ended',
  'failed',
  'cancelled',
  'newer',
  'corrupt',
] as const;

/** The status that a head commit gives a thread, whether or not a process works on it. */
export function statusOfHead(head: ThreadEvent): ThreadStatus {
  if (head.kind === 'end') return head.node.outcome === 'completed' ? 'ended' : head.node.outcome;
  return head.kind === 'suspend' ? 'suspended' : 'idle';
}

/** Tells whether a thread with this status will never run again. */
export function isOver(status: ThreadStatus): boolean {
  return status === 'ended' || status === 'failed' || status === 'cancelled';
}

/** The reason of a turn whose agent failed. {@link isFailure} recognises it. */
export function failureReason(role: string, tries: number, errors: readonly string[]): string {
  const times = tries === 1 ? '' : ` in ${tries} tries`;
  return `${role} failed${times}: ${errors.join('; ')}`;
}

/** Tells whether the agent of a suspended turn failed; otherwise it asks something. */
function isFailure({ role, reason }: Pick<ThreadSuspend, 'role' | 'reason'>): boolean {
  return reason.startsWith(`${role} failed: `) || reason.startsWith(`${role} failed in `);
}

/** Returns the command that continues a thread, for a hint. */
export function hintToGoOn({ id, head }: { id: ThreadId; head: ThreadCommit }): string {
  return head.kind === 'suspend' ? hintToResume(id, head.node) : `run 'uwf thread step ${id}'`;
}

/** The fields of a suspension that decide the hint; `due`: when the turn can be taken again. */
export type WhyItWaits = Pick<ThreadSuspend, 'cause' | 'reason' | 'role'> & { due?: number | string };

/** Tells whether a suspended turn asks for an answer. Others can continue when the cause of the suspension is removed. */
export function asksForWords(why: WhyItWaits): boolean {
  if (why.cause === 'agent') return why.due === undefined && !isFailure(why);
  return why.cause === 'human';
}

/** Returns the command that continues a suspended thread: with an answer only if one was asked for. */
export function hintToResume(id: ThreadId, why: WhyItWaits): string {
  const resume = `uwf thread resume ${id}`;
  if (asksForWords(why)) return `answer with '${resume} -p <answer>'`;
  switch (why.cause) {
    case 'secret':
      return `take them out and run '${resume}', or store the files as they are with --allow-secrets`;
    case 'limit':
      return `'${resume}' goes on, or says how much more it has to be allowed`;
    case 'permission':
      return `answer with '${resume} -p yes' (or no)`;
    case 'isolation': {
      // Without this a resume fails in the same way.
      const first = isOfOutside(why.role, why.reason) ? 'look at what changed;' : 'once that is put right,';
      return `${first} '${resume}' stores the turn, '${resume} -p <what to do>' takes it again`;
    }
    case 'child':
      return `'uwf thread show ${id}' names the child thread that it waits for; '${resume}' goes on with that`;
    case 'rule':
      return `'${resume}' decides again`;
    case 'human':
    case 'agent':
    case 'invalid-reply':
    case 'timeout':
    case 'interrupted':
    case 'usage-limit':
    case 'time-box':
      break;
  }
  const when = why.due === undefined ? 'once what stopped it is put right' : 'when that time has come';
  return `'${resume}' takes the turn again, ${when}`;
}
