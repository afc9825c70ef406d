import { UwfError } from '../errors.ts';
import { evaluate } from '../expression/evaluation/evaluate.ts';
import type { JsonValue } from '../json.ts';
import type { BranchEnd } from '../thread/step-view.ts';
import { FAILED, isExpression, JOINED, type BlockDefinition } from '../workflow/definition.ts';
import { BlockFailed } from './moderator-errors.ts';

/** A branch whose end was taken in. */
export type TakenBranch = BranchEnd & { key: string };

/** The state of a join: open, or over with the `$status` of the block's step. */
export type JoinVerdict = { kind: 'open' } | { kind: 'over'; status: string; isJoined: boolean };

/**
 * Judges the join of a block over the branches that have ended, in the order in which they were taken in.
 *
 * A pure function: verification calls it again for each prefix of that order.
 * @param total the number of the block's branches
 * @throws {BlockFailed} if the expression of the join has no usable result
 * @throws {UwfError} `evaluator-unavailable` as `decide` does
 */
export async function judgeJoin(
  name: string,
  block: Pick<BlockDefinition, 'join' | 'onFailure'>,
  taken: readonly TakenBranch[],
  total: number,
): Promise<JoinVerdict> {
  const completed = taken.filter(isCompleted).length;
  if (isExpression(block.join)) {
    const status = await statusBy(name, block.join, taken, total);
    if (status !== undefined) return { kind: 'over', status, isJoined: true };
  }
  return judgeCounts(block, { completed, taken: taken.length, total });
}

/** Tells whether a branch ended with the outcome `completed`. */
export function isCompleted({ end }: Pick<TakenBranch, 'end'>): boolean {
  return end.outcome === 'completed';
}

/** Judges a join by numbers alone. For a join with an expression, numbers can only show that it failed. */
export function judgeCounts(
  { join, onFailure }: Pick<BlockDefinition, 'join' | 'onFailure'>,
  { completed, taken, total }: { completed: number; taken: number; total: number },
): JoinVerdict {
  const wanted = wantedNumber(join, total);
  if (wanted !== undefined && completed >= wanted) return { kind: 'over', status: JOINED, isJoined: true };
  const open = total - taken;
  const isLost = wanted === undefined ? completed < taken : completed + open < wanted;
  const isOver = open === 0 || (wanted ?? 0) > total || (isLost && onFailure === 'cancel');
  return isOver ? { kind: 'over', status: FAILED, isJoined: false } : { kind: 'open' };
}

/** How many branches have to complete; `undefined` if an expression decides. */
function wantedNumber(join: BlockDefinition['join'], total: number): number | undefined {
  if (typeof join === 'object') return join.atLeast;
  if (join === 'all') return total;
  return join === 'any' ? 1 : undefined;
}

async function statusBy(
  name: string,
  join: string,
  taken: readonly TakenBranch[],
  total: number,
): Promise<string | undefined> {
  const bindings = { branches: taken.map((branch) => ({ ...branch })), total };
  let value: JsonValue | undefined;
  try {
    value = await evaluate(join, { input: bindings, bindings });
  } catch (error) {
    if (error instanceof UwfError && error.kind === 'data')
      throw new BlockFailed(name, 'join', join, error.message, error);
    throw error;
  }
  if (value === true) return JOINED;
  if (value === undefined || value === null || value === false || value === '') return undefined;
  if (typeof value === 'string' && !value.startsWith('$')) return value;
  throw new BlockFailed(name, 'join', join, 'its value is neither true or false nor the text of a $status');
}
