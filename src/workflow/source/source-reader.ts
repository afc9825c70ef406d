import { UwfError } from '../../errors.ts';

/** How the parser gets at files, so that it needs no disk in tests and in the browser. */
export interface SourceReader {
  /**
   * Reads a text file (UTF-8).
   * @throws {SourceUnreadable} if there is none, it is too large or no text, or lies outside what may be included
   */
  read(file: string): Promise<string>;

  /**
   * The file that an `!include` in `from` names, in the style of `from`.
   * @throws {SourceUnreadable} if nothing of that name may be included
   */
  resolve(from: string, reference: string): Promise<string>;
}

/** A file of a workflow could not be read, or may not be. */
export class SourceUnreadable extends UwfError {
  readonly file: string;
  constructor(file: string, reason: string, options: { hint?: string | undefined; cause?: unknown } = {}) {
    super(`${file} ${reason}`, { code: 'source-unreadable', kind: 'data', ...options });
    this.file = file;
  }
}
