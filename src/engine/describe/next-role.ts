import type { ObjectId } from '../../git/format/object-id.ts';
import { nextOfMessage } from '../../thread/commit-message.ts';
import { readState, type ThreadState } from '../../thread/thread-state.ts';
import type { ThreadCommit } from '../../thread/thread-commit.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { END } from '../../workflow/definition.ts';
import type { EngineContext } from '../engine-context.ts';

/** The head of a thread, and the message of its commit. */
type Head = { id: ObjectId; kind: ThreadCommit['kind']; commit: { message: string } };

/**
 * Finds who is next in a thread: its head tells it after a step, else the rules are asked. It is only shown: who takes a turn decides
 * anew.
 * @param known the state of the thread, where it was read
 * @returns null where nobody is, or who waits has the turn
 */
export async function findNextRole(
  engine: EngineContext,
  { id, head }: { id: ThreadId; head: Head },
  known?: ThreadState,
): Promise<string | null> {
  if (head.kind === 'end' || head.kind === 'suspend') return null;
  const told = head.kind === 'step' ? nextOfMessage(head.commit.message) : undefined;
  if (told !== undefined) return told === END ? null : told;
  // Deciding loads much more than reading does.
  const [{ decide }, { decisionContext }, { definitionOf }] = await Promise.all([
    import('../../moderator/decide.ts'),
    import('../turn/decide.ts'),
    import('../children/sub-workflow.ts'),
  ]);
  const state = known ?? (await readState(engine.repository, id, head.id));
  const { name, moderator } = await definitionOf(engine, state);
  const decision = await decide(moderator, decisionContext(engine.repository, state, name));
  return decision.kind === 'role' ? decision.role : null;
}
