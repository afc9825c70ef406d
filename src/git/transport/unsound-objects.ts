import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { UwfError } from '../../errors.ts';
import { storing } from '../format/object-errors.ts';
import { isObjectId, type ObjectId } from '../format/object-id.ts';
import { printable } from '../format/paths.ts';
import type { ObjectStore } from '../object-store.ts';
import { runGit } from '../process/run-git.ts';
import type { GuestFolder } from './guest-folder.ts';
import { littleMemory, towardsRemote } from './towards-remote.ts';

// git checks what it fetches (`fetch.fsckObjects`), but refuses everything at the first object that it would not take, and does
// not check a bundle or a server of plain files. `git fsck` afterwards names every such object in one go.

const settings = [
  ...littleMemory,
  // Only a warning by default, because of commits of long ago. Those that are here already are not checked.
  'fsck.badFilemode=error',
  // A file that is here already is not among what came.
  'fsck.gitmodulesMissing=ignore',
  'fsck.gitattributesMissing=ignore',
];
const { maxDataBytes, maxOutputBytes } = towardsRemote(false);
const limits = { maxDataBytes, maxOutputBytes };
const args = ['fsck', '--strict', '--no-dangling', '--no-progress'];

/** Words about an object can quote it. */
const MAX_WORDS = 200;

/** All results of `git fsck` but that it could not work. Source: builtin/fsck.c. */
const codes = Array.from({ length: 64 }, (_, code) => code);

/**
 * Finds the objects in a guest folder that git would not take, by `git fsck --strict`: a folder `.git` in a tree, a commit
 * without a date, a `.gitmodules` that starts a program.
 *
 * @returns what git says about each
 * @throws {StorageFull} / {StorageReadOnly}
 * @throws {GitFailed} {GitNotFound} as `runGit`, also if there is more to check than fits into the memory that git may take
 */
export async function findUnsound(folder: GuestFolder): Promise<ReadonlyMap<ObjectId, string>> {
  const objects = join(folder.path, 'objects');
  // Without the folder `info`, whose alternates would let git check all of the repository.
  const parts = readdirSync(objects).filter((name) => name !== 'info');
  const unsound = new Map<ObjectId, string>();
  if (parts.length === 1 && readdirSync(join(objects, 'pack')).length === 0) return unsound;
  const gitDir = join(folder.path, 'checked');
  storing(gitDir, () => {
    for (const name of ['refs', 'objects']) mkdirSync(join(gitDir, name), { recursive: true });
    for (const name of parts) symlinkSync(join(objects, name), join(gitDir, 'objects', name));
    writeFileSync(join(gitDir, 'HEAD'), 'ref: refs/heads/none\n');
    symlinkSync(join(folder.path, 'config'), join(gitDir, 'config'));
  });
  const location = { gitDir, commonDir: gitDir, workTree: undefined };
  const onProgress = (line: string): void => {
    const [, id = '', words = ''] = /^error in \w+ ([0-9a-f]+): (.*)$/.exec(line) ?? [];
    if (isObjectId(id) && !unsound.has(id)) unsound.set(id, printable(words.slice(0, MAX_WORDS)));
  };
  await runGit({ location, env: folder.env, args, settings, codes, onProgress, ...limits });
  return unsound;
}

/** The words of git come first: what quotes them is cut. */
function unsoundObject(id: ObjectId, words: string): UwfError {
  const message = `git would not take it: ${words} (object ${id})`;
  return new UwfError(message, { code: 'corrupt-object', kind: 'data', facts: { id, reason: words } });
}

/** Refuses to read objects that git would not take. What the repository has already is history, and is read. */
export function withoutUnsound<Reader extends Pick<ObjectStore, 'read'>>(
  reader: Reader,
  unsound: ReadonlyMap<ObjectId, string>,
  here: Pick<ObjectStore, 'has'>,
): Reader {
  if (unsound.size === 0) return reader;
  return {
    ...reader,
    async read(id, options) {
      const words = unsound.get(id);
      if (words !== undefined && !(await here.has(id))) throw unsoundObject(id, words);
      return reader.read(id, options);
    },
  };
}
