import { closeSync, fsyncSync, linkSync, openSync, renameSync, unlinkSync, writeSync } from 'node:fs';
import { errnoOf } from '../object-errors.ts';
import { share } from '../sharing.ts';

/**
 * Makes a new file of a few words that says nothing any more after a power cut, so that it is not synced; a failure leaves no
 * file behind.
 *
 * File system errors come through as they are, EEXIST among them.
 */
export function createFile(path: string, text: string, mode: number = 0o666): void {
  const descriptor = openSync(path, 'wx', mode);
  let isComplete = false;
  try {
    writeWhole(descriptor, Buffer.from(text));
    share(path);
    isComplete = true;
  } finally {
    closeSync(descriptor);
    if (!isComplete) removeFile(path);
  }
}

/**
 * Makes a new file and brings its content to the disk before it returns; a failure leaves no file behind.
 *
 * @param mode the permissions before the umask
 * File system errors come through as they are, EEXIST among them.
 */
export function createDurableFile(path: string, chunks: Iterable<Uint8Array>, mode: number): void {
  const descriptor = openSync(path, 'wx', mode);
  let isComplete = false;
  try {
    for (const chunk of chunks) writeWhole(descriptor, chunk);
    share(path);
    fsyncSync(descriptor);
    isComplete = true;
  } finally {
    closeSync(descriptor);
    if (!isComplete) removeFile(path);
  }
}

/** Brings the names in a folder to the disk: what was made, renamed or removed there survives a power cut. */
export function syncFolder(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } catch (error) {
    // Some file systems cannot sync a folder; they order such changes themselves.
    if (errnoOf(error) !== 'EINVAL' && errnoOf(error) !== 'ENOTSUP') throw error;
  } finally {
    closeSync(descriptor);
  }
}

/** Removes a file; one that is not there is no error. */
export function removeFile(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    // ENOTDIR: what would be its folder is a file.
    if (errnoOf(error) !== 'ENOENT' && errnoOf(error) !== 'ENOTDIR') throw error;
  }
}

/** Gives a file its name again, unless there is a newer one by now. */
export function putBack(taken: string, path: string): void {
  try {
    linkSync(taken, path);
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return removeFile(taken);
    // There are no hard links here.
    return renameSync(taken, path);
  }
  removeFile(taken);
}

function writeWhole(descriptor: number, bytes: Uint8Array): void {
  let written = 0;
  while (written < bytes.byteLength) written += writeSync(descriptor, bytes, written);
}
