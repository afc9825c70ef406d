import { encodeNode, type EncodedNode } from '../../../src/cas/node.ts';
import { writeNodeTree, type NodeFile } from '../../../src/cas/node-tree.ts';
import { ObjectBatch } from '../../../src/git/object-batch.ts';
import type { ObjectId } from '../../../src/git/object-id.ts';
import type { Repository } from '../../../src/git/repository.ts';
import { exportThread, type CommitLine, type NodeLine } from '../../../src/thread/export/export-thread.ts';
import type { ThreadId } from '../../../src/thread/thread-id.ts';
import { indexedFolder } from '../../../src/thread/verify/read-files.ts';
import { createMapRepository, type MapRepository } from '../../helpers/map-repository.ts';

/** A thread as lines that can be changed, and made into objects again. */
export type ForgedLine = NodeLine | CommitLine;

export async function takeApart(repository: Repository, id: ThreadId, head: ObjectId): Promise<ForgedLine[]> {
  const lines: ForgedLine[] = [];
  for await (const line of exportThread(repository, { id, head }, { withNodes: true })) {
    const value = JSON.parse(line);
    if (!('role' in value)) lines.push(value);
  }
  return lines;
}

/**
 * Puts a thread together as a forger would: every hash and id that follows from a change is worked out anew, in nodes,
 * indexes, parents and messages, so that each object is sound in itself and names the others rightly.
 */
export async function putTogether(
  lines: readonly ForgedLine[],
): Promise<{ repository: MapRepository; head: ObjectId }> {
  const renamed = new Map<string, string>();
  const nodes = new Map<string, EncodedNode>();
  const batch = new ObjectBatch();
  let head: ObjectId | undefined;
  for (const given of lines) {
    let text = JSON.stringify(given);
    for (const [from, to] of renamed) text = text.replaceAll(from, to);
    const line = JSON.parse(text) as ForgedLine;
    if ('node' in line) {
      const node = encodeNode(line.type, line.payload);
      nodes.set(node.hash, node);
      if (node.hash !== given[`node` as keyof ForgedLine]) renamed.set(String((given as NodeLine).node), node.hash);
    } else {
      head = batch.addCommit({ ...line, tree: addTree(batch, line, nodes) });
      if (head !== line.commit) renamed.set((given as CommitLine).commit, head);
    }
  }
  if (head === undefined) throw new Error('there is no commit');
  const repository = createMapRepository();
  await repository.objects.write(batch.objects);
  return { repository, head };
}

function addTree(batch: ObjectBatch, { files }: CommitLine, nodes: ReadonlyMap<string, EncodedNode>): ObjectId {
  const parts = new Map<string, NodeFile[]>();
  for (const [path, hash] of Object.entries(files)) {
    const folder = indexedFolder(path);
    const node = nodes.get(hash);
    if (!node) throw new Error(`there is no node ${hash} for ${path}`);
    parts.set(folder, [...(parts.get(folder) ?? []), { path: path.slice(folder.length), node }]);
  }
  const subtrees = [...parts]
    .filter(([folder]) => folder !== '')
    .map(([folder, part]) => ({ path: folder.slice(0, -1), mode: '040000' as const, id: writeNodeTree(batch, part) }));
  return writeNodeTree(batch, parts.get('') ?? [], subtrees);
}
