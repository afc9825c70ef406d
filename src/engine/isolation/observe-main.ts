import { changesBetween, observeWorkTree, type ObservedWorkTree } from '../../git/worktree/observe-work-tree.ts';
import { mainWorkTree } from '../../git/repository/thread-work-tree.ts';
import type { IsolationBreach } from './isolation.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import type { EngineContext } from '../engine-context.ts';
import { gitPlace } from './work-tree-folder.ts';

/** Observes the work tree that isolated agents are to leave alone: the main one, or the bare repository. */
export async function observeMain(engine: EngineContext): Promise<ObservedWorkTree> {
  const git = gitPlace(engine);
  const { commonDir } = git.location;
  return observeWorkTree({ ...git, location: { gitDir: commonDir, commonDir, workTree: mainWorkTree({ commonDir }) } });
}

/** Finds what changed in the main work tree since it was observed, and tells it. */
export async function findBreach(
  engine: EngineContext,
  before: ObservedWorkTree,
  place: { thread: ThreadId; role: string },
): Promise<IsolationBreach | undefined> {
  const after = await observeMain(engine).catch(() => undefined);
  // The turn has been paid for. Before it git could look there, so that it cannot now is a change.
  const main = after === undefined ? { index: true as const } : changesBetween(before, after);
  if (main === undefined) return undefined;
  engine.tell({ event: 'main.changed', ...place, main });
  return { main };
}
