import { readCommitNodes, readNodeAt } from '../../cas/commit-nodes.ts';
import { type NodeHash, prepareHashing } from '../../cas/hash.ts';
import { writeNodeTree } from '../../cas/node-tree.ts';
import { typePath } from '../../cas/scratch.ts';
import { UwfError } from '../../errors.ts';
import { BrokenPackedRefs, type RefDamage } from '../../git/format/errors.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { RefName, Repository } from '../../git/repository.ts';
import { againIfMoved, ObjectBatch, publish } from '../../git/stores/publish.ts';
import { readCommit, readTree } from '../../git/stores/read.ts';
import { isJsonObject } from '../../json.ts';
import { builtIn, encodeBuiltIns } from '../../schema/built-in.ts';
import { didYouMean } from '../../text/nearest-name.ts';
import { validateWorkflow } from '../check/validate-workflow.ts';
import type { WorkflowDefinition } from '../definition.ts';
import { writeWorkflowTree } from '../nodes.ts';
import { InvalidWorkflow } from '../source/source-map.ts';
import { workflowRef, WORKFLOWS_PREFIX } from './workflow-refs.ts';

/** A workflow as the registry knows it: the newest version of a name. */
export type RegisteredWorkflow = {
  name: string;
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

/** Finds the newest registered version of a workflow. @throws {NoRegistration} if the ref holds something else */
export async function findWorkflow(repository: Repository, name: string): Promise<RegisteredWorkflow | undefined> {
  const ref = workflowRef(name);
  const commit = await repository.refs.read(ref);
  return commit === undefined ? undefined : readRegistration(repository, ref, commit);
}

/** Reads what a commit under `refs/workflows/` registered. @throws {NoRegistration} if it holds no workflow */
async function readRegistration(repository: Repository, ref: RefName, commit: ObjectId): Promise<RegisteredWorkflow> {
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

/**
 * A ref under `refs/workflows/` that cannot be read as a registration, and why. `commit` is absent where the ref itself is
 * damaged.
 */
type UnreadableWorkflow = { name: string; ref: string; commit?: ObjectId; problem: UwfError };

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

/** Lists the registered versions of a workflow, newest first; none if it is not registered. */
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

/**
 * Removes a workflow, with all its versions, from the registry. Threads that run it have their own copy and go on.
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

/** How often registering is tried again after a lost race. More means that another process registers in a loop. */
const MAX_TRIES = 50;

/**
 * Registers a workflow under its name, as the newest version: one commit on `refs/workflows/<name>`, the version before
 * as its first parent.
 *
 * The same definition gives the same hash, whatever notation it is in; registering what is the newest version already
 * writes nothing. Two concurrent registrations are both kept, one after the other.
 * @param definition a definition, or the parsed content of a workflow file in any notation
 * @returns the hash of the definition's node
 * @throws {InvalidWorkflow} if it has mistakes; it carries all of them
 */
export async function registerWorkflow(repository: Repository, definition: unknown): Promise<NodeHash> {
  const checked = await validateWorkflow(definition);
  if (checked.definition === undefined) throw new InvalidWorkflow(nameOf(definition), checked.diagnostics);
  await prepareHashing();
  const valid = checked.definition;
  return againIfMoved(MAX_TRIES, () => addVersion(repository, valid));
}

async function addVersion(repository: Repository, definition: WorkflowDefinition): Promise<NodeHash> {
  const ref = workflowRef(definition.name);
  const tip = await repository.refs.read(ref);
  const batch = new ObjectBatch(repository.objects.format);
  const workflow = writeWorkflowTree(batch, definition);
  if (tip !== undefined && (await workflowTreeOf(repository, tip)) === workflow.tree) return workflow.hash;
  const types = encodeBuiltIns().map((node) => ({ path: typePath(node.hash), node }));
  const tree = writeNodeTree(batch, types, [{ path: 'workflow', mode: '040000', id: workflow.tree }]);
  const signature = { ...repository.committer, atMs: repository.now() };
  const commit = batch.addCommit({
    tree,
    parents: tip === undefined ? [] : [tip],
    author: signature,
    committer: signature,
    message: `${subject(definition)}\n\nUwf-Node: ${workflow.hash}\nUwf-Type: workflow\n`,
  });
  await publish(repository, batch, [{ name: ref, expected: tip ?? null, value: commit }]);
  return workflow.hash;
}

async function workflowTreeOf(repository: Repository, tip: ObjectId): Promise<ObjectId | undefined> {
  const { tree } = await readCommit(repository.objects, tip);
  return (await readTree(repository.objects, tree)).find(({ name }) => name === 'workflow')?.id;
}

/** One line of at most 100 characters without control characters, which git forbids or would show as another line. */
function subject({ name, description }: WorkflowDefinition): string {
  const line = description.replaceAll(/[\p{Cc}\s]+/gu, ' ').trim();
  const characters = [...(line === '' ? name : `${name}: ${line}`)];
  return characters.length <= 100 ? characters.join('') : `${characters.slice(0, 99).join('')}…`;
}

function nameOf(definition: unknown): string {
  const name =
    typeof definition === 'object' && definition !== null && 'name' in definition ? definition.name : undefined;
  return typeof name === 'string' ? name : '(without a name)';
}
