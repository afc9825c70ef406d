import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { addUsage, type Usage } from '../../schema/built-in/schema-parts.ts';
import { findThread } from '../../thread/find-thread.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import type { FinishedTurn } from '../turn/step.ts';
import { readTurnLog, usageOfTurn, type OpenTurn } from './turn-log.ts';

/** Finds the turns of a thread of which no outcome is stored, oldest first. */
export async function findOpenTurns(repository: Repository, thread: ThreadId): Promise<OpenTurn[]> {
  const turns = readTurnLog(repository, thread);
  const last = turns.at(-1);
  if (last?.arrivedAtMs === undefined) return turns;
  const { head, role, startedAtMs, arrivedAtMs: completedAtMs, isHeld } = last;
  // Its process may have died between storing it and forgetting the log.
  const pointer = await findThread(repository, thread);
  const turn = { role, startedAtMs, completedAtMs };
  return pointer && (await isTurnStored(repository, pointer.head, head, turn, isHeld)) ? [] : turns;
}

/**
 * Tells whether the outcome of a turn is stored in a thread.
 * @param from the head of the thread
 * @param until the commit that the turn went on from
 * @param isStep whether only a step counts
 */
export async function isTurnStored(
  repository: Repository,
  from: ObjectId,
  until: ObjectId,
  { role, startedAtMs, completedAtMs }: Pick<FinishedTurn, 'role' | 'startedAtMs' | 'completedAtMs'>,
  isStep = false,
): Promise<boolean> {
  const { readChain } = await import('../../thread/thread-chain.ts');
  for await (const { id, kind, node } of readChain(repository, from)) {
    if (kind === 'step') {
      if (node.role === role && node.startedAtMs === startedAtMs && node.completedAtMs === completedAtMs) return true;
    } else if (kind === 'suspend' && !isStep && node.role === role && node.suspendedAtMs === completedAtMs) return true;
    if (id === until) return false;
  }
  return false;
}

/** What the open turns of a thread have used, by their roles: it was spent, and no commit says so yet. */
export async function openUsage(repository: Repository, thread: ThreadId): Promise<ReadonlyMap<string, Usage>> {
  const sums = new Map<string, Usage>();
  for (const turn of await findOpenTurns(repository, thread)) {
    const sum = addUsage(sums.get(turn.role) ?? null, usageOfTurn(turn));
    if (sum !== null) sums.set(turn.role, sum);
  }
  return sums;
}
