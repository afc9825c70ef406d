import type { Repository } from '../../git/repository.ts';
import { WorkflowNotFound } from './find-workflow.ts';
import { workflowRef, WORKFLOWS_PREFIX } from './workflow-refs.ts';

/**
 * Removes a workflow, with all its versions, from the registry. Threads that run it have their own copy and go on.
 *
 * @throws {WorkflowNotFound} if no workflow of this name is registered
 * @throws {RefMoved} if another process registered a new version meanwhile; nothing is removed then
 */
export async function removeWorkflow(repository: Repository, name: string): Promise<void> {
  const ref = workflowRef(name);
  const tip = await repository.refs.read(ref);
  if (tip === undefined) {
    const known = await repository.refs.list(WORKFLOWS_PREFIX);
    const names = known.map((other) => other.name.slice(WORKFLOWS_PREFIX.length));
    throw new WorkflowNotFound(name, [ref], names);
  }
  await repository.refs.update([{ name: ref, expected: tip, value: null }]);
}
