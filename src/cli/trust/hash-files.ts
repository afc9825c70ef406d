import { createHash } from 'node:crypto';
import { constants, fstatSync, openSync, readdirSync, readSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { orElse } from '../../or-else.ts';
import { UwfError } from '../../errors.ts';
import { whileOpen } from '../../git/system/files.ts';

/** Limits of the files that all agents of a command name together. A person cannot have checked more. */
const MAX_BYTES = 256 * 1024 * 1024;
const MAX_FILES = 20_000;

/** What is to be trusted is more than can be hashed in reasonable time. */
export class TooMuchToTrust extends UwfError {
  constructor(path: string) {
    super('what the agents of this repository name is more than can be looked at', {
      code: 'too-much-to-trust',
      kind: 'agent',
      hint: `too much is ${JSON.stringify(path)}, after ${MAX_FILES} files or ${MAX_BYTES / 1024 / 1024} MiB; install it outside of the repository`,
    });
  }
}

/** The SHA-256 of something on the disk, in hex, and how many bytes that is. */
export type HashedFile = { sha256: string; bytes: number };

/** Hashes files, up to limits of their number and size, so that a command does not take long. */
export class FileHasher {
  #bytes = 0;
  #files = 0;
  readonly #buffer = Buffer.allocUnsafe(1024 * 1024);

  /**
   * Hashes a regular file, links followed; `undefined` if there is none at the path, or it cannot be read.
   * @throws {TooMuchToTrust}
   */
  hashFile(path: string): HashedFile | undefined {
    // Without O_NONBLOCK, a pipe would be waited for.
    const descriptor = orElse(() => openSync(path, constants.O_RDONLY | constants.O_NONBLOCK), undefined);
    if (descriptor === undefined) return undefined;
    return whileOpen(descriptor, () => (fstatSync(descriptor).isFile() ? this.#hash(descriptor, path) : undefined));
  }

  #hash(descriptor: number, path: string): HashedFile {
    this.#count(path);
    const hash = createHash('sha256');
    let bytes = 0;
    for (;;) {
      const read = readSync(descriptor, this.#buffer);
      bytes += read;
      this.#bytes += read;
      if (this.#bytes > MAX_BYTES) throw new TooMuchToTrust(path);
      if (read === 0) return { sha256: hash.digest('hex'), bytes };
      hash.update(this.#buffer.subarray(0, read));
    }
  }

  #count(path: string): void {
    this.#files += 1;
    if (this.#files > MAX_FILES) throw new TooMuchToTrust(path);
  }

  /**
   * Hashes all files below a folder with their paths, links followed, each folder once.
   * @throws {TooMuchToTrust}
   */
  hashFolder(folder: string): HashedFile {
    const hash = createHash('sha256');
    const seen = new Set<string>();
    let bytes = 0;
    const visit = (way: string): void => {
      const names = namesIn(join(folder, way), seen);
      if (names === undefined) {
        const file = this.hashFile(join(folder, way));
        bytes += file?.bytes ?? 0;
        hash.update(`${file?.sha256 ?? 'none'} ${way}\0`);
        return;
      }
      this.#count(way);
      for (const name of names) visit(join(way, name));
    };
    visit('');
    return { sha256: hash.digest('hex'), bytes };
  }
}

/** The names in a folder; none for a folder that was listed before, and `undefined` if it is no folder or cannot be read. */
function namesIn(path: string, seen: Set<string>): string[] | undefined {
  return orElse(() => {
    const names = readdirSync(path).toSorted();
    const real = realpathSync.native(path);
    if (seen.has(real)) return [];
    seen.add(real);
    return names;
  }, undefined);
}
