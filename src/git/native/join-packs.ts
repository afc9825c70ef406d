import { basename, join } from 'node:path';
import { removeFile } from '../disk/durable-file.ts';
import type { PackKeep } from '../disk/pack-keep.ts';
import { durablePacks } from './durable-packs.ts';
import { listSmallPacks, packFolderOf, readSmallPacks, type FoldablePack } from './foldable-packs.ts';
import { orderObjects } from './order-objects.ts';
import { Quarantine } from './quarantine.ts';
import { runGit } from './run-git.ts';
import type { GitStart } from './spawn-git.ts';

/**
 * How long a chain of differences may get. The newest of what lay at one path is whole, so that the newest steps are read
 * at once, and the oldest over so many others.
 */
const longestChain = 250;

/** So many neighbours are tried: in their right order the next one is nearly always the best. */
const neighbours = 3;

const endings = ['idx', 'rev', 'bitmap', 'pack'] as const;

/**
 * Makes one pack of several, by git's own means, and removes those.
 *
 * Readers and writers go on meanwhile, git's own `repack` and `gc` too. Nothing is pruned: the new pack has all that was in
 * the others, is durable before the first of them goes, and is kept until the last has gone. Ended at any moment, what is
 * left is a pack more than there need be, or one that has lost its index.
 * @throws {GitFailed} {GitNotFound} as `runGit`; {StorageFull} / {StorageReadOnly}; all packs are there then
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
      args: [...packArguments, quarantine.packPrefix],
      // So that what git has begun lies there, too, should it be ended.
      variables: quarantine.variables(git.env),
      input: lines.join(''),
    });
    const keeps = quarantine.takeOver();
    try {
      removeJoined(packFolderOf(git.location), packs, keeps, ids.size);
    } finally {
      for (const keep of keeps) keep.remove();
    }
  } finally {
    quarantine.remove();
  }
}

/** Removes the packs whose objects are in one that is kept now, but for those that somebody else has begun to hold. */
function removeJoined(
  folder: string,
  packs: readonly FoldablePack[],
  keeps: readonly PackKeep[],
  objectCount: number,
): void {
  const free = new Set(listSmallPacks(folder, Infinity).map((pack) => pack.name));
  const [joined] = readSmallPacks(
    folder,
    keeps.map(({ path }) => ({ name: basename(path, '.keep'), bytes: 0 })),
  );
  if (joined?.ids.length !== objectCount) return;
  for (const { name } of packs) if (free.has(name)) removePack(join(folder, name));
}

const packArguments: readonly string[] = [
  ...durablePacks,
  '-c',
  'pack.threads=1',
  '-c',
  'pack.packSizeLimit=0',
  '-c',
  'pack.indexVersion=2',
  // Memory is bounded whatever small packs inflate to: large blobs are copied, and compared with none.
  '-c',
  'core.bigFileThreshold=8m',
  '-c',
  'pack.windowMemory=64m',
  'pack-objects',
  '-q',
  // Differences that were found while less was known are not kept: between foldings they are large.
  '--no-reuse-object',
  `--window=${neighbours}`,
  `--depth=${longestChain}`,
];

/**
 * A name by which git sorts an object before all those with smaller numbers.
 *
 * git puts neighbours together by a hash of their names that is made to be sorted by: each character counts four times
 * as much as the one before it.
 * Source: `pack_name_hash` in pack-objects.h; `type_size_sort` in builtin/pack-objects.c.
 */
function nameInOrder(number: number): string {
  let name = '';
  for (let rest = number, digits = 0; digits < 13; rest = Math.floor(rest / 4), digits += 1) {
    name += '@ABC'.charAt(rest % 4);
  }
  return name;
}

/** The index goes first, as git does it: without one nobody looks for the others. */
function removePack(path: string): void {
  for (const ending of endings) removeFile(`${path}.${ending}`);
}
