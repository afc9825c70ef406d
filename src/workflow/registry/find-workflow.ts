import { readCommitNodes, readNodeAt } from '../../cas/commit-nodes.ts';
import type { NodeHash } from '../../cas/hash.ts';
import { UwfError } from '../../errors.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import { readCommit } from '../../git/stores/read.ts';
import type { RefName } from '../../git/ref-store.ts';
import type { Repository } from '../../git/repository.ts';
import { isJsonObject } from '../../json.ts';
import { builtIn } from '../../schema/built-in.ts';
import { didYouMean } from '../diagnostics/did-you-mean.ts';
import { workflowRef, WORKFLOWS_PREFIX } from './workflow-refs.ts';

/** A workflow as the registry knows it: the newest version of a name. */
export type RegisteredWorkflow = {
  name: string;
  /** The definition's node. */
  hash: NodeHash;
  description: string;
  ref: RefName;
  /** The commit of the newest registration; its first parent is the one before. */
  commit: ObjectId;
  registeredAtMs: number;
};

/** No workflow of this name, or of this hash, is there. */
export class WorkflowNotFound extends UwfError {
  /** @param lookedAt where, in order */
  constructor(workflow: string, lookedAt: readonly string[], known: readonly string[]) {
    // A bare repository has registered ones only.
    const isBare = lookedAt.length > 0 && lookedAt.every((place) => place.startsWith(WORKFLOWS_PREFIX));
    const toWrite = isBare ? '' : 'write one to .uwf/workflows/, or ';
    const places = lookedAt.length === 0 ? '' : `; looked at ${lookedAt.join(', ')}`;
    super(`there is no workflow '${workflow}'${places}`, {
      code: 'workflow-not-found',
      kind: 'usage',
      hint: didYouMean(workflow, known) ?? `${toWrite}register one with 'uwf workflow add <file>'`,
      facts: { workflow, lookedAt },
    });
  }
}

/** A workflow's ref points at a commit that holds no workflow. */
export class NoRegistration extends UwfError {
  constructor(ref: RefName, commit: ObjectId) {
    super(`${ref} is at ${commit}, which holds no workflow`, {
      code: 'no-registration',
      kind: 'data',
      hint: `look at it with 'git show ${commit}'; 'uwf workflow rm <name>' removes the ref`,
      facts: { ref },
    });
  }
}

/**
 * Finds the newest registered version of a workflow; `undefined` if no workflow of this name is registered.
 *
 * @throws {UwfError} `invalid-workflow-name` if no workflow can have this name
 * @throws {NoRegistration} if the ref holds something else
 */
export async function findWorkflow(repository: Repository, name: string): Promise<RegisteredWorkflow | undefined> {
  const ref = workflowRef(name);
  const commit = await repository.refs.read(ref);
  return commit === undefined ? undefined : readRegistration(repository, ref, commit);
}

/** Reads what a commit under `refs/workflows/` registered. @throws {NoRegistration} if it holds no workflow */
export async function readRegistration(
  repository: Repository,
  ref: RefName,
  commit: ObjectId,
): Promise<RegisteredWorkflow> {
  const { entries } = await readCommitNodes(repository, commit);
  const entry = entries?.find(({ path }) => path === 'workflow/workflow.json');
  if (entry === undefined) throw new NoRegistration(ref, commit);
  const { type, payload } = await readNodeAt(repository, entry);
  if (type !== builtIn.workflow || !isJsonObject(payload)) throw new NoRegistration(ref, commit);
  const { committer } = await readCommit(repository.objects, commit);
  return {
    name: ref.slice(WORKFLOWS_PREFIX.length),
    hash: entry.hash,
    description: typeof payload['description'] === 'string' ? payload['description'] : '',
    ref,
    commit,
    registeredAtMs: committer.atMs,
  };
}
