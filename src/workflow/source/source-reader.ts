import { dirname, isAbsolute, join } from 'node:path';
import { UwfError } from '../../errors.ts';
import { readFileInside } from '../../git/repository/git-directory.ts';
import { FileRefused } from '../../git/system/files.ts';

/** Reads files for the parser. Tests and configurations have readers without a disk. */
export interface SourceReader {
  /**
   * Reads a text file (UTF-8).
   * @throws {SourceUnreadable} if the file does not exist, is too large, is no text, or may not be included
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
  constructor(file: string, reason: string, options: { hint?: string | undefined; cause?: unknown } = {}) {
    super(`${file} ${reason}`, { code: 'source-unreadable', kind: 'data', ...options, facts: { file } });
  }
}

/** A reader of one file that is read already, and includes no other. */
export function singleFile(text: string): SourceReader {
  return {
    read: () => Promise.resolve(text),
    resolve: (_from, reference) => Promise.reject(new SourceUnreadable(`'${reference}'`, 'cannot be included here')),
  };
}

/** Files larger than this are refused: a workflow is written by hand. */
const MAX_FILE_BYTES = 1024 * 1024;

/**
 * A reader of files on the disk that lie below `root`, symbolic links followed, and in no git folder there.
 * @param root the work tree's top, or the folder of a file that lies in no repository
 */
export function diskReader(root: string): SourceReader {
  return {
    async read(file) {
      try {
        return new TextDecoder('utf-8', { fatal: true }).decode(readFileInside(root, file, MAX_FILE_BYTES));
      } catch (error) {
        if (error instanceof FileRefused) throw new SourceUnreadable(`'${file}'`, error.reason, { hint: error.hint });
        throw new SourceUnreadable(`'${file}'`, describe(error), { cause: error });
      }
    },

    async resolve(from, reference) {
      if (!isAbsolute(reference)) return join(dirname(from), reference);
      throw new SourceUnreadable(`'${reference}'`, 'is an absolute path', {
        hint: 'name the file relative to the one that includes it',
      });
    },
  };
}

function describe(error: unknown): string {
  // Errors of Node's file system carry a code; a decoder's failure is a TypeError with one of its own.
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT') return 'does not exist';
  if (code === 'EISDIR') return 'is a folder';
  if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA') return 'is not UTF-8 text';
  return `cannot be read (${String(code ?? error)})`;
}
