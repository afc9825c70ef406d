import { judgeJoin, type TakenBranch } from '../../moderator/judge-join.ts';
import { listBranches } from '../../moderator/list-branches.ts';
import { BlockFailed } from '../../moderator/moderator-errors.ts';
import { readBranchEnd } from '../../thread/read/branch-end.ts';
import type { ThreadState } from '../../thread/read/thread-state.ts';
import { findBlock } from '../../workflow/definition.ts';
import type { EngineContext } from '../engine-context.ts';
import { openStep } from '../turn/decide.ts';
import { findBranches } from './find-branches.ts';

/** Tells whether a thread that waits for the branches of a block could go on without those that wait for a person. */
export async function isBlockDecided(engine: EngineContext, state: ThreadState): Promise<boolean> {
  if (state.head.kind !== 'suspend') return false;
  const { role } = state.head.node;
  const { definition, decisions } = await openStep(engine, state);
  const block = findBlock(definition, role);
  if (block === undefined) return false;
  try {
    const { length: total } = await listBranches(role, block, decisions, '');
    const taken: TakenBranch[] = [];
    for (const { key, head, endedAtMs } of await findBranches(engine, state, role)) {
      if (endedAtMs === undefined) continue;
      taken.push({ key, ...(await readBranchEnd(engine.repository, head, total)) });
      if ((await judgeJoin(role, block, taken, total)).kind === 'over') return true;
    }
    return false;
  } catch (error) {
    // It waits for a person because of that already.
    if (error instanceof BlockFailed) return false;
    throw error;
  }
}
