import { copyFileSync, existsSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { syncFolder } from '../system/write-files.ts';
import { asStorageError, errnoOf } from '../format/object-errors.ts';
import type { ObjectId } from '../format/object-id.ts';
import type { PushEdit, PushRequest, PushResult } from './remote.ts';
import { fetchRefs } from './fetch-refs.ts';
import { asFullDisk } from './git-output.ts';
import { formatPackedRefs, type GuestFolder } from './guest-folder.ts';
import { GitFailed, runGit } from '../process/run-git.ts';
import { inPlaceOf } from '../../or-else.ts';
import { whileOpen } from '../system/files.ts';

/**
 * Applies edits to the refs of a bundle and writes it again: all edits or none.
 *
 * A bundle has the full history of its refs, so that an empty repository can fetch from it. The new file is complete and
 * durable before it replaces the old one.
 * @param folder a guest folder without refs
 * @param path absolute; the file need not exist
 * @throws {GitFailed} if the file is no bundle, or needs commits that are not here
 * @throws {StorageFull} / {StorageReadOnly}
 * Source: git-bundle(1).
 */
export async function pushBundle(folder: GuestFolder, path: string, request: PushRequest): Promise<PushResult[]> {
  const { edits, isForward = false, signal } = request;
  const had = existsSync(path)
    ? await fetchRefs(folder, path, { refs: ['refs/*'], signal }, { mayAsk: false, isLocal: false })
    : [];
  const refs = new Map<string, ObjectId>(had.map(({ name, id }) => [name, id]));
  const results: PushResult[] = [];
  for (const edit of edits) results.push(await resultOf(folder, edit, refs.get(edit.name), isForward));
  if (results.some(({ outcome }) => outcome === 'moved')) return results.map(undoneUnlessMoved);
  for (const { name, value } of edits) {
    if (value === null) refs.delete(name);
    else refs.set(name, value);
  }
  if (results.some(({ outcome }) => outcome === 'done')) await writeBundle(folder, path, refs, signal);
  return results;
}

async function resultOf(
  folder: GuestFolder,
  { name, value, expected }: PushEdit,
  current: ObjectId | undefined,
  isForward: boolean,
): Promise<PushResult> {
  if (value !== null && value === current) return { name, outcome: 'unchanged' };
  if (expected !== undefined && expected !== (current ?? null)) {
    return { name, outcome: 'moved', reason: `it is at ${current ?? 'nothing'}` };
  }
  // A redacted thread is no descendant of the old one. The caller has checked that it may replace it.
  const isChecked = isForward && expected !== undefined;
  if (value === null || current === undefined || isChecked || (await isBehind(folder, current, value)))
    return { name, outcome: 'done' };
  return { name, outcome: 'moved', reason: `${value} does not follow ${current}` };
}

async function isBehind(folder: GuestFolder, older: ObjectId, newer: ObjectId): Promise<boolean> {
  const run = folder.run(['merge-base', '--is-ancestor', older, newer]);
  return runGit(run).then(() => true, inPlaceOf(GitFailed, false));
}

function undoneUnlessMoved(result: PushResult): PushResult {
  if (result.outcome !== 'done') return result;
  return { name: result.name, outcome: 'undone', reason: 'another edit could not be made' };
}

async function writeBundle(
  folder: GuestFolder,
  path: string,
  refs: ReadonlyMap<string, ObjectId>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const made = join(folder.path, 'made.bundle');
  try {
    if (refs.size === 0) {
      // A bundle cannot be empty.
      rmSync(path, { force: true });
      return;
    }
    writeFileSync(join(folder.path, 'packed-refs'), formatPackedRefs([...refs].map(([name, id]) => ({ name, id }))));
    const input = [...refs.keys()].map((name) => `${name}\n`).join('');
    const args = ['bundle', 'create', '--quiet', made, '--stdin'];
    await runGit({ ...folder.run(args), input, signal });
    sync(made);
    putInPlace(made, path);
    syncFolder(dirname(path));
  } catch (error) {
    throw asFullDisk(asStorageError(error, path), folder.path);
  }
}

/** Renames the file, or, on another file system, copies it beside its place and renames the copy. */
function putInPlace(made: string, path: string): void {
  try {
    renameSync(made, path);
  } catch (error) {
    if (errnoOf(error) !== 'EXDEV') throw error;
    const beside = `${path}.new`;
    try {
      copyFileSync(made, beside);
      sync(beside);
      renameSync(beside, path);
    } catch (failed) {
      // It takes the space that was short.
      rmSync(beside, { force: true });
      throw failed;
    }
  }
}

function sync(path: string): void {
  whileOpen(openSync(path, 'r+'), fsyncSync);
}
