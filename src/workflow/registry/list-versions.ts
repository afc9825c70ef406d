import { readCommit } from '../../git/stores/read.ts';
import type { Repository } from '../../git/repository.ts';
import { findWorkflow, readRegistration, type RegisteredWorkflow } from './find-workflow.ts';

/**
 * Lists the registered versions of a workflow, newest first; none if it is not registered.
 *
 * @throws {UwfError} `invalid-workflow-name` if no workflow can have this name
 * @throws {NoRegistration} if a commit of the ref registers nothing
 */
export async function listVersions(repository: Repository, name: string, limit: number): Promise<RegisteredWorkflow[]> {
  const versions: RegisteredWorkflow[] = [];
  let version = await findWorkflow(repository, name);
  while (version !== undefined) {
    versions.push(version);
    const [before] = (await readCommit(repository.objects, version.commit)).parents;
    if (before === undefined || versions.length >= limit) break;
    version = await readRegistration(repository, version.ref, before);
  }
  return versions;
}
