import { dirname, isAbsolute, join } from 'node:path';
import { readFileInside } from '../../git/read-file-inside.ts';
import { FileRefused } from '../../git/read-regular-file.ts';
import { SourceUnreadable, type SourceReader } from './source-reader.ts';

/** Files larger than this are refused: nobody writes such a workflow by hand. */
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
