import { UwfError } from '../../src/errors.ts';
import { encodeCommit, encodeTree } from '../../src/git/format/objects.ts';
import { openDiskStores } from '../../src/git/stores/disk/open-disk-stores.ts';
import { hashObject, parseObjectId } from '../../src/git/format/object-id.ts';
import type { GitObject } from '../../src/git/format/object-id.ts';
import { parseRefName } from '../../src/git/format/refs.ts';

/**
 * Does in one go all that uwf ever does to a repository: writes a step, creates, moves and deletes refs.
 *
 * Arguments: the `.git` folder, the head of `refs/threads/moved` and of `refs/threads/ended`. Prints what it has
 * acknowledged, or the name of the error that stopped it.
 */
const [gitDir = '', movedHead = '', endedHead = ''] = process.argv.slice(2);
const stores = openDiskStores({ gitDir, commonDir: gitDir, workTree: undefined });
const who = { name: 'A U Thor', email: 'author@example.com', atMs: 1_795_262_400_000 };

const reply: GitObject = { type: 'blob', data: Buffer.from('what the agent said\n') };
const tree: GitObject = {
  type: 'tree',
  data: encodeTree([{ mode: '100644', name: 'output.md', id: hashObject(reply) }]),
};
const step: GitObject = {
  type: 'commit',
  data: encodeCommit({
    tree: hashObject(tree),
    parents: [parseObjectId(movedHead)],
    author: who,
    committer: who,
    message: 'coder: what the agent said',
  }),
};

try {
  const written = await stores.objects.write([reply, tree, step]);
  try {
    await stores.refs.update([
      { name: parseRefName('refs/threads/moved'), expected: parseObjectId(movedHead), value: hashObject(step) },
      { name: parseRefName('refs/threads/ended'), expected: parseObjectId(endedHead), value: null },
      { name: parseRefName('refs/history/2026-11-21/ended'), expected: null, value: parseObjectId(endedHead) },
    ]);
    process.stdout.write(`acknowledged ${hashObject(step)}\n`);
  } finally {
    await written.release();
  }
  process.stdout.write('finished\n');
} catch (error) {
  process.stdout.write(`failed ${error instanceof UwfError ? error.name : String(error)}\n`);
}
await stores.close();
