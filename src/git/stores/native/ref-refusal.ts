import { FULL_DISK, StorageFull, StorageReadOnly } from '../../format/object-errors.ts';
import { BrokenPackedRefs, RefLocked, RefNameConflict } from '../../format/ref-errors.ts';
import { isRefName } from '../../format/ref-name.ts';
import { RefMoved } from '../../ref-store.ts';
import type { RefEdit } from '../../ref-store.ts';
import { isObjectId } from '../../format/object-id.ts';

/** What git says when it refuses a transaction. Source: git's refs.c and refs/files-backend.c. */
const sayings = {
  moved: /cannot lock ref '(.+)': is at ([0-9a-f]+) but expected/,
  conflict: /cannot lock ref '(.+?)': '(.+?)' exists; cannot create/,
  together: /cannot process '(.+?)' and '(.+?)' at the same time/,
  packedBroken: /(unterminated|unexpected) line in (.*packed-refs): /,
  locked: /cannot lock ref '(.+?)': Unable to create '(.+?\.lock)': File exists/,
  packedLocked: /Unable to create '(.+?packed-refs\.lock|.+?tables\.list\.lock)': File exists/,
  readOnly: /(?:Permission denied|Read-only file system)/,
};

/** Converts a refusal of git into an error; `undefined` if the refs have to be read to tell. */
export function errorOfRefusal(
  said: string,
  edits: readonly RefEdit[],
  facts: { path: string; waitedMs: number },
): Error | undefined {
  const [, name = '', actual = ''] = sayings.moved.exec(said) ?? [];
  const edit = edits.find((one) => one.name === name);
  if (edit !== undefined && isObjectId(actual)) return new RefMoved(edit.name, edit.expected, actual);
  const [, wanted = '', existing = ''] = sayings.conflict.exec(said) ?? sayings.together.exec(said) ?? [];
  if (isRefName(wanted)) return new RefNameConflict(wanted, existing);
  const packed = brokenPackedRefs(said);
  if (packed !== undefined) return packed;
  const [, locked = '', lockPath = ''] = sayings.locked.exec(said) ?? [];
  if (lockPath !== '') return new RefLocked(locked, { lockPath, waitedMs: facts.waitedMs });
  const [, packedLock = ''] = sayings.packedLocked.exec(said) ?? [];
  if (packedLock !== '') return new RefLocked('packed-refs', { lockPath: packedLock, waitedMs: facts.waitedMs });
  if (FULL_DISK.test(said)) return new StorageFull(facts.path);
  if (sayings.readOnly.test(said)) return new StorageReadOnly(facts.path);
  return undefined;
}

/** The error about a broken file of packed refs; `undefined` if git says nothing about it. */
export function brokenPackedRefs(said: string): BrokenPackedRefs | undefined {
  const [, what, path] = sayings.packedBroken.exec(said) ?? [];
  return what === undefined || path === undefined ? undefined : new BrokenPackedRefs(path, `it has an ${what} line`);
}
