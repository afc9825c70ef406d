import type { ThreadState } from '../../thread/thread-state.ts';
import { enterRunTree } from '../limits/enter-run-tree.ts';
import type { EngineContext } from '../engine-context.ts';

/**
 * Does work on a thread in one of the `limits.maxParallelThreads` slots that the processes of this machine share for a
 * repository; waits until one is free, and tells which threads have them.
 *
 * `outsideSlot` of the engine that the work gets frees the slot while the thread waits for a child, which takes one of its
 * own. No thread therefore waits for another in a slot that the other needs. A process that ends loses its slots.
 * @throws as {@link enterRunTree}
 * @throws {Interrupted} if the engine is told to stop while it waits
 */
export async function inSlot<T>(
  engine: EngineContext,
  state: ThreadState,
  work: (engine: EngineContext) => Promise<T>,
): Promise<T> {
  const canWork = state.head.kind !== 'suspend' && state.end === undefined;
  if (canWork) enterRunTree(engine, state.id, `thread ${state.id}`);
  const limit = engine.config.limits?.maxParallelThreads;
  const { stateDir } = engine.repository;
  // Without a disk there is only this process, and its program knows what it runs.
  if (!canWork || limit === undefined || stateDir === undefined) return work(engine);
  const { Slot } = await import('./slot.ts');
  const slot = new Slot(engine, state.id, { stateDir, limit });
  await slot.take();
  try {
    return await work({ ...engine, outsideSlot: (wait) => slot.outside(wait) });
  } finally {
    slot.free();
  }
}
