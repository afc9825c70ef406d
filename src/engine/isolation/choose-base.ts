import { UwfError } from '../../errors.ts';
import { isObjectId, type ObjectId } from '../../git/format/object-id.ts';
import type { ObjectBatch } from '../../git/stores/publish.ts';
import { readCommit } from '../../git/stores/read.ts';
import { readHead, takeSnapshot } from '../../git/worktree/snapshot.ts';
import { isThreadCommit } from '../../verify/find-chain.ts';
import type { Machine } from '../engine-context.ts';
import type { WantedBase } from './working-top.ts';
import { snapshotLimits } from '../workspace/record-workspace.ts';
import { gitPlace, workTreesFolder } from './work-tree-folder.ts';

/** The base of a thread. `release` is called when the start is stored: the objects are protected until then. */
type ChosenBase = { id: ObjectId; release: () => void };

const release = (): void => {};

/**
 * Chooses the commit that the work tree of a new thread is made from: by default the one that is checked out.
 *
 * With `changes`, a commit of what is not committed is added to the batch.
 * @throws {UwfError} `nothing-to-isolate` if nothing is checked out; `no-place-for-work-trees`
 */
export async function chooseBase(
  engine: Machine,
  batch: ObjectBatch,
  wanted: WantedBase | undefined,
): Promise<ChosenBase> {
  // Now, not in the middle of a run.
  workTreesFolder(engine);
  if (wanted !== undefined && isObjectId(wanted) && (await isThreadCommit(engine.repository, wanted))) {
    const hint = 'name a commit of your code; a thread goes on as a fork of it';
    throw new UwfError(`${wanted} is a commit of a thread`, { code: 'base-is-thread', kind: 'usage', hint });
  }
  if (wanted !== undefined && wanted !== 'head' && wanted !== 'changes') return { id: wanted, release };
  const head = await readCheckedOut(engine);
  return wanted === 'changes' ? commitChanges(engine, batch, head) : { id: head, release };
}

/**
 * Reads the commit that is checked out, or of a bare repository the one that its HEAD leads to.
 * @throws {UwfError} `nothing-to-isolate` if there is none
 */
export async function readCheckedOut(engine: Machine): Promise<ObjectId> {
  const head = await readHead(engine.repository, gitPlace(engine).location);
  if (head !== undefined) return head;
  throw new UwfError('a work tree of its own needs a commit, and nothing is committed here', {
    code: 'nothing-to-isolate',
    kind: 'data',
    hint: 'commit first, or name a revision with --from',
  });
}

async function commitChanges(engine: Machine, batch: ObjectBatch, head: ObjectId): Promise<ChosenBase> {
  const { repository, signal } = engine;
  const snapshot = await takeSnapshot(repository, { ...gitPlace(engine), limits: snapshotLimits(engine), signal });
  const { tree, shortfall, missing } = snapshot;
  if (shortfall !== undefined || missing !== undefined) {
    snapshot.release();
    const what = shortfall ?? `${missing?.files[0]?.path}: ${missing?.files[0]?.reason}`;
    throw new UwfError(`what is not committed cannot be recorded: ${what}`, {
      code: 'changes-not-recorded',
      kind: 'data',
    });
  }
  if (tree === (await readCommit(repository.objects, head)).tree) return { id: head, release: snapshot.release };
  for (const object of snapshot.objects) batch.add(object);
  const who = { ...repository.committer, atMs: repository.now() };
  const message = 'changes that were not committed\n';
  const id = batch.addCommit({ tree, parents: [head], author: who, committer: who, message });
  return { id, release: snapshot.release };
}
