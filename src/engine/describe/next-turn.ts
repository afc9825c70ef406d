import type { NodeHash } from '../../cas/hash.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import { readState } from '../../thread/read/thread-state.ts';
import { readThreadCommit } from '../../thread/thread-commit.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { needsOf } from '../../workflow/definition.ts';
import { findWaitingChildren } from '../children/waiting-children.ts';
import { definitionOf } from '../children/sub-workflow.ts';
import type { EngineContext } from '../engine-context.ts';
import { findFacts } from './facts.ts';
import { gatherFacts } from './gather-facts.ts';

/** The next turn of a thread that can go on by itself. */
export type NextTurn = {
  workflow: string;
  workflowHash: NodeHash;
  /** Who takes it; null where the thread is only to be ended. */
  role: string | null;
  /** What a machine must have for it, sorted. */
  needs: readonly string[];
  /** The email address of whoever started the thread, as its start says. */
  startedBy: string;
  /** Whether the thread waited for a child that has gone on since. */
  isResumption: boolean;
};

/**
 * The next turn of a thread at a head. `none`: the thread is over, waits for a person, or is run by a turn of its caller.
 * `later`: it waits for other threads, so the same head can have a turn later.
 */
export type Outlook = NextTurn | 'none' | 'later';

/**
 * Finds the next turn of a thread at a head.
 * @throws {UwfError} of kind `data` if it cannot be read
 */
export async function findNextTurn(engine: EngineContext, at: { id: ThreadId; head: ObjectId }): Promise<Outlook> {
  const { repository } = engine;
  const facts = findFacts(repository, at.id, at.head) ?? (await gatherFacts(engine, at));
  if (facts.caller !== null || facts.parent !== null) return 'none';
  const isResumption = facts.status === 'suspended' && facts.cause === 'child';
  if (facts.status !== 'idle' && !isResumption) return 'none';
  if (isResumption) {
    const state = await readState(repository, at.id, at.head);
    if ((await findWaitingChildren(engine, state)).length > 0) return 'later';
  }
  const start = await readThreadCommit(repository, facts.startCommit);
  if (start.kind !== 'start') return 'none';
  const definition = await definitionOf(engine, { start });
  return {
    workflow: definition.name,
    workflowHash: facts.workflowHash,
    role: facts.nextRole,
    needs: facts.nextRole === null ? [] : needsOf(definition, facts.nextRole),
    startedBy: start.commit.committer.email,
    isResumption,
  };
}
