/** The longest word that is left out with what was cut, in UTF-16 code units: longer than any token. */
const MAX_WORD = 4096;

/** How much of an agent's error is kept in a message. */
export const MAX_SAID_CHARACTERS = 4096;

/**
 * Shortens a text to its beginning and its end, and says so in the middle.
 * @param maxCharacters what is kept of it
 */
export function headAndTail(text: string, maxCharacters: number): string {
  if (text.length <= maxCharacters) return text;
  const kept = new HeadAndTail(maxCharacters);
  kept.add(text);
  return kept.text();
}

/** Keeps the first and the last characters of a program's output. */
export class HeadAndTail {
  readonly #half: number;
  #head = '';
  #tail = '';
  #size = 0;

  constructor(maxCharacters: number) {
    this.#half = Math.floor(maxCharacters / 2);
  }

  add(text: string): void {
    this.#size += text.length;
    const room = this.#half - this.#head.length;
    if (room > 0) this.#head += text.slice(0, room);
    const rest = room > 0 ? text.slice(room) : text;
    if (rest === '') return;
    this.#tail += rest.slice(-this.#half);
    // Not each time: of a program that writes byte by byte the whole tail would be copied for each.
    if (this.#tail.length > 2 * this.#half) this.#tail = this.#tail.slice(-this.#half);
  }

  text(): string {
    const tail = this.#half === 0 ? '' : this.#tail.slice(-this.#half);
    const left = this.#size - this.#head.length - tail.length;
    return left === 0 ? this.#head + tail : joined(this.#head, left, tail);
  }
}

/**
 * Leaves out the words that the cut has torn as well: half of a secret is not known as one, and would be kept.
 * The words are at most a quarter of what is kept, so that a text without spaces still has a beginning and an end.
 */
function joined(head: string, left: number, tail: string): string {
  const headEnd = head.length - Math.min(/\S*$/u.exec(head.slice(-MAX_WORD))?.[0].length ?? 0, head.length >> 2);
  const tailStart = Math.min(/^\S*/u.exec(tail.slice(0, MAX_WORD))?.[0].length ?? 0, tail.length >> 2);
  const all = left + head.length - headEnd + tailStart;
  return `${whole(head.slice(0, headEnd))}\n[… ${all} characters were left out here …]\n${whole(tail.slice(tailStart))}`;
}

/** Without the half of a character that a cut leaves at either end. */
function whole(text: string): string {
  return text.replace(/^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/gu, '');
}

/** The beginning of a text, no longer than `maxCharacters`, without half a character at its end. */
export function cutText(text: string, maxCharacters: number): string {
  return text.length <= maxCharacters ? text : text.slice(0, maxCharacters).replace(/[\uD800-\uDBFF]$/u, '');
}
