import type { NodeHash } from '../../cas/hash.ts';
import { parseThreadId, type ThreadId } from '../../thread/thread-id.ts';
import { statusOfHead, type ThreadState, type ThreadStatus } from '../../thread/thread-state.ts';
import type { ThreadSummary } from './read-listed.ts';
import type { Reading } from '../engine-context.ts';
import { statusHere } from '../leases/find-lease.ts';

/** A child thread, as its caller sees it. */
export type ChildView = {
  thread: ThreadId;
  status: ThreadStatus;
  /** The role that called it. */
  role: string;
  /** The key of the call. */
  key: string;
  /** Where the caller stood when it called: a step, or its start. */
  parentState: NodeHash;
  /** Its end; null while it is not over. */
  end: NodeHash | null;
  /** The caller's step that took its end in; null where none has. */
  step: NodeHash | null;
  /** True if the caller went on without it: no later try of the turn asked for it again. */
  isLeft: boolean;
};

/**
 * Lists the children of a thread: those whose ends are part of it, in the order of its steps, and then those that are only
 * found by their refs, in the order in which they began.
 */
export async function describeChildren(engine: Reading, state: ThreadState): Promise<ChildView[]> {
  const { repository } = engine;
  const [{ findChildren }, { readThreadCommit }, { stateHash }] = await Promise.all([
    import('../../thread/find-children.ts'),
    import('../../thread/thread-commit.ts'),
    import('../../thread/thread-state.ts'),
  ]);
  const taken = await childrenTaken(engine, state);
  const known = new Set<string>(taken.map(({ thread }) => thread));
  const found = (await findChildren(repository, state)).toSorted(
    (a, b) => a.start.node.startedAtMs - b.start.node.startedAtMs,
  );
  const others: ChildView[] = [];
  for (const { pointer, start } of found) {
    const { parentRole: role, parentState, call } = start.node;
    if (known.has(pointer.id) || role === null || parentState === null || call === undefined) continue;
    const isLeft = state.head.kind === 'end' || parentState !== stateHash(state);
    const head = await readThreadCommit(repository, pointer.head);
    const status = statusHere(repository, pointer.id, statusOfHead(head));
    const end = head.kind === 'end' ? head.hash : null;
    others.push({ thread: pointer.id, status, end, role, key: call.key, parentState, step: null, isLeft });
  }
  return [...taken, ...others];
}

/** The children whose ends are parents of steps. What a child's end does not say, its start does. */
async function childrenTaken({ repository }: Reading, { tally }: ThreadState): Promise<ChildView[]> {
  const { callingSteps, findStart, readChildEnds } = await import('../../thread/thread-chain.ts');
  const children: ChildView[] = [];
  for await (const step of callingSteps(repository, tally)) {
    const ofStep: ChildView[] = [];
    for (const end of await readChildEnds(repository, step)) {
      const start = await findStart(repository, end.id);
      if (start?.node.call === undefined) continue;
      const { id, parentRole, parentState, call } = start.node;
      ofStep.push({
        thread: parseThreadId(id),
        status: statusOfHead(end),
        role: parentRole ?? step.node.role,
        key: call.key,
        parentState: parentState ?? step.node.start,
        end: end.hash,
        step: step.hash,
        isLeft: false,
      });
    }
    children.unshift(...ofStep);
  }
  return children;
}

/** The children that a suspended thread waits for, in the order in which they began. */
export function waitingChildren({
  cause,
  calls,
}: Pick<ThreadSummary, 'cause'> & { calls: readonly ChildView[] }): ThreadId[] {
  if (cause !== 'child') return [];
  return calls.flatMap(({ thread, status, isLeft }) => (status === 'suspended' && !isLeft ? [thread] : []));
}

/** A key that uwf makes for a call ends in a hash, and tells a person nothing. */
const MADE_KEY = / [0-9A-HJKMNP-TV-Z]{13}$/;

/** The key that an agent or a block gave a call; '' for other calls. */
export function ownKey(key: string): string {
  return MADE_KEY.test(key) ? '' : key;
}

/** Whether a child has neither ended nor been cancelled: a person may want to look at it. */
function mayMatter({ status }: ChildView): boolean {
  return status !== 'ended' && status !== 'cancelled';
}

/**
 * Folds a list of children for a person: the first of those that have not simply ended, then others, and how many of the rest have
 * each status, such as `980 ended`.
 */
export function foldChildren(calls: readonly ChildView[], most: number): { shown: readonly ChildView[]; rest: string } {
  if (calls.length <= most) return { shown: calls, rest: '' };
  const inOrder = [...calls.filter(mayMatter), ...calls.filter((child) => !mayMatter(child))];
  const counts = new Map<string, number>();
  for (const { status } of inOrder.slice(most)) counts.set(status, (counts.get(status) ?? 0) + 1);
  return { shown: inOrder.slice(0, most), rest: [...counts].map(([status, count]) => `${count} ${status}`).join(', ') };
}
