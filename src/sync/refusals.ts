import type { Refusal } from './report.ts';

/** So many refs that were refused for one reason are named; of the others only their number is told. */
const MAX_NAMED = 5;
const MAX_LENGTH = 200;

/** Gathers what was refused, so that a remote with 100,000 strange refs gives a report that can be read. */
export class Refusals {
  readonly #byReason = new Map<string, Refusal[]>();

  /** @param ref the remote's name, of any characters and any length */
  add(ref: string, reason: string): void {
    const known = this.#byReason.get(reason) ?? [];
    this.#byReason.set(reason, known);
    const last = known.at(-1);
    if (known.length < MAX_NAMED || last === undefined) known.push({ ref: printable(ref), reason: printable(reason) });
    else last.more = (last.more ?? 0) + 1;
  }

  list(): Refusal[] {
    return [...this.#byReason.values()].flat();
  }
}

/** A text from elsewhere as one line that does nothing to a terminal. */
function printable(text: string): string {
  const characters = Array.from(text.slice(0, 2 * MAX_LENGTH));
  const cut = characters.length > MAX_LENGTH ? [...characters.slice(0, MAX_LENGTH - 1), '…'] : characters;
  return cut.join('').replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Surrogate}]/gu, '\u{fffd}');
}
