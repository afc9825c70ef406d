import { rmSync } from 'node:fs';
import { isAbsolute, join, relative } from 'node:path';
import { removeTemporaryFiles, repack } from '../../git/maintenance/repack.ts';
import { reindex } from '../../cas/lookup.ts';
import { incomingFolder } from '../../git/transport/guest-folder.ts';
import { removeStaleQuarantines } from '../../git/stores/quarantine.ts';
import { mergesFolder } from '../../git/worktree/merge-folder.ts';
import { snapshotFolder } from '../../git/worktree/snapshot.ts';
import { type RefEdit, RefMoved, type Repository } from '../../git/repository.ts';
import { sizeOf } from '../../git/system/files.ts';
import { findKept } from '../../thread/find-kept.ts';
import { EVERYWHERE, findDamaged, listPointers } from '../../thread/find-thread.ts';
import { isThreadId, type ThreadId } from '../../thread/thread-id.ts';
import { LeaseDamaged } from '../engine-errors.ts';
import { collectWorkTrees } from '../isolation/work-trees.ts';
import type { WorkTreesContext } from '../isolation/work-place.ts';
import { clearLeftSteps } from '../turn/step-folder.ts';
import { removeRunTrees } from '../limits/enter-run-tree.ts';
import { leasePath, listLeases, mayBeAtWork } from '../leases/find-lease.ts';
import { journalPaths, listJournals } from '../journal/journal.ts';
import { LeaseHeld, takeLease } from '../leases/lease.ts';
import { listLocalTraces } from '../../thread/remove-thread.ts';
import { isAllStored, readJournal } from '../journal/read-journal.ts';
import { inPlaceOf } from '../../or-else.ts';
import { mapValues } from '../../json.ts';

/** What a step of the cleaning removed: an absolute path, or a ref. */
type Found = { path: string; bytes: number };

const SCRATCH_PREFIX = 'refs/uwf/scratch/';

export type RemovedItem = {
  /** The count in which it is: `journals`. */
  kind: string;
  /** A path from the git folder, or a ref. */
  name: string;
  /** How many bytes it took; what a ref led to stays until git collects it. */
  bytes: number;
};

/** What was cleaned up, in numbers and one by one. */
export type Collected = {
  /** Leases of processes that have ended, and what was counted below threads that these ran. */
  leases: number;
  /** Journals, facts and sessions of threads that are no more, and folders of steps whose process has ended. */
  files: number;
  /** Journals of threads that no process works on and whose last turn is stored with its trace. */
  journals: number;
  /** Put nodes of threads that are over or removed: no step will take them in. */
  scratch: number;
  /** Snapshots that were never finished. */
  snapshots: number;
  /** Fetches and pushes that were never finished, and what they had brought by then. */
  transfers: number;
  /** Work trees of threads that are over and have all their files, or whose making was interrupted. */
  workTrees: number;
  /** Packs and objects that a killed writer, of git's or uwf's, never finished, and merges that it was trying. */
  temporary: number;
  /** Commits and nodes that the lookup now covers. */
  lookup: { commits: number; nodes: number };
  /** Packs of the repository, before and after repacking. */
  packs: { before: number; after: number };
  /** All that was removed, but for packs that were repacked. */
  removed: RemovedItem[];
};

/**
 * Removes what uwf has no more use for and repacks small packs, while others go on working.
 *
 * Nothing that a thread is made of is touched, and threads that a process works on are left alone. Objects that nothing leads to
 * are git's to collect, in its own time.
 * @param onProgress told a line about work that can take minutes
 * @throws {GitFailed} {GitNotFound} if git cannot repack; all else is done then
 */
