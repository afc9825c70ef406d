import { readCommitIndex, readNodeAt } from '../../cas/commit-nodes.ts';
import { nodesBehind } from '../../cas/history-nodes.ts';
import { encodeNode } from '../../cas/node.ts';
import type { NodeFile } from '../../cas/node-tree.ts';
import type { NodeSource } from '../../cas/node-source.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import type { ThreadId } from '../thread-id.ts';
import { scratchRef } from '../thread-refs.ts';

/** The nodes that were put under a thread and that no step has taken in yet, as files of a step's tree. */
export type Scratch = {
  /** The commit that the scratch ref points at; `undefined` if there is none. */
  commit: ObjectId | undefined;
  files: readonly NodeFile[];
};

/**
 * Reads the nodes at a thread's scratch ref.
 *
 * They are returned encoded, because the step writes them again: the scratch commit is no parent of the step's commit, so a
 * garbage collection during the change of the refs could delete the old blobs.
 */
export async function readScratch(repository: Repository, id: ThreadId): Promise<Scratch> {
  const commit = await repository.refs.read(scratchRef(id));
  if (commit === undefined) return { commit, files: [] };
  const files: NodeFile[] = [];
  for (const entry of await readCommitIndex(repository, commit)) {
    const { type, payload } = await readNodeAt(repository, entry);
    files.push({ path: entry.path, node: encodeNode(type, payload) });
  }
  return { commit, files };
}

/** The nodes at a thread's scratch ref as a source. */
export async function scratchNodes(repository: Repository, id: ThreadId): Promise<NodeSource> {
  const commit = await repository.refs.read(scratchRef(id));
  return nodesBehind(repository, commit === undefined ? [] : [commit]);
}
