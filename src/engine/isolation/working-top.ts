import type { ObjectId } from '../../git/format/object-id.ts';
import type { ThreadStart } from '../../schema/built-in/thread-start.ts';
import { findStart } from '../../thread/thread-chain.ts';
import { isThreadId } from '../../thread/thread-id.ts';
import { callerCommit, type ThreadState } from '../../thread/thread-state.ts';
import { findRole, isIsolated, type Isolation, type WorkflowDefinition } from '../../workflow/definition.ts';
import { pinnedDefinition } from '../children/sub-workflow.ts';
import type { Machine } from '../engine-context.ts';
import type { WorkingTop } from '../workspace/working-folder.ts';
import { workTreeFolder } from './work-tree-folder.ts';

/** Where a role works, and how it is kept apart. */
type RolePlace = WorkingTop & { isolation: Isolation };

/**
 * Says where a role of a thread works: in the thread's own work tree if the role is isolated, else in that of the nearest
 * isolated caller, else where the engine works. An engine that keeps all threads apart has the work tree of the outermost caller
 * instead. The work tree need not be there yet.
 */
export async function workingPlace(
  engine: Machine,
  { id, start }: Pick<ThreadState, 'id' | 'start'>,
  definition: WorkflowDefinition,
  role: string,
): Promise<RolePlace> {
  const { repository } = engine;
  const isolation = isolationOf(definition, role, start.node);
  if (isIsolated(isolation)) return { repository, isolation, cwd: workTreeFolder(engine, id), isOwn: true };
  const cwd = await findCallersTree(engine, start);
  if (cwd === undefined && engine.sharesTurns) {
    return { repository, isolation, cwd: workTreeFolder(engine, id), isOwn: true };
  }
  return { repository, isolation, cwd: cwd ?? engine.cwd };
}

async function findCallersTree(
  engine: Machine,
  start: Pick<ThreadState['start'], 'node' | 'commit'>,
): Promise<string | undefined> {
  let outermost: string | undefined;
  for (let child = start; ;) {
    const at = callerCommit(child);
    const { parentRole, call } = child.node;
    const caller = at && (await findStart(engine.repository, at));
    if (caller === undefined || parentRole === null) return outermost;
    const definition = await pinnedDefinition(engine, { start: caller }, caller.node.workflow);
    const thread = call?.thread ?? caller.node.id;
    const isApart = isIsolated(isolationOf(definition, parentRole, caller.node));
    if (isThreadId(thread) && (isApart || engine.sharesTurns)) {
      const folder = workTreeFolder(engine, thread);
      if (isApart) return folder;
      outermost = folder;
    }
    child = caller;
  }
}

/**
 * How the turns of a role are kept apart: as the role says, else the workflow, else `worktree` in a thread that was started
 * with a base. A thread without a base has no work tree of its own.
 */
function isolationOf(
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
