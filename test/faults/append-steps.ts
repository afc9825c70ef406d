import { encodeCommit, encodeTree } from '../../src/git/format/objects.ts';
import { openDiskStores } from '../../src/git/stores/disk/open-disk-stores.ts';
import { hashObject } from '../../src/git/format/object-id.ts';
import type { GitObject } from '../../src/git/format/object-id.ts';
import { parseRefName } from '../../src/git/format/refs.ts';
import { RefMoved } from '../../src/git/repository.ts';

/**
 * Appends commits to refs that others append to as well, and asks again whenever somebody was faster.
 *
 * Arguments: the `.git` folder, a name that tells the commits of this process apart, how many, the refs.
 */
const [gitDir = '', writer = '', count = '0', ...refs] = process.argv.slice(2);
const stores = openDiskStores({ gitDir, commonDir: gitDir, workTree: undefined });
const who = { name: writer, email: 'writer@example.com', atMs: 1_795_262_400_000 };

for (let number = 0; number < Number(count); number++) {
  const ref = parseRefName(refs[number % refs.length] ?? '');
  const reply: GitObject = { type: 'blob', data: Buffer.from(`${writer} ${number}\n`) };
  const tree: GitObject = {
    type: 'tree',
    data: encodeTree([{ mode: '100644', name: 'output.md', id: hashObject(reply) }]),
  };
  while (!(await append(ref, reply, tree, `${writer} ${number}`)));
}
await stores.close();

async function append(
  ref: ReturnType<typeof parseRefName>,
  reply: GitObject,
  tree: GitObject,
  message: string,
): Promise<boolean> {
  const head = await stores.refs.read(ref);
  if (head === undefined || (await stores.objects.read(head)) === undefined) {
    throw new Error(`${ref} has no head that can be read`);
  }
  const data = encodeCommit({ tree: hashObject(tree), parents: [head], author: who, committer: who, message });
  const step: GitObject = { type: 'commit', data };
  const written = await stores.objects.write([reply, tree, step]);
  try {
    await stores.refs.update([{ name: ref, expected: head, value: hashObject(step) }]);
    return true;
  } catch (error) {
    if (error instanceof RefMoved) return false;
    throw error;
  } finally {
    await written.release();
  }
}
