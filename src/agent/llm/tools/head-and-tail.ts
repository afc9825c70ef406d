/**
 * Shortens a text to its beginning and its end, and says so in the middle.
 * @param maxCharacters what is kept of it
 */
export function headAndTail(text: string, maxCharacters: number): string {
  if (text.length <= maxCharacters) return text;
  const half = Math.floor(maxCharacters / 2);
  const left = text.length - 2 * half;
  return `${whole(text.slice(0, half))}\n[… ${left} characters were left out here …]\n${whole(text.slice(-half))}`;
}

/** Keeps the first and the last characters of what a program says, whatever it says between. */
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
    if (rest !== '') this.#tail = (this.#tail + rest.slice(-this.#half)).slice(-this.#half);
  }

  text(): string {
    const left = this.#size - this.#head.length - this.#tail.length;
    if (left === 0) return this.#head + this.#tail;
    return `${whole(this.#head)}\n[… ${left} characters were left out here …]\n${whole(this.#tail)}`;
  }
}

/** Without the half of a character that a cut leaves at either end. */
function whole(text: string): string {
  return text.replace(/^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/gu, '');
}
