import { basename, join } from 'node:path';
import { removeFile } from '../system/durable-file.ts';
import type { PackKeep } from '../stores/disk/pack-keep.ts';
import { durablePacks } from '../process/spawn-git.ts';
import { listSmallPacks, packFolderOf, readSmallPacks, type FoldablePack } from './foldable-packs.ts';
import { orderObjects } from './order-objects.ts';
import { Quarantine, removeKeeps } from '../stores/quarantine.ts';
import { runGit } from '../process/run-git.ts';
import type { GitStart } from '../process/spawn-git.ts';

/**
 * The limit of delta chains. The newest object of a path is whole, so that the newest steps are fast to read; the oldest are
 * behind this many deltas.
 */
const MAX_CHAIN = 250;

/** The delta window. Objects are ordered, so the next one is nearly always the best base. */
const neighbours = 3;

const endings = ['idx', 'rev', 'bitmap', 'pack'] as const;

/**
 * Makes one pack of several with `git pack-objects`, and removes the old ones.
 *
 * Readers and writers continue meanwhile, and git's own `repack` and `gc` too. Prunes nothing: the new pack has all objects
 * of the others, is durable before the first of them is removed, and has a keep until the last is removed. If it is ended at
 * any moment, it leaves a superfluous pack, or one without an index.
 * @throws {GitFailed} {GitNotFound} as `runGit`; {StorageFull} / {StorageReadOnly}; no pack is removed then
 * Source: git-pack-objects(1).
 */
export async function joinPacks(git: Omit<GitStart, 'args'>, packs: readonly FoldablePack[]): Promise<void> {
  const { commonDir } = git.location;
  const ids = new Set<string>(packs.flatMap((pack) => pack.ids));
  const ordered = await orderObjects(git, ids);
  const lines = ordered.map((id, at) => `${id} ${nameInOrder(ordered.length - at)}\n`);
  const quarantine = new Quarantine(join(commonDir, 'uwf', 'folding'), join(commonDir, 'objects'));
  try {
    await runGit({
      ...git,
      settings,
      args: [...packObjects, quarantine.packPrefix],
      // So that unfinished files of a killed git are in the quarantine too.
      variables: quarantine.variables(git.env),
      input: lines.join(''),
    });
    const keeps = quarantine.takeOver();
    try {
      removeJoined(packFolderOf(git.location), packs, keeps, ids.size);
    } finally {
      removeKeeps(keeps);
    }
  } finally {
    quarantine.remove();
  }
}

/** Removes the old packs if the new one has all their objects, except packs that another process has begun to use. */
function removeJoined(
  folder: string,
  packs: readonly FoldablePack[],
  keeps: readonly PackKeep[],
  objectCount: number,
): void {
  const free = new Set(listSmallPacks(folder, Infinity).map((pack) => pack.name));
  const kept = keeps.map(({ path }) => ({ name: basename(path, '.keep'), bytes: 0 }));
  const [joined] = readSmallPacks(folder, kept);
  if (joined?.ids.length !== objectCount) return;
  for (const { name } of packs.filter((pack) => free.has(pack.name))) {
    // The index goes first, as in git: readers look for indexes.
    for (const ending of endings) removeFile(join(folder, `${name}.${ending}`));
  }
}

const settings = [
  ...durablePacks,
  'pack.threads=1',
  'pack.packSizeLimit=0',
  'pack.indexVersion=2',
  // Bounds the memory, whatever small packs inflate to: large blobs get no deltas.
  'core.bigFileThreshold=8m',
  'pack.windowMemory=64m',
];
/** Old deltas are not reused: they were found among fewer objects, and are large. */
const packObjects = ['pack-objects', '-q', '--no-reuse-object', `--window=${neighbours}`, `--depth=${MAX_CHAIN}`];

/**
 * A name by which git sorts an object before all those with smaller numbers.
 *
 * git sorts objects by a hash of their names in which each character counts four times as much as the one before it.
 * Source: `pack_name_hash` in pack-objects.h; `type_size_sort` in builtin/pack-objects.c.
 */
function nameInOrder(number: number): string {
  let name = '';
  for (let rest = number, digits = 0; digits < 13; rest = Math.floor(rest / 4), digits += 1) {
    name += '@ABC'.charAt(rest % 4);
  }
  return name;
}
