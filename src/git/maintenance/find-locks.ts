import { statSync } from 'node:fs';
import { join } from 'node:path';
import { namesIn } from '../system/names-in.ts';
import { isAlive, type ProcessIdentity } from '../system/process-identity.ts';
import type { RepositoryLocation } from '../repository.ts';
import { contentOf, keeperOf } from '../stores/disk/pack-keep.ts';

/** A lock of git, or the keep of a pack. */
export type FoundLock = {
  path: string;
  kind: 'lock' | 'keep';
  /** The process of uwf that made it, and whether it still runs; `undefined` if git or a person made it. */
  holder: { owner: ProcessIdentity; isAlive: boolean | 'other-host' } | undefined;
  /** Its age. */
  ageMs: number;
};

/** The content of a keep that git makes while it fetches or receives. Source: git-index-pack(1), `--keep`. */
const keptByGit = /^(?:fetch-pack|receive-pack) \d+ on /;

/** Finds the locks of refs, and the keeps of packs that are not made by people. Changes nothing. */
export function findLocks({ commonDir }: RepositoryLocation): FoundLock[] {
  const locks = [...locksBelow(join(commonDir, 'refs')), join(commonDir, 'packed-refs.lock')];
  const packs = join(commonDir, 'objects', 'pack');
  const keeps = namesIn(packs).filter((name) => name.endsWith('.keep'));
  return [
    ...locks.flatMap((path) => describe(path, 'lock')),
    ...keeps.flatMap((name) => {
      const path = join(packs, name);
      const owner = keeperOf(path);
      if (owner === undefined && !keptByGit.test(contentOf(path))) return [];
      return describe(path, 'keep', owner && { owner, isAlive: isAlive(owner) });
    }),
  ];
}

function locksBelow(folder: string): string[] {
  return namesIn(folder).flatMap((name) => {
    const path = join(folder, name);
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return locksBelow(path);
    return name.endsWith('.lock') ? [path] : [];
  });
}

function describe(path: string, kind: FoundLock['kind'], holder?: FoundLock['holder']): FoundLock[] {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined || !stats.isFile()) return [];
  return [{ path, kind, holder, ageMs: Date.now() - stats.mtimeMs }];
}
