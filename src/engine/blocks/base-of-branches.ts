import { isIsolated } from '../../workflow/definition.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import { findNewestRecorded } from '../../thread/step-files.ts';
import type { BlockTurn } from './prepare-block.ts';

/**
 * The commit that the work trees of a block's branches are made from: the caller's newest snapshot, else the base of the caller,
 * else what is checked out.
 * @returns `undefined` if the branches have no work trees of their own
 */
export async function baseOfBranches({
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
