import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/**
 * Puts a file in its place in one go, so that a program that starts while a build runs reads the old file or the new
 * one, and two builds at once do no harm.
 */
export function writeOutput(file, contents) {
  mkdirSync(path.dirname(file), { recursive: true });
  const temporary = `${file}.${process.pid}.tmp`;
  writeFileSync(temporary, contents);
  renameSync(temporary, file);
}