export async function collectGarbage(
  engine: WorkTreesContext,
  onProgress?: (line: string) => void,
): Promise<Collected> {
  const { repository, env } = engine;
  const { stateDir, location } = repository;
  const found = {
    leases:
      stateDir === undefined ? [] : [...(await removeStaleLeases(repository, stateDir)), ...removeRunTrees(stateDir)],
    files:
      stateDir === undefined
        ? []
        : [
            ...(await clearLeftSteps(repository, (name) => !isThreadId(name) || !mayBeAtWork(repository, name))),
            ...(await removeOrphanedFiles(repository, stateDir)),
          ],
    journals: stateDir === undefined ? [] : removeToldJournals(repository, stateDir),
    scratch: await removeOrphanedScratch(repository),
    snapshots: stateDir === undefined ? [] : removeStaleQuarantines(snapshotFolder(stateDir)),
    transfers: stateDir === undefined ? [] : removeStaleQuarantines(incomingFolder(stateDir)),
    workTrees:
      location === undefined || engine.workTrees === undefined ? [] : await collectWorkTrees(engine, onProgress),
    temporary: [
      ...(location === undefined ? [] : removeTemporaryFiles(join(location.commonDir, 'objects'))),
      ...(stateDir === undefined ? [] : removeStaleQuarantines(mergesFolder(stateDir))),
    ],
  };
  const lookup = await reindex(repository);
  const packs = location === undefined ? { before: 0, after: 0 } : await repack({ location, env });
  const named = (path: string): string => (isAbsolute(path) ? relative(location?.commonDir ?? '', path) : path);
  return {
    ...mapValues(found, (items) => items.length),
    lookup,
    packs,
    removed: Object.entries(found).flatMap(([kind, items]) =>
      items.map(({ path, bytes }) => ({ kind, name: named(path), bytes })),
    ),
  };
}

/** To take over the lease of an ended process ends what is left of its agent; to release it removes the file. */
async function removeStaleLeases(repository: Repository, stateDir: string): Promise<Found[]> {
  const removed: Found[] = [];
  for (const thread of listLeases(repository)) {
    if (mayBeAtWork(repository, thread)) continue;
    const path = leasePath(stateDir, thread);
    const bytes = sizeOf(path);
    try {
      (await takeLease(repository, thread)).release();
      removed.push({ path, bytes });
    } catch (error) {
      if (!(error instanceof LeaseHeld || error instanceof LeaseDamaged)) throw error;
    }
  }
  return removed;
}

async function listAll(repository: Repository): Promise<Set<ThreadId>> {
  const damaged = await findDamaged(repository);
  return new Set([...(await listPointers(repository, EVERYWHERE)).map(({ id }) => id), ...damaged.keys()]);
}

async function removeOrphanedFiles(repository: Repository, stateDir: string): Promise<Found[]> {
  // In this order: a thread that starts in between has files and is listed.
  const traces = listLocalTraces(stateDir);
  const known = await listAll(repository);
  const pointers = await listPointers(repository, EVERYWHERE);
  const removed: Found[] = [];
  for (const { thread, path } of traces) {
    if (known.has(thread) || mayBeAtWork(repository, thread)) continue;
    // A child that has ended is one of the threads that there are, as long as its caller is.
    if ((await findKept(repository, pointers, thread)).length > 0) continue;
    const bytes = sizeOf(path);
    rmSync(path, { recursive: true, force: true });
    removed.push({ path, bytes });
  }
  return removed;
}

function removeToldJournals(repository: Repository, stateDir: string): Found[] {
  const removed: Found[] = [];
  for (const thread of listJournals(stateDir)) {
    if (!isAllStored(readJournal(repository, thread))) continue;
    // Asked last: a process that begins to work on the thread while its journal is read goes on writing it.
    if (mayBeAtWork(repository, thread)) continue;
    const paths = journalPaths(stateDir, thread);
    const bytes = sizeOf(paths.current) + sizeOf(paths.older);
    for (const path of Object.values(paths)) rmSync(path, { force: true });
    removed.push({ path: paths.current, bytes });
  }
  return removed;
}

async function removeOrphanedScratch(repository: Repository): Promise<Found[]> {
  const scratch = await repository.refs.list(SCRATCH_PREFIX);
  const active = new Set((await listPointers(repository)).filter(({ isHistory }) => !isHistory).map(({ id }) => id));
  for (const id of (await findDamaged(repository)).keys()) active.add(id);
  const removed: Found[] = [];
  for (const { name, id: value } of scratch) {
    const thread = name.slice(SCRATCH_PREFIX.length);
    if (!isThreadId(thread) || active.has(thread)) continue;
    const edit: RefEdit = { name, expected: value, value: null };
    // The ref has moved where another process puts a node there at this moment.
    const isRemoved = await repository.refs.update([edit]).then(() => true, inPlaceOf(RefMoved, false));
    if (isRemoved) removed.push({ path: name, bytes: 0 });
  }
  return removed;
}
