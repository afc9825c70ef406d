import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { SKIPS } from '../../schema/built-in/totals.ts';
import { CorruptThread } from '../thread-errors.ts';
import { readLightCommit, type LightCommit, type LightStep } from './light-chain.ts';

/**
 * Finds a step of a thread by its number, in at most two dozen reads however long the thread is: the totals of each commit name steps
 * far behind it.
 *
 * @param from a commit of the thread
 * @param number from 1
 * @returns `undefined` if there is no such step up to that commit
 * @throws {CorruptThread} if totals on the way name another step
 */
export async function findStepByNumber(
  repository: Repository,
  from: ObjectId,
  number: number,
): Promise<LightStep | undefined> {
  if (number < 1) return undefined;
  let at: LightCommit = await readLightCommit(repository, from);
  while (at.kind !== 'start') {
    const { steps, skips } = at.node.totals;
    if (at.kind === 'step' && steps + 1 === number) return at;
    if (number > steps) return undefined;
    const [parent] = at.commit.parents;
    let next = { id: parent, step: undefined as number | undefined };
    for (const [place, distance] of SKIPS.entries()) {
      const step = steps - (steps % distance);
      if (step >= number && skips[place] !== undefined) next = { id: skips[place], step };
    }
    if (next.id === undefined) throw new CorruptThread(at.id, 'it is no start and has no parent');
    const before: LightCommit = await readLightCommit(repository, next.id);
    const isThat = before.kind === 'step' && before.node.totals.steps + 1 === next.step;
    if (next.step !== undefined && !isThat)
      throw new CorruptThread(at.id, `its totals name ${next.id} as step ${next.step}`);
    at = before;
  }
  return undefined;
}

/** Reads the steps of a thread that called child threads, newest first. Each names the one before it. */
export async function* callingSteps(
  repository: Repository,
  { calling }: { calling: ObjectId | null },
): AsyncGenerator<LightStep, void, void> {
  for (let id = calling; id !== null;) {
    const step: LightCommit = await readLightCommit(repository, id);
    if (step.kind !== 'step') throw new CorruptThread(id, 'it is no step');
    yield step;
    id = step.node.totals.calling;
  }
}
