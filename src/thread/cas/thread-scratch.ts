import { readCommitIndex, readNodeAt } from '../../cas/commit-nodes.ts';
import { nodesBehind } from '../../cas/history-nodes.ts';
import { encodeNode } from '../../cas/node.ts';
import type { NodeFile } from '../../cas/node-tree.ts';
import type { NodeSource } from '../../cas/node-source.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import type { ThreadId } from '../thread-id.ts';
import { scratchRef } from '../thread-refs.ts';

/** What was put under a thread and no step has taken in yet, as files of the tree that will. */
export type Scratch = {
  /** What the scratch ref points at; `undefined` if nothing was put. */
  commit: ObjectId | undefined;
  files: readonly NodeFile[];
};

/**
 * Reads all that was put under a thread.
 *
 * Its nodes come encoded, to be written again: the scratch commit is no parent of the step's, so nothing else would
 * keep them from a collection that looks at the refs while they change.
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

/** The same as a source to find nodes in. */
export async function scratchNodes(repository: Repository, id: ThreadId): Promise<NodeSource> {
  const commit = await repository.refs.read(scratchRef(id));
  return nodesBehind(repository, commit === undefined ? [] : [commit]);
}
