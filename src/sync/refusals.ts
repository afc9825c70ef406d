import type { Refusal } from './report.ts';

/** The most refs that are named for one reason. The others are counted. */
const MAX_NAMED = 5;
const MAX_LENGTH = 200;

/** Collects refusals by reason, so that the report stays short if a remote has 100,000 unknown refs. */
export class Refusals {
  readonly #byReason = new Map<string, Refusal[]>();

  /** @param ref the remote's name for it: any characters, any length */
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

/** Makes a text from a remote one line that is safe to print on a terminal. */
function printable(text: string): string {
  const characters = Array.from(text.slice(0, 2 * MAX_LENGTH));
  const cut = characters.length > MAX_LENGTH ? [...characters.slice(0, MAX_LENGTH - 1), '…'] : characters;
  return cut.join('').replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Surrogate}]/gu, '\u{fffd}');
}
