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
  const file = await folder.openFile(real, 'read');
  try {
    await assertReadable(file, name);
    const bytes = await file.readFile();
    if (bytes.includes(0)) throw new ToolFailure(`'${name}' is not a text`);
    return bytes.toString('utf8');
  } finally {
    await file.close();
  }
}

/** Writes a text file, in place of what was there; folders are made as needed. */
export async function writeTextFile(folder: WorkFolder, real: string, text: string): Promise<void> {
  const file = await folder.openFile(real, 'write');
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
