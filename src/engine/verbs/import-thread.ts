import { createHash } from 'node:crypto';
import { UwfError } from '../../errors.ts';
import { prepareHashing } from '../../cas/hash.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import { publish, repositoryWith } from '../../git/stores/publish.ts';
import type { Repository } from '../../git/repository.ts';
import { exportThread, readLines, Rebuild, RefusedImport } from '../../thread/export-thread.ts';
import { listPointers } from '../../thread/find-thread.ts';
import { readThreadCommit } from '../../thread/thread-commit.ts';
import { activeRef, historyRef, type ThreadId } from '../../thread/thread-id.ts';
import { faultOf } from '../../thread/thread-errors.ts';
import { Verification } from '../../verify/verification.ts';

/** A thread that was imported, or that was there already, the same. */
export type Imported = { thread: ThreadId; head: ObjectId; isNew: boolean };

/**
 * Stores a thread that was exported with its nodes: the same nodes, the same commits, under the same id.
 *
 * The file is refused whole unless the thread that it makes passes every check of `uwf thread verify` and exports to the
 * very same bytes. Until then nothing is written, and then all at once.
 * @param chunks the file; it is held in memory as the objects that it makes
 * @throws {RefusedImport} if it is anything else
 * @throws {UwfError} `thread-moved` if the repository has a thread of this id that stands elsewhere
 */
export async function importThread(
  repository: Repository,
  chunks: AsyncIterable<Uint8Array | string>,
): Promise<Imported> {
  await prepareHashing();
  const rebuild = new Rebuild(repository.objects);
  const given = createHash('sha256');
  for await (const line of readLines(chunks)) {
    await rebuild.add(line);
    given.update(`${line}\n`);
  }
  const { thread, head, batch } = rebuild;
  if (thread === undefined) throw new RefusedImport(undefined, 'it has no __start__ row');
  if (head === undefined) throw new RefusedImport(undefined, 'it has rows only, and the nodes are needed');
  const imagined = repositoryWith(repository, batch);
  await assertSound(imagined, head);
  if ((await digestOfExport(imagined, thread, head)) !== given.digest('hex')) {
    throw new RefusedImport(undefined, 'it is not what the thread that it makes is exported as');
  }
  const known = (await listPointers(repository)).find(({ id }) => id === thread);
  if (known?.head === head) return { thread, head, isNew: false };
  if (known) throw isHereElsewhere(thread, known.head);
  const tip = await readThreadCommit(imagined, head);
  const name = tip.kind === 'end' ? historyRef(thread, tip.node.completedAtMs) : activeRef(thread);
  await publish(repository, batch, [{ name, expected: null, value: head }]);
  return { thread, head, isNew: true };
}

function isHereElsewhere(thread: ThreadId, head: ObjectId): UwfError {
  return new UwfError(`thread ${thread} is here already, with other steps than the file; nothing was stored`, {
    code: 'thread-moved',
    kind: 'conflict',
    hint: `import it into another repository, and 'uwf fetch <its folder> ${thread}' takes its steps in from there`,
    facts: { thread, head },
  });
}

async function assertSound(repository: Repository, head: ObjectId): Promise<void> {
  const { findings } = await new Verification(repository).verify(head);
  const [first] = findings;
  if (first === undefined) return;
  const place = first.path === null ? '' : `, ${first.path}`;
  throw new RefusedImport(undefined, `its commit ${first.commit}${place}: ${first.what}`);
}

async function digestOfExport(repository: Repository, id: ThreadId, head: ObjectId): Promise<string> {
  const digest = createHash('sha256');
  try {
    for await (const line of exportThread(repository, { id, head }, { withNodes: true })) digest.update(`${line}\n`);
  } catch (error) {
    const fault = faultOf(error);
    throw fault === undefined ? error : new RefusedImport(undefined, fault, error);
  }
  return digest.digest('hex');
}
