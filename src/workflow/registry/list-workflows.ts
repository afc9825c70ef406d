import { UwfError } from '../../errors.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import { BrokenPackedRefs, type RefDamage } from '../../git/format/ref-errors.ts';
import type { Repository } from '../../git/repository.ts';
import { readRegistration, type RegisteredWorkflow } from './find-workflow.ts';
import { WORKFLOWS_PREFIX } from './workflow-refs.ts';

/**
 * A ref under `refs/workflows/` that cannot be read as a registration, and why. `commit` is absent where the ref itself is
 * damaged.
 */
export type UnreadableWorkflow = { name: string; ref: string; commit?: ObjectId; problem: UwfError };

/**
 * Lists the registered workflows by name, each in its newest version.
 *
 * Unreadable ones are returned separately, so that one broken ref does not hide the others.
 */
export async function listWorkflows(
  repository: Repository,
): Promise<{ workflows: RegisteredWorkflow[]; unreadable: UnreadableWorkflow[] }> {
  const workflows: RegisteredWorkflow[] = [];
  const unreadable: UnreadableWorkflow[] = [];
  const damaged = (problem: RefDamage): void => {
    // If packed-refs is damaged, workflows may be missing from the list, so there is none.
    if (problem instanceof BrokenPackedRefs) throw problem;
    unreadable.push({ name: problem.ref.slice(WORKFLOWS_PREFIX.length), ref: problem.ref, problem });
  };
  for (const { name: ref, id: commit } of await repository.refs.list(WORKFLOWS_PREFIX, { damaged })) {
    try {
      workflows.push(await readRegistration(repository, ref, commit));
    } catch (error) {
      if (!(error instanceof UwfError)) throw error;
      unreadable.push({ name: ref.slice(WORKFLOWS_PREFIX.length), ref, commit, problem: error });
    }
  }
  return { workflows, unreadable };
}
