import type { ObjectId } from '../../git/format/object-id.ts';
import type { ThreadStart } from '../../schema/built-in/thread-start.ts';
import { findRole, isIsolated, type Isolation, type WorkflowDefinition } from '../../workflow/definition.ts';

/**
 * How the turns of a role are kept apart: as the role says, else the workflow, else `worktree` in a thread that was started
 * with a base. A thread without a base has no work tree of its own.
 */
export function isolationOf(
  definition: Pick<WorkflowDefinition, 'roles' | 'blocks' | 'isolation'>,
  role: string,
  { base }: Pick<ThreadStart, 'base'>,
): Isolation {
  const said = findRole(definition, role)?.isolation ?? definition.isolation;
  if (base === undefined) return said === 'shared' ? 'shared' : 'none';
  return said ?? 'worktree';
}

/** Tells whether a role of a workflow asks for a work tree of the thread's own. */
export function wantsIsolation({ roles, isolation }: Pick<WorkflowDefinition, 'roles' | 'isolation'>): boolean {
  return Object.values(roles).some((role) => isIsolated(role.isolation ?? isolation));
}

/** What a work tree is to be made from: a commit, what is checked out, or that with what is not committed. */
export type WantedBase = ObjectId | 'head' | 'changes';
