import type { NodeHash } from '../../cas/hash.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import { findThread } from '../../thread/find-thread.ts';
import { findStart } from '../../thread/thread-chain.ts';
import { callerCommit, type CommitOf, readState, stateHash } from '../../thread/thread-state.ts';
import { parseThreadId, type ThreadId } from '../../thread/thread-id.ts';
import { findBlock, isIsolated, needsOf } from '../../workflow/definition.ts';
import { findWaitingChildren } from '../children/waiting-children.ts';
import { definitionOf, pinnedDefinition } from '../children/sub-workflow.ts';
import type { Deciding, Reading } from '../engine-context.ts';
import { findNextRole, parentAtBirth } from './gather-facts.ts';

/** The next turn of a thread that can go on by itself. */
export type NextTurn = {
  workflow: string;
  workflowHash: NodeHash;
  /** Who takes it; null where the thread is only to be ended. */
  role: string | null;
  /** What a machine must have for it, sorted. */
  needs: readonly string[];
  /** The email address of the committer of its start. */
  startedBy: string;
  /** Whether the thread waited for a child that has gone on since. */
  isResumption: boolean;
  /** Whether this head has this turn whatever becomes of other threads. */
  isSettled: boolean;
};

/**
 * The next turn of a thread at a head. `over`: the head is its end. `none`: it waits for a person, or is run by a turn of its
 * caller. `later`: it waits for other threads, so the same head can have a turn later.
 */
export type Outlook = NextTurn | 'over' | 'none' | 'later';

/**
 * Finds the next turn of a thread at a head.
 * @param isShared tells whether other machines can see a branch of its block, and so run it
 * @throws {UwfError} of kind `data` if it cannot be read
 */
export async function findNextTurn(
  engine: Deciding,
  at: { id: ThreadId; head: ObjectId },
  isShared: (branch: ThreadId) => Promise<boolean> = async () => true,
): Promise<Outlook> {
  const { repository } = engine;
  const state = await readState(repository, at.id, at.head);
  const { head, start } = state;
  const isResumption = head.kind === 'suspend' && head.node.cause === 'child';
  if (head.kind === 'end') return 'over';
  if (head.kind === 'suspend' && !isResumption) return 'none';
  const isChild = (await parentAtBirth(engine, start)) !== null;
  // The caller of a branch may not be here yet as it is at the remote.
  if (isChild && !(await isLeftToOthers(engine, start))) return start.node.call?.block === undefined ? 'none' : 'later';
  const definition = await definitionOf(engine, state);
  const role = isResumption ? head.node.role : await findNextRole(engine, state, state);
  const isOfBlock = role !== null && findBlock(definition, role) !== undefined;
  if (isResumption && (await findWaitingChildren(engine, state)).length > 0) return 'later';
  if (isOfBlock && !isResumption) {
    const { canBlockGoOn } = await import('../blocks/is-decided.ts');
    if (!(await canBlockGoOn(engine, state, role, isShared))) return 'later';
  }
  return {
    workflow: definition.name,
    workflowHash: start.node.workflow,
    role,
    needs: role === null ? [] : needsOf(definition, role),
    startedBy: start.commit.committer.email,
    isResumption,
    isSettled: !isChild && !isOfBlock && !isResumption,
  };
}

/** Tells whether a child is a branch that its block leaves to any machine: one with a work tree of its own. */
async function isLeftToOthers(engine: Reading, start: CommitOf<'start'>): Promise<boolean> {
  const { repository } = engine;
  const { call, parentRole } = start.node;
  const at = callerCommit(start);
  if (call?.block === undefined || parentRole === null || at === undefined) return false;
  const caller = await findStart(repository, at);
  if (caller === undefined) return false;
  const pointer = await findThread(repository, parseThreadId(call.thread));
  if (pointer === undefined || pointer.isHistory) return false;
  // A block that was decided without it has cancelled it, or will.
  const now = await readState(repository, pointer.id, pointer.head);
  if (stateHash(now) !== start.node.parentState) return false;
  const block = findBlock(await pinnedDefinition(engine, { start: caller }, caller.node.workflow), parentRole);
  return isIsolated(block?.isolation);
}

/** Finds the thread whose turn called a thread; null if none did. */
export async function findCallerOf(engine: Reading, at: { id: ThreadId; head: ObjectId }): Promise<ThreadId | null> {
  const { call } = (await readState(engine.repository, at.id, at.head)).start.node;
  return call === undefined ? null : parseThreadId(call.thread);
}
