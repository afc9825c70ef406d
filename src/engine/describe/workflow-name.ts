import { readNodeAt } from '../../cas/commit-nodes.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import { readAnyTree } from '../../git/stores/read.ts';
import type { Repository } from '../../git/repository.ts';
import { payloadOf } from '../../schema/built-in.ts';
import { fileOf, type LightStart } from '../../thread/thread-chain.ts';
import type { CommitOf } from '../../thread/thread-state.ts';
import { findNodeAt } from '../../thread/thread-commit.ts';
import { CorruptThread } from '../../thread/thread-errors.ts';

/** Names by the trees of definitions: many threads of a list have the same one. */
const names = new WeakMap<Repository, Map<ObjectId, string>>();

/** The name of the workflow that a thread runs, by its start. The rest of the definition is not read. */
export async function workflowNameOf(repository: Repository, start: LightStart | CommitOf<'start'>): Promise<string> {
  const path = 'workflow/workflow.json';
  if ('index' in start) {
    const node = await findNodeAt(repository, start, path);
    if (node === undefined) throw new CorruptThread(start.id, `${path} is not there`);
    return payloadOf(node, 'workflow').name;
  }
  const folder = fileOf(start, 'workflow');
  const known = names.get(repository) ?? new Map<ObjectId, string>();
  names.set(repository, known);
  const name = folder && known.get(folder);
  if (name !== undefined) return name;
  const file = folder && (await readAnyTree(repository.objects, folder)).find((each) => each.name === 'workflow.json');
  if (folder === undefined || file === undefined) throw new CorruptThread(start.id, `${path} is not there`);
  const found = payloadOf(await readNodeAt(repository, { hash: start.node.workflow, oid: file.id }), 'workflow').name;
  known.set(folder, found);
  return found;
}
