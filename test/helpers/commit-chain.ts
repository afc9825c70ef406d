import { encodeCommit, encodeTree } from '../../src/git/format/objects.ts';
import { hashObject } from '../../src/git/format/object-id.ts';
import type { GitObject, ObjectId } from '../../src/git/format/object-id.ts';
import type { Repository } from '../../src/git/repository.ts';

const who = { name: 'A U Thor', email: 'author@example.com', atMs: 1_795_262_400_000 };

/**
 * Writes a chain of commits, each with a file of its own content, and returns their ids.
 *
 * @param parent the parent of the first one, or `undefined`
 */
export async function writeChain(
  { objects }: Pick<Repository, 'objects'>,
  parent: ObjectId | undefined,
  ...messages: string[]
): Promise<ObjectId[]> {
  const written: GitObject[] = [];
  const commits: ObjectId[] = [];
  for (const message of messages) {
    const blob: GitObject = { type: 'blob', data: Buffer.from(`what ${message} says\n`) };
    const tree: GitObject = {
      type: 'tree',
      data: encodeTree([{ mode: '100644', name: 'output.md', id: hashObject(blob) }]),
    };
    const before = commits.at(-1) ?? parent;
    const parents = before === undefined ? [] : [before];
    const commit: GitObject = {
      type: 'commit',
      data: encodeCommit({ tree: hashObject(tree), parents, author: who, committer: who, message }),
    };
    written.push(blob, tree, commit);
    commits.push(hashObject(commit));
  }
  const guard = await objects.write(written);
  await guard.release();
  return commits;
}
