import { prepareHashing, type NodeHash } from '../../cas/hash.ts';
import { writeNodeTree } from '../../cas/node-tree.ts';
import { typePath } from '../../cas/scratch.ts';
import { againIfMoved, ObjectBatch, publish } from '../../git/stores/publish.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import { readCommit, readTree } from '../../git/stores/read.ts';
import type { Repository } from '../../git/repository.ts';
import { encodeBuiltIns } from '../../schema/built-in.ts';
import type { WorkflowDefinition } from '../definition.ts';
import { InvalidWorkflow } from '../diagnostics/diagnostic.ts';
import { validateWorkflow } from '../check/validate-workflow.ts';
import { writeWorkflowTree } from '../nodes/encode-workflow.ts';
import { workflowRef } from './workflow-refs.ts';

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
