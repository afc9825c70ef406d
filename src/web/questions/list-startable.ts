import type { EngineContext } from '../../engine/engine-context.ts';
import { listWorkflowFiles } from '../../workflow/load/resolve-workflow.ts';
import { listWorkflows } from '../../workflow/registry/find-workflow.ts';

/** A workflow that can be started by its name; of a file, the description is not read. */
export type StartableWorkflow = { name: string; description: string };

/** Lists the workflows that have names here: files of the work tree and registered ones; of one name the file. */
export async function listStartable({ repository, cwd }: EngineContext): Promise<StartableWorkflow[]> {
  const files = await listWorkflowFiles(repository, cwd);
  const { workflows } = await listWorkflows(repository);
  const names = new Set(files.map(({ name }) => name));
  const named = [
    ...files.map(({ name }) => ({ name, description: '' })),
    ...workflows.filter(({ name }) => !names.has(name)).map(({ name, description }) => ({ name, description })),
  ];
  return named.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}
