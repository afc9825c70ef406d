import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';

import { ToolFailure } from './tool.ts';
import type { WorkFolder } from './work-folder.ts';

/** The largest file that is read as a whole. */
const MAX_BYTES = 16 * 1024 * 1024;

/**
 * Reads a text file.
 * @param real its real path
 * @throws {ToolFailure} if it is none: a folder, a device, binary, or too large
 */
export async function readTextFile(folder: WorkFolder, real: string): Promise<string> {
  const name = folder.nameOf(real);
  // Not to follow a link that was put there in between, and not to wait for a writer of a pipe.
  const file = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    await assertReadable(file, name);
    const bytes = await file.readFile();
    if (bytes.includes(0)) throw new ToolFailure(`'${name}' is not a text`);
    return bytes.toString('utf8');
  } finally {
    await file.close();
  }
}

/** Writes a text file, in place of what was there. */
export async function writeTextFile(real: string, text: string): Promise<void> {
  const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW, O_NONBLOCK } = constants;
  const file = await open(real, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK, 0o666);
  try {
    await file.writeFile(text);
  } finally {
    await file.close();
  }
}

async function assertReadable(file: FileHandle, name: string): Promise<void> {
  const stats = await file.stat();
  if (stats.isDirectory()) throw new ToolFailure(`'${name}' is a folder; the tool 'list' lists it`);
  if (!stats.isFile()) throw new ToolFailure(`'${name}' is not a file`);
  if (stats.size > MAX_BYTES) {
    throw new ToolFailure(`'${name}' has ${stats.size} bytes, and ${MAX_BYTES} can be read; 'search' looks into it`);
  }
}
