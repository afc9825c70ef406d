import { changedPaths, plainIndex, type ChangedFile, type IndexRun, type Unrecordable } from './find-changes.ts';
import { GitFailed, runGit } from './run-git.ts';

/** To add more files than that takes longer than to compare them first. */
const MANY_FILES = 1000;

/**
 * Chooses the files that have room in a snapshot, the smallest first.
 *
 * Where not all of them have, or there are many, git is asked which only look changed (after a copy of the repository all do);
 * it reads none for that which is larger than the limit by itself. To compare 60,000 files takes a fifth of adding them.
 * @throws {GitFailed} {GitNotFound} as `runGit`
 */
export async function chooseFitting(
  run: IndexRun,
  files: readonly ChangedFile[],
  maxBytes: number,
): Promise<{ fitting: ChangedFile[]; beyond: Unrecordable[] }> {
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0);
  if (total <= maxBytes && files.length <= MANY_FILES) return { fitting: [...files], beyond: [] };
  const changed = await refresh(run, files, maxBytes);
  const fitting: ChangedFile[] = [];
  const beyond: Unrecordable[] = [];
  let room = maxBytes;
  for (const file of files.toSorted((a, b) => a.bytes - b.bytes)) {
    const { path, bytes, isTracked } = file;
    if (isTracked && bytes <= maxBytes && !changed.has(path)) continue;
    if (bytes <= room) {
      fitting.push(file);
      room -= bytes;
    } else {
      const reason = `has ${bytes} bytes, and what is new more than ${maxBytes} bytes; raise snapshot.maxBytes, or ignore it`;
      beyond.push({ path, reason });
    }
  }
  return { fitting, beyond };
}

/** Compares what is tracked and fits by itself with the index. @returns what differs */
async function refresh(run: IndexRun, files: readonly ChangedFile[], maxBytes: number): Promise<Set<string>> {
  const tooLarge = files.filter(({ isTracked, bytes }) => isTracked && bytes > maxBytes);
  const input = Buffer.from(tooLarge.map(({ path }) => `${path}\0`).join(''), 'latin1');
  const update = [...plainIndex, 'update-index', '-z', '--assume-unchanged', '--stdin'];
  await runGit({ ...run, args: update, input });
  try {
    await runGit({ ...run, args: [...plainIndex, '-c', 'core.safecrlf=false', 'update-index', '-q', '--refresh'] });
  } catch (error) {
    // It says so where a file differs, or cannot be compared.
    if (!(error instanceof GitFailed)) throw error;
  }
  return changedPaths(run);
}
