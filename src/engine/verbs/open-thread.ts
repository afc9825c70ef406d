import { readThreadNote } from '../../git/repository/work-trees.ts';
import { findOwnWorkTree } from '../../git/worktree/own-work-tree.ts';
import { getThread } from '../../thread/find-thread.ts';
import { admitThreads } from '../agents/admission.ts';
import { definitionOf } from '../children/sub-workflow.ts';
import type { Machine, Telling } from '../engine-context.ts';
import { openWorkTree } from '../isolation/open-work-tree.ts';
import { gitPlace, workTreeFolder } from '../isolation/work-place.ts';
import { LeaseHeld } from '../leases/lease.ts';
import { withThread } from '../leases/with-thread.ts';

/**
 * Returns the folder of a thread's own work tree, and makes it if it is not there. While another process works on the thread, it
 * is as the agent has it.
 *
 * To make one, the thread's agents have to be admitted: the program that prepares a work tree belongs to their configuration.
 */
export async function openThread(engine: Machine & Telling, idOrPrefix: string): Promise<string> {
  const { id } = await getThread(engine.repository, idOrPrefix);
  const folder = workTreeFolder(engine, id);
  const found = await findOwnWorkTree(gitPlace(engine), folder);
  const isThere = found !== undefined && readThreadNote(found.location)?.thread === id;
  try {
    return await withThread(engine, id, undefined, async (state, lease) => {
      if (!isThere) await admitThreads(engine, [state]);
      const { name } = await definitionOf(engine, state);
      return (await openWorkTree(engine, lease, state, name)).workTree ?? folder;
    });
  } catch (error) {
    if (error instanceof LeaseHeld && isThere) return folder;
    throw error;
  }
}
