import type { WorkingFolder } from './working-folder.ts';

/** What is read or written at once. */
const MAX_FILE_BYTES = 16 * 1024 * 1024;

/**
 * Reads a text file of the working folder, or some of its lines.
 * @param lines `line` is the first one, from 1; `limit` how many, absent: all
 * @throws {OutsideFolder} where it lies elsewhere
 * @throws {RangeError} when it is too long, or no text in UTF-8
 */
export async function readTextFile(
  folder: WorkingFolder,
  path: string,
  lines: { line: number; limit: number | undefined },
): Promise<string> {
  const file = await folder.open(path, 'read');
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw new RangeError(`${path} is not a file`);
    if (stats.size > MAX_FILE_BYTES) throw new RangeError(`${path} is longer than ${MAX_FILE_BYTES} bytes`);
    return someLines(decode(await file.readFile(), path), lines);
  } finally {
    await file.close();
  }
}

/**
 * Writes a text file of the working folder, with the folders above it.
 * @throws {OutsideFolder} where it lies elsewhere
 * @throws {RangeError} when it is too long
 */
export async function writeTextFile(folder: WorkingFolder, path: string, content: string): Promise<void> {
  if (content.length > MAX_FILE_BYTES) throw new RangeError(`${path} would be longer than ${MAX_FILE_BYTES} bytes`);
  const file = await folder.open(path, 'write');
  try {
    await file.writeFile(content);
  } finally {
    await file.close();
  }
}

function decode(bytes: Buffer, path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new RangeError(`${path} is not a text in UTF-8`);
  }
}

function someLines(text: string, { line, limit }: { line: number; limit: number | undefined }): string {
  if (line <= 1 && limit === undefined) return text;
  const lines = text.split(/(?<=\n)/u);
  const first = Math.max(line, 1) - 1;
  return lines.slice(first, limit === undefined ? undefined : first + limit).join('');
}
