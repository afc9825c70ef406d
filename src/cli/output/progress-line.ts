import type { OutputStream } from '../process/process-streams.ts';
import { fitTo, oneLine } from './width.ts';

/**
 * The line at the bottom of a terminal on which git tells how far a transfer has come.
 *
 * Messages of the remote (`remote: …`) stay; progress is overwritten.
 */
export class ProgressLine {
  readonly #stream: OutputStream;
  #isDrawn = false;

  constructor(stream: OutputStream) {
    this.#stream = stream;
  }

  tell(line: string): void {
    const text = oneLine(line);
    if (text === '') return;
    this.clear();
    const isMessage =
      text.startsWith('remote: ') && !/\d+%|\bdone\b|^remote: (?:Enumerating|Total|Counting)/.test(text);
    if (isMessage) {
      this.#stream.write(`${text}\n`);
      return;
    }
    // A terminal that does not know its width says 0.
    this.#stream.write(fitTo(text, (this.#stream.columns || 80) - 1));
    this.#isDrawn = true;
  }

  /** Takes the line away. */
  clear(): void {
    if (this.#isDrawn) this.#stream.write('\r\u001B[K');
    this.#isDrawn = false;
  }
}
