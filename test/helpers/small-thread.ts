import { ObjectBatch, publish } from '../../src/git/stores/publish.ts';
import type { ObjectId } from '../../src/git/format/object-id.ts';
import type { RefName, Repository } from '../../src/git/repository.ts';

const who = { name: 'A U Thor', email: 'author@example.com', atMs: 1_795_262_400_000 };

/** Appends one commit with one file to a ref; returns the commit's id. */
export async function appendCommit(repository: Repository, name: RefName, text: string): Promise<ObjectId> {
  const head = await repository.refs.read(name);
  const batch = new ObjectBatch();
  const tree = batch.addTree([{ mode: '100644', name: 'output.md', id: batch.addBlob(text) }]);
  const parents = head === undefined ? [] : [head];
  const commit = batch.addCommit({ tree, parents, author: who, committer: who, message: text });
  await publish(repository, batch, [{ name, expected: head ?? null, value: commit }]);
  return commit;
}
