import type { EncodedNode } from '../../src/cas/node.ts';
import { writeNodeTree } from '../../src/cas/node-tree.ts';
import type { Subtree, TreeFile } from '../../src/cas/node-tree.ts';
import { encodeNode } from '../../src/cas/node.ts';
import { CONTENT_TYPE } from '../../src/cas/node-hash.ts';
import { ObjectBatch, publish } from '../../src/git/stores/publish.ts';
import type { ObjectId } from '../../src/git/format/object-id.ts';
import { parseRefName } from '../../src/git/format/refs.ts';
import type { Repository } from '../../src/git/repository.ts';

/** What a commit of a test holds and stands on. */
export type CommitPlan = {
  files: readonly TreeFile[];
  subtrees?: (batch: ObjectBatch) => readonly Subtree[];
  parents?: readonly ObjectId[];
  /** Moves this ref to the commit, from wherever it is. */
  ref?: string;
  atMs?: number;
};

/** A content node of this text. */
export function textNode(text: string): EncodedNode {
  return encodeNode(CONTENT_TYPE, { text });
}

/** Writes a commit whose tree holds nodes. */
export async function commitNodes(repository: Repository, plan: CommitPlan): Promise<ObjectId> {
  return commitTree(repository, plan, (batch) => writeNodeTree(batch, plan.files, plan.subtrees?.(batch) ?? []));
}

/** Writes a commit of a user's own, with these files in its tree. */
export async function commitFiles(
  repository: Repository,
  files: Record<string, string>,
  plan: Omit<CommitPlan, 'files'> = {},
): Promise<ObjectId> {
  return commitTree(repository, plan, (batch) =>
    batch.addTree(Object.entries(files).map(([name, text]) => ({ mode: '100644', name, id: batch.addBlob(text) }))),
  );
}

async function commitTree(
  repository: Repository,
  plan: Omit<CommitPlan, 'files'>,
  write: (batch: ObjectBatch) => ObjectId,
): Promise<ObjectId> {
  const batch = new ObjectBatch();
  const who = { ...repository.committer, atMs: plan.atMs ?? 1_795_262_400_000 };
  const tree = write(batch);
  const id = batch.addCommit({ tree, parents: [...(plan.parents ?? [])], author: who, committer: who, message: 'x\n' });
  const name = parseRefName(plan.ref ?? `refs/heads/kept-${id}`);
  await publish(repository, batch, [{ name, expected: (await repository.refs.read(name)) ?? null, value: id }]);
  return id;
}
