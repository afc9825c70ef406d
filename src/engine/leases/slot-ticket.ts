import { randomUUID } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isFarFromNow } from '../../git/system/files.ts';
import { tryTo } from '../../or-else.ts';

const prefix = 'waiting-';

/** A process that has not renewed its ticket for so long has ended, or was stopped. */
const EXPIRY_MS = 2_000;

/**
 * The place of this process in the order of those that wait for a slot: a file beside the slots, whose name begins with the
 * time. Of the threads of a process only the first has one, so processes take turns.
 *
 * It only makes the order fair. How many slots there are is decided by the slots' own files, and a ticket that is not renewed
 * holds up no process.
 */
export class SlotTicket {
  readonly #folder: string;
  #name: string | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Takes a ticket, or shows that the process still waits. */
  renew(): void {
    this.#name ??= `${prefix}${Date.now()}-${randomUUID()}`;
    const path = join(this.#folder, this.#name);
    // On a full disk the order is not fair.
    tryTo(() => writeFileSync(path, `${process.pid}\n`));
  }

  drop(): void {
    if (this.#name === undefined) return;
    const path = join(this.#folder, this.#name);
    this.#name = undefined;
    tryTo(() => rmSync(path, { force: true }));
  }

  /** Tells whether it is this process's turn while so many slots are free. */
  isNext(names: readonly string[], free: number): boolean {
    let left = free;
    for (const name of names.filter((one) => one.startsWith(prefix)).toSorted()) {
      if (left <= 0 || name === this.#name) break;
      const path = join(this.#folder, name);
      // One from the future was written before the clock was set back, and is not renewed any more either.
      if (isFarFromNow(path, EXPIRY_MS)) tryTo(() => rmSync(path, { force: true }));
      else left -= 1;
    }
    return left > 0;
  }
}
