import type { Snapshot } from '../git/native/snapshot.ts';
import { ThreadMoved } from '../thread/thread-errors.ts';
import type { ThreadState } from '../thread/thread-state.ts';
import type { WorkflowDefinition } from '../workflow/definition.ts';
import type { EngineContext } from './context.ts';
import { storeTurn, type FinishedTurn } from './finished-turn.ts';
import { holdTurn, reasonToHold } from './held-turn.ts';
import { keepMeanwhile, keepTurn } from './kept-turn.ts';
import { recordWorkspace, type TurnFiles } from './record-workspace.ts';
import { FilesHoldSecrets } from './secrets-in-files.ts';

/**
 * Stores a turn with the files that it left. One whose files hold secrets is held: the thread waits.
 * @param allowSecrets stores them
 * @throws {ReplyNotStored} if it cannot be stored; this machine keeps it
 */
export async function completeTurn(
  context: EngineContext,
  state: ThreadState,
  definition: WorkflowDefinition,
  turn: Omit<FinishedTurn, 'workspace'>,
  files: TurnFiles,
  allowSecrets: boolean = false,
): Promise<ThreadState> {
  const { role, result } = turn;
  let workspace: Snapshot | undefined;
  try {
    if (result.kind === 'done') workspace = await recordWorkspace(context, state, role, files, allowSecrets);
  } catch (error) {
    if (!(error instanceof FilesHoldSecrets)) throw error;
    return holdTurn(context, state, definition, turn, { files, reason: reasonToHold(role, error.places) });
  }
  const whole = { ...turn, workspace };
  const meanwhile = keepMeanwhile(context.repository, state, whole);
  try {
    const after = await storeTurn(context, state, definition, whole);
    meanwhile.forget();
    return after;
  } catch (error) {
    if (error instanceof ThreadMoved) {
      meanwhile.forget();
      throw error;
    }
    meanwhile.stop();
    throw keepTurn(context, state, whole, error);
  }
}
