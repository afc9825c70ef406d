import type { ThreadId } from '../../thread/thread-id.ts';
import type { ThreadState } from '../../thread/thread-state.ts';
import { isOver, statusOfHead } from '../../thread/thread-status.ts';
import type { Reading } from '../engine-context.ts';
import { statusHere } from '../leases/find-lease.ts';
import type { TakenInChild, ThreadFacts } from './facts.ts';

/** A child thread, as its caller sees it. */
export type ChildView = TakenInChild & {
  /** True if the caller went on without it: no later try of the turn asked for it again. */
  isLeft: boolean;
};

/**
 * Lists the children of a thread: those whose ends are part of it, in the order of its steps, and then those that are only
 * found by their refs, in the order in which they began.
 */
export async function describeChildren(
  { repository }: Reading,
  state: ThreadState,
  facts: ThreadFacts,
): Promise<ChildView[]> {
  const taken: ChildView[] = facts.children.map((child) => ({ ...child, isLeft: false }));
  const known = new Set<string>(taken.map(({ thread }) => thread));
  const { findChildren } = await import('../../thread/find-children.ts');
  const found = (await findChildren(repository, state)).toSorted(
    (a, b) => a.start.node.startedAtMs - b.start.node.startedAtMs,
  );
  const others: ChildView[] = [];
  for (const { pointer, start } of found) {
    const { parentRole: role, parentState, call } = start.node;
    if (known.has(pointer.id) || role === null || parentState === null || call === undefined) continue;
    const isLeft = isOver(facts.status) || parentState !== facts.state;
    const { readThreadCommit } = await import('../../thread/thread-commit.ts');
    const head = await readThreadCommit(repository, pointer.head);
    const status = statusHere(repository, pointer.id, statusOfHead(head));
    const end = head.kind === 'end' ? head.hash : null;
    others.push({ thread: pointer.id, status, end, role, key: call.key, parentState, step: null, isLeft });
  }
  return [...taken, ...others];
}

/** The children that a suspended thread waits for, in the order in which they began. */
export function waitingChildren({
  cause,
  calls,
}: Pick<ThreadFacts, 'cause'> & { calls: readonly ChildView[] }): ThreadId[] {
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
