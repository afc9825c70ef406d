import { isCompleted, judgeCounts, judgeJoin, type JoinVerdict, type TakenBranch } from '../../moderator/judge-join.ts';
import { CONFLICT, isExpression, type BlockDefinition } from '../../workflow/definition.ts';

/** How a join was decided: whether its branches joined, or what is wrong. */
export type CheckedJoin = { fault: string } | { fault: undefined; isJoined: boolean };

/**
 * Judges a join over each beginning of the branches that were taken in, also the empty one: it has to be open until the
 * last, and then to give the status.
 *
 * One pass where numbers decide. An expression is evaluated once for each beginning.
 */
export async function checkJoin(
  name: string,
  block: Pick<BlockDefinition, 'join' | 'onFailure' | 'merge'>,
  taken: readonly TakenBranch[],
  total: number,
  status: string,
  passed: () => void,
): Promise<CheckedJoin> {
  let completed = 0;
  for (let count = 0; count <= taken.length; count += 1) {
    const newest = taken[count - 1];
    if (newest && isCompleted(newest)) completed += 1;
    let verdict: JoinVerdict;
    if (isExpression(block.join)) {
      verdict = await judgeJoin(name, block, taken.slice(0, count), total);
      passed();
    } else verdict = judgeCounts(block, { completed, taken: count, total });
    if (verdict.kind === 'open') continue;
    if (count < taken.length)
      return { fault: `its join was decided by the first ${count} of ${taken.length} branches` };
    const { isJoined } = verdict;
    const mayConflict = isJoined && block.merge !== undefined && status === CONFLICT;
    if (verdict.status === status || mayConflict) return { fault: undefined, isJoined };
    return { fault: `its status is '${status}'; by its join it is '${verdict.status}'` };
  }
  return { fault: `its join is not decided by the ${taken.length} of ${total} branches that it took in` };
}
