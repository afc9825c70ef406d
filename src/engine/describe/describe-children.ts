import { listPointers } from '../../thread/find/find-thread.ts';
import type { ChildThread } from '../../thread/find/find-children.ts';
import { findArchived } from '../../thread/archive/find-archived.ts';
import { firstChildTimeMs, timePrefix, type ThreadId } from '../../thread/thread-id.ts';
import { isOver, statusOfHead } from '../../thread/read/thread-status.ts';
import type { EngineContext } from '../engine-context.ts';
import type { TakenInChild, ThreadFacts } from './facts.ts';
import { statusHere } from '../leases/find-lease.ts';

/** A child thread, as its caller sees it. */
export type ChildView = TakenInChild & {
  /** True if the caller went on without it: no later try of the turn asked for it again. */
  isLeft: boolean;
};

/**
 * Lists the children of a thread: those whose ends are part of it, in the order of its steps, and then those that are only
 * found by their refs, in the order in which they began. Which of the latter there are is looked for every time.
 */
export async function describeChildren(engine: EngineContext, id: ThreadId, facts: ThreadFacts): Promise<ChildView[]> {
  const taken: ChildView[] = facts.children.map((child) => ({ ...child, isLeft: false }));
  const known = new Set<string>(taken.map(({ thread }) => thread));
  const found = (await findByRefs(engine, id, facts)).toSorted(
    (a, b) => a.start.node.startedAtMs - b.start.node.startedAtMs,
  );
  const others: ChildView[] = [];
  for (const { pointer, start } of found) {
    const { parentRole: role, parentState, call } = start.node;
    if (known.has(pointer.id) || role === null || parentState === null || call === undefined) continue;
    const isLeft = isOver(facts.status) || parentState !== facts.state;
    const { readThreadCommit } = await import('../../thread/thread-commit.ts');
    const head = await readThreadCommit(engine.repository, pointer.head);
    const status = statusHere(engine.repository, pointer.id, statusOfHead(head));
    const end = head.kind === 'end' ? head.hash : null;
    others.push({ thread: pointer.id, status, end, role, key: call.key, parentState, step: null, isLeft });
  }
  return [...taken, ...others];
}

/** The children of a thread that have a ref, by their starts: threads that began before it or after its end are none. */
async function findByRefs({ repository }: EngineContext, id: ThreadId, facts: ThreadFacts): Promise<ChildThread[]> {
  const fromMs = firstChildTimeMs(facts.startedAtMs);
  // Every id is before '~'.
  const between = {
    from: timePrefix(fromMs),
    until: facts.endedAtMs === null ? '~' : timePrefix(facts.endedAtMs + 1),
  };
  // A ref whose name rules it out is not read.
  const where = (ref: string): boolean => {
    const other = ref.slice(ref.lastIndexOf('/') + 1);
    return other !== id && other >= between.from && other < between.until;
  };
  // A thread that is not over has children that may be archived, too, but few threads are.
  const archived = await findArchived(repository, '', between);
  const later = [...archived, ...(await listPointers(repository, undefined, { sinceMs: fromMs, where }))];
  if (later.length === 0) return [];
  const [{ possibleChildren }, { isChildOf }, { findStart }] = await Promise.all([
    import('../../thread/find/find-origins.ts'),
    import('../../thread/find/find-children.ts'),
    import('../../thread/read/read-start.ts'),
  ]);
  const possible = await possibleChildren(repository, later, facts.startHash);
  const children: ChildThread[] = [];
  for (const pointer of possible) {
    const start = await findStart(repository, pointer.head);
    if (start && isChildOf(start.node, { id, startHash: facts.startHash })) children.push({ pointer, start });
  }
  return children;
}

/** The children that a suspended thread waits for, in the order in which they began. */
export function waitingChildren({
  cause,
  calls,
}: Pick<ThreadFacts, 'cause'> & { calls: readonly ChildView[] }): ThreadId[] {
  if (cause !== 'child') return [];
  return calls.flatMap(({ thread, status, isLeft }) => (status === 'suspended' && !isLeft ? [thread] : []));
}
