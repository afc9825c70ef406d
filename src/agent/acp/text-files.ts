import type { FileHandle } from 'node:fs/promises';

import type { GuardedPaths } from '../guarded-paths.ts';

/** What is read or written at once. */
const MAX_FILE_BYTES = 16 * 1024 * 1024;

/**
 * Reads a text file, or some of its lines.
 * @param real its path, links followed
 * @param lines `line` is the first one, from 1; `limit` how many, absent: all
 * @throws {PathRefused} {PathMoved} as {@link GuardedPaths.open} does
 * @throws {RangeError} when it is too long, or no text in UTF-8
 */
export async function readTextFile(
  guard: GuardedPaths,
  real: string,
  lines: { line: number; limit: number | undefined },
): Promise<string> {
  return withFile(await guard.open(real, 'read'), real, async (file, size) => {
    if (size > MAX_FILE_BYTES) throw new RangeError(`${real} is longer than ${MAX_FILE_BYTES} bytes`);
    return someLines(decode(await file.readFile(), real), lines);
  });
}

/**
 * Writes a text file, with the folders above it.
 * @param real its path, links followed
 * @throws {PathRefused} {PathMoved} as {@link GuardedPaths.open} does
 * @throws {RangeError} when it is too long
 */
export async function writeTextFile(guard: GuardedPaths, real: string, content: string): Promise<void> {
  if (content.length > MAX_FILE_BYTES) throw new RangeError(`${real} would be longer than ${MAX_FILE_BYTES} bytes`);
  await withFile(await guard.open(real, 'write'), real, (file) => file.writeFile(content));
}

async function withFile<Value>(
  file: FileHandle,
  path: string,
  work: (file: FileHandle, size: number) => Promise<Value>,
): Promise<Value> {
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw new RangeError(`${path} is not a file`);
    return await work(file, stats.size);
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
