import { closeSync, fsyncSync, openSync, unlinkSync, writeSync } from 'node:fs';
import { errnoOf, isNotThere } from '../format/object-errors.ts';
import { share } from './sharing.ts';
import { orElse } from '../../or-else.ts';
import { whileOpen } from './while-open.ts';

/**
 * Makes a new small file whose content is worthless after a power cut, so it is not synced. A failure leaves no file behind.
 *
 * File system errors come through as they are, EEXIST among them.
 */
export function createFile(path: string, text: string): void {
  writeNewFile(path, [Buffer.from(text)], 0o666, () => {});
}

/**
 * Makes a new file and brings its content to the disk before it returns; a failure leaves no file behind.
 *
 * @param mode the permissions before the umask
 * File system errors come through as they are, EEXIST among them.
 */
export function createDurableFile(path: string, chunks: Iterable<Uint8Array>, mode: number): void {
  writeNewFile(path, chunks, mode, fsyncSync);
}

function writeNewFile(
  path: string,
  chunks: Iterable<Uint8Array>,
  mode: number,
  sync: (descriptor: number) => void,
): void {
  const descriptor = openSync(path, 'wx', mode);
  let isComplete = false;
  try {
    for (const chunk of chunks) writeWhole(descriptor, chunk);
    share(path);
    sync(descriptor);
    isComplete = true;
  } finally {
    closeSync(descriptor);
    if (!isComplete) removeFile(path);
  }
}

/** Syncs a folder: files that were made, renamed or removed in it survive a power cut. */
export function syncFolder(path: string): void {
  // Some file systems cannot sync a folder; they order such changes themselves.
  const cannotSync = (error: unknown): boolean => errnoOf(error) === 'EINVAL' || errnoOf(error) === 'ENOTSUP';
  whileOpen(openSync(path, 'r'), (descriptor) => orElse(() => fsyncSync(descriptor), undefined, cannotSync));
}

/** Removes a file, if there is one. */
export function removeFile(path: string): void {
  orElse(() => unlinkSync(path), undefined, isNotThere);
}

function writeWhole(descriptor: number, bytes: Uint8Array): void {
  let written = 0;
  while (written < bytes.byteLength) written += writeSync(descriptor, bytes, written);
}

const withoutHardLinks = new Set(['EPERM', 'EXDEV', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

/** Tells whether `link` failed because this file system has no hard links, or not between these folders. */
export function isWithoutHardLinks(error: unknown): boolean {
  return withoutHardLinks.has(errnoOf(error) ?? '');
}
