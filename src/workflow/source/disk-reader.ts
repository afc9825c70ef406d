import { open, realpath } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, sep } from 'node:path';
import { SourceUnreadable, type SourceReader } from './source-reader.ts';

/** Files larger than this are refused: nobody writes such a workflow by hand. */
const MAX_FILE_BYTES = 1024 * 1024;

/**
 * A reader of files on the disk that lets `!include` reach files below `root` only, symbolic links followed.
 * @param root the work tree's top, or the folder of a file that lies in no repository
 */
export function diskReader(root: string): SourceReader {
  return {
    read: readText,

    async resolve(from, reference) {
      if (isAbsolute(reference)) {
        throw new SourceUnreadable(`'${reference}'`, 'is an absolute path', {
          hint: 'name the file relative to the one that includes it',
        });
      }
      const file = join(dirname(from), reference);
      const [realRoot, realFile] = await Promise.all([realpath(root), findReal(file)]);
      const inside = relative(realRoot, realFile);
      if (inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside)) {
        throw new SourceUnreadable(`'${reference}'`, 'lies outside the repository', {
          hint: 'only files of the same repository can be included',
        });
      }
      return file;
    },
  };
}

/** Where a path really leads, also when only its upper folders exist: a missing file must not tell what lies outside. */
async function findReal(file: string): Promise<string> {
  try {
    return await realpath(file);
  } catch (error) {
    const parent = dirname(file);
    if (parent === file) throw new SourceUnreadable(`'${file}'`, 'cannot be read', { cause: error });
    return join(await findReal(parent), relative(parent, file));
  }
}

async function readText(file: string): Promise<string> {
  let handle;
  try {
    handle = await open(file, 'r');
    const { size } = await handle.stat();
    if (size > MAX_FILE_BYTES) {
      throw new SourceUnreadable(`'${file}'`, `has ${size} bytes; at most ${MAX_FILE_BYTES} are read`);
    }
    return new TextDecoder('utf-8', { fatal: true }).decode(await handle.readFile());
  } catch (error) {
    if (error instanceof SourceUnreadable) throw error;
    throw new SourceUnreadable(`'${file}'`, describe(error), { cause: error });
  } finally {
    await handle?.close();
  }
}

function describe(error: unknown): string {
  // Errors of Node's file system carry a code; a decoder's failure is a TypeError with one of its own.
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT') return 'does not exist';
  if (code === 'EISDIR') return 'is a folder';
  if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA') return 'is not UTF-8 text';
  return `cannot be read (${String(code ?? error)})`;
}
