import { join } from 'node:path';
import type { GitObject, ObjectFormat } from '../object-id.ts';
import type { WrittenObjects } from '../object-store.ts';
import { findObjectFolders } from './object-folders.ts';
import type { ObjectEnvironment } from './object-folders.ts';
import { removeStalePackKeeps } from './pack-keep.ts';
import type { PackKeep } from './pack-keep.ts';
import { writePack } from './write-pack.ts';

/** Writes into a repository's own object folder: each group of objects as one small pack. */
export class PackWriter {
  readonly #commonDir: string;
  readonly #env: ObjectEnvironment;
  readonly #format: ObjectFormat;
  #keepsAreSwept = false;

  constructor(commonDir: string, env: ObjectEnvironment, format: ObjectFormat) {
    this.#commonDir = commonDir;
    this.#env = env;
    this.#format = format;
  }

  /** Writes as {@link ObjectStore.write} does; the first time it removes what killed writers left too. */
  write(objects: readonly GitObject[]): WrittenObjects {
    if (objects.length === 0) return { release: async () => {} };
    const [own = this.#commonDir] = findObjectFolders(this.#commonDir, this.#env);
    const folder = join(own, 'pack');
    if (!this.#keepsAreSwept) removeStalePackKeeps(folder);
    this.#keepsAreSwept = true;
    const keep = writePack(folder, objects, this.#format);
    return { release: async () => tryToRemove(keep) };
  }
}

function tryToRemove(keep: PackKeep): void {
  try {
    keep.remove();
  } catch {
    // The disk has become read-only since. What was written stands, and the keep is removed as that of a dead process.
  }
}
