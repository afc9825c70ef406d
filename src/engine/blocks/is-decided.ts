import { judgeJoin, listBranches, type TakenBranch } from '../../moderator/branches.ts';
import { BlockFailed } from '../../moderator/decide.ts';
import { readBranchEnd } from '../../thread/step-view.ts';
import type { ThreadState } from '../../thread/thread-state.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { findBlock, isIsolated } from '../../workflow/definition.ts';
import type { Deciding, Reading } from '../engine-context.ts';
import { findBudgetSpent } from '../limits/allowance.ts';
import { openStep } from '../turn/decide.ts';
import { type BranchThread, DEFAULT_AT_ONCE, findBranches } from './run-block.ts';

type BlockProgress = { total: number; begun: readonly BranchThread[]; isDecided: boolean };

/** Tells whether a thread that waits for the branches of a block could go on without those that wait for a person. */
export async function isBlockDecided(engine: Reading, state: ThreadState): Promise<boolean> {
  if (state.head.kind !== 'suspend') return false;
  // Where the branches cannot be listed, the thread waits for a person because of that.
  return (await readProgress(engine, state, state.head.node.role))?.isDecided ?? false;
}

/**
 * Tells whether a turn of a block has something to do where other machines run the branches: it is decided, has branches that
 * it may start, or none of its branches goes on there.
 * @param isShared tells whether other machines can see a branch: one that was started and not published runs nowhere
 */
export async function canBlockGoOn(
  engine: Deciding,
  state: ThreadState,
  role: string,
  isShared: (branch: ThreadId) => Promise<boolean>,
): Promise<boolean> {
  const { definition } = await openStep(engine, state);
  const block = findBlock(definition, role);
  if (block === undefined || !isIsolated(block.isolation)) return true;
  const progress = await readProgress(engine, state, role);
  if (progress === undefined || progress.isDecided) return true;
  const { total, begun } = progress;
  const going = begun.filter(({ endedAtMs, isWaiting }) => endedAtMs === undefined && !isWaiting);
  if (going.length === 0) return true;
  const hasRoom = begun.length < total && going.length < (block.each?.atOnce ?? DEFAULT_AT_ONCE);
  if (hasRoom && (await findBudgetSpent({ engine, state, definition }, role)) === undefined) return true;
  for (const { thread } of going) if (!(await isShared(thread))) return true;
  return false;
}

/** Reads how the branches of a block stand; `undefined` if the role is no block, or it cannot be said which branches it has. */
async function readProgress(engine: Reading, state: ThreadState, role: string): Promise<BlockProgress | undefined> {
  const { definition, decisions } = await openStep(engine, state);
  const block = findBlock(definition, role);
  if (block === undefined) return undefined;
  try {
    const { length: total } = await listBranches(role, block, decisions, '');
    const begun = await findBranches(engine, state, role);
    const taken: TakenBranch[] = [];
    let isDecided = total === 0;
    for (const { key, head, endedAtMs } of begun) {
      if (isDecided || endedAtMs === undefined) continue;
      taken.push({ key, ...(await readBranchEnd(engine.repository, head, total)) });
      isDecided = (await judgeJoin(role, block, taken, total)).kind === 'over';
    }
    return { total, begun, isDecided };
  } catch (error) {
    if (error instanceof BlockFailed) return undefined;
    throw error;
  }
}
