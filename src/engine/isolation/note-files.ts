import { noteThread } from '../../git/repository/work-trees.ts';
import { findOwnWorkTree } from '../../git/worktree/own-work-tree.ts';
import { filesOfStep } from '../../thread/step-files.ts';
import type { ThreadState } from '../../thread/thread-state.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import type { EngineContext } from '../engine-context.ts';
import { gitPlace, workTreeFolder } from './work-tree-folder.ts';

/** Notes in a thread's work tree that its files are those of the step that was just stored. */
export async function noteFiles(
  engine: EngineContext,
  thread: ThreadId,
  { id, head }: Pick<ThreadState, 'id' | 'head'>,
): Promise<void> {
  if (head.kind !== 'step' || id !== thread) return;
  const found = await findOwnWorkTree(gitPlace(engine), workTreeFolder(engine, thread));
  const commit = (await filesOfStep(engine.repository, head))?.commit;
  if (found?.note === undefined || commit === undefined) return;
  noteThread(found.location, { ...found.note, at: head.id, commit });
}
