import { statSync } from 'node:fs';
import { join } from 'node:path';
import { isNotThere } from '../../format/object-errors.ts';
import { orElse } from '../../../or-else.ts';
import { namesIn } from '../../system/names-in.ts';
import type { PackFiles } from './pack-files.ts';
import { Pack } from './pack.ts';

const indexName = /^(pack-.+)\.idx$/;
/** A folder that changed less than this before it was read can change again without a new time. */
const SETTLED_AFTER_MS = 2_500;

/**
 * The packs of one object folder, as of the last refresh.
 *
 * Only a `pack-*.idx` with its `.pack` counts: an interrupted git leaves other names.
 */
export class PackFolder {
  readonly #dir: string;
  readonly #files: PackFiles;
  #packs: Map<string, Pack> = new Map();
  #settledTime: bigint | undefined;

  /** @param objectFolder a folder as `.git/objects` */
  constructor(objectFolder: string, files: PackFiles) {
    this.#dir = join(objectFolder, 'pack');
    this.#files = files;
  }

  get packs(): Iterable<Pack> {
    return this.#packs.values();
  }

  /** Lists the packs again and tells whether they have changed. Cheap while nothing has changed. */
  refresh(): boolean {
    const time = this.#modificationTime();
    if (time !== undefined && time === this.#settledTime) return false;
    const names = new Set(time === undefined ? [] : namesIn(this.#dir));
    const before = this.#packs;
    const after = new Map<string, Pack>();
    for (const name of names) {
      const base = indexName.exec(name)?.[1];
      if (base === undefined || !names.has(`${base}.pack`)) continue;
      after.set(base, before.get(base) ?? new Pack(join(this.#dir, base), this.#files));
    }
    let changed = after.size !== before.size;
    for (const [base, pack] of before) {
      if (after.has(base)) continue;
      pack.close();
      changed = true;
    }
    this.#packs = after;
    const settled = time !== undefined && Number(time / 1_000_000n) < Date.now() - SETTLED_AFTER_MS;
    this.#settledTime = settled ? time : undefined;
    return changed;
  }

  /** Removes a pack whose files are gone, until the next refresh. */
  drop(pack: Pack): void {
    pack.close();
    this.#settledTime = undefined;
    for (const [base, known] of this.#packs) {
      if (known === pack) this.#packs.delete(base);
    }
  }

  #modificationTime(): bigint | undefined {
    return orElse(() => statSync(this.#dir, { bigint: true }).mtimeNs, undefined, isNotThere);
  }
}
