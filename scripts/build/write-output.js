import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/**
 * Writes a file under another name and renames it, so that a program that starts during a build reads the old file or the
 * new one, and two builds at once do no harm.
 *
 * @param {string} file
 * @param {string | Uint8Array} contents
 */
export function writeOutput(file, contents) {
  mkdirSync(path.dirname(file), { recursive: true });
  const temporary = `${file}.${process.pid}.tmp`;
  writeFileSync(temporary, contents);
  renameSync(temporary, file);
}
