import { formatCount } from '../../text/wording.ts';
import type { CliEnvironment, OutputStream } from '../process/cli-environment.ts';
import { collectOften } from '../process/save-memory.ts';
import { fitTo, oneLine } from './text.ts';

/** A count is first told after this time, and then so often; the clock is looked at for every so many. */
const QUIET_MS = 500;
const PROGRESS_MS = 100;
const LOOKS_AT_ONCE = 16;

/** The last line of a terminal, where git tells how far a transfer has come. Messages of the remote (`remote: …`) stay. */
export class ProgressLine {
  readonly #stream: OutputStream;
  #isDrawn = false;
  #count = 0;
  #nextMs: number = performance.now() + QUIET_MS;

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

  /** Counts one more, and tells the count now and then. */
  count(describe: (count: number) => string): void {
    this.#count += 1;
    if (this.#count % LOOKS_AT_ONCE !== 0 || performance.now() < this.#nextMs) return;
    this.tell(describe(this.#count));
    this.#nextMs = performance.now() + PROGRESS_MS;
  }

  clear(): void {
    if (this.#isDrawn) this.#stream.write('\r\u001B[K');
    this.#isDrawn = false;
  }
}

/** From so many commits on a check takes long. A shorter one would lose what V8 has compiled before, and save nothing. */
const MANY_COMMITS = 500;

/** Lets a command check threads; at a terminal it is shown how far that has come. @param check calls `onCommit` for each commit */
export async function whileChecking<T>(cli: CliEnvironment, check: (onCommit: () => void) => Promise<T>): Promise<T> {
  const progress = cli.stderr.isTTY === true ? new ProgressLine(cli.stderr) : undefined;
  let checked = 0;
  try {
    return await check(() => {
      checked += 1;
      if (checked === MANY_COMMITS) collectOften();
      progress?.count((count) => `checked ${formatCount(count)} commits`);
    });
  } finally {
    progress?.clear();
  }
}
