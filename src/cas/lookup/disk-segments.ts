import { createHash, randomBytes } from 'node:crypto';
import {
  closeSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  openSync,
  readFileSync,
  readSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { orElse } from '../../or-else.ts';
import { errnoOf, isShortOfFiles } from '../../git/format/object-errors.ts';
import { PageCache } from '../../git/system/page-cache.ts';
import { DamagedSegment } from './page-sums.ts';
import { Segment, writeSegment } from './segment.ts';
import type { SegmentBytes, SegmentContent } from './segment.ts';
import { memoryBytes } from './segment-store.ts';
import type { NamedSegment, SegmentStore } from './segment-store.ts';
import { READ } from '../../git/system/read-regular-file.ts';
import { makeFolders } from '../../git/system/make-folders.ts';
import { share } from '../../git/system/sharing.ts';
import { whileOpen } from '../../git/system/while-open.ts';

const suffix = '.segment';
const temporaryPrefix = 'tmp-';
/** Segments up to this size are read once and kept; larger ones are read by the page. */
const MAX_KEPT_BYTES = 256 * 1024;
const cachedBytes = 4 * 1024 * 1024;
const abandonedAfterMs = 24 * 60 * 60 * 1000;

/**
 * Segments as files of a folder, shared by all processes that work on the repository.
 *
 * A file appears under its final name complete or not at all, and is named by the SHA-1 of its content, so that two
 * processes that write the same segment write the same file. A missing folder counts as empty. The memory taken
 * does not depend on how large they are.
 */
export class DiskSegments implements SegmentStore {
  readonly #folder: string;
  readonly #cache: PageCache = new PageCache(cachedBytes);
  readonly #open = new Map<string, Segment>();
  #known: readonly NamedSegment[] | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  known(): readonly NamedSegment[] {
    return this.#known ?? this.list();
  }

  list(): readonly NamedSegment[] {
    const names = listFolder(this.#folder).filter((name) => name.endsWith(suffix));
    const present = new Set(names);
    for (const name of this.#open.keys()) if (!present.has(name)) this.#open.delete(name);
    this.#known = names.flatMap((name) => {
      const segment = this.#open.get(name) ?? this.#openFile(name);
      if (segment === undefined) return [];
      this.#open.set(name, segment);
      return [{ name, segment }];
    });
    return this.#known;
  }

  add(content: SegmentContent): string {
    makeFolders(this.#folder);
    const temporary = join(this.#folder, `${temporaryPrefix}${randomBytes(8).toString('hex')}`);
    try {
      const name = writeFile(temporary, content) + suffix;
      this.#removeAbandoned(statSync(temporary).mtimeMs);
      renameSync(temporary, join(this.#folder, name));
      this.list();
      return name;
    } catch (error) {
      rmSync(temporary, { force: true });
      throw error;
    }
  }

  remove(names: Iterable<string>): void {
    for (const name of names) rmSync(join(this.#folder, name), { force: true });
    this.list();
  }

  clear(): boolean {
    const names = listFolder(this.#folder).filter((name) => name.endsWith(suffix));
    // Folders too, hence `recursive`: uwf never makes one of such a name, and it would block the file.
    for (const name of names) rmSync(join(this.#folder, name), { recursive: true, force: true });
    this.#open.clear();
    this.#known = undefined;
    return names.length > 0;
  }

  #openFile(name: string): Segment | undefined {
    const path = join(this.#folder, name);
    try {
      const stats = lstatSync(path);
      if (!stats.isFile()) throw new DamagedSegment();
      return Segment.open(
        stats.size <= MAX_KEPT_BYTES ? memoryBytes(readFileSync(path)) : fileBytes(path, this.#cache),
      );
    } catch (error) {
      // Another process has merged it into another segment since the folder was listed.
      if (errnoOf(error) === 'ENOENT') return undefined;
      // Not damage of the file. Taken for damage, the lookup would be removed, and could not be rebuilt either.
      if (isShortOfFiles(error) || errnoOf(error) === undefined) throw error;
      throw new DamagedSegment();
    }
  }

  /** Removes temporary files of killed writers. Their age is measured by the clock of the file system. */
  #removeAbandoned(nowMs: number): void {
    for (const name of listFolder(this.#folder).filter((entry) => entry.startsWith(temporaryPrefix))) {
      const path = join(this.#folder, name);
      const modifiedMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? nowMs;
      if (nowMs - modifiedMs > abandonedAfterMs) rmSync(path, { force: true });
    }
  }
}

/** Writes a segment to a new file, syncs it to the disk, and returns the SHA-1 of its content. */
function writeFile(path: string, content: SegmentContent): string {
  return whileOpen(openSync(path, 'wx'), (descriptor) => {
    const digest = createHash('sha1');
    writeSegment(content, (bytes) => {
      for (let written = 0; written < bytes.length;) {
        written += writeSync(descriptor, bytes, written, bytes.length - written);
      }
      digest.update(bytes);
    });
    fsyncSync(descriptor);
    share(path);
    return digest.digest('hex');
  });
}

function listFolder(folder: string): string[] {
  // The folder is not made yet, or not readable. Either way the lookup is built again from the refs.
  return orElse(() => readdirSync(folder).toSorted(), []);
}

// Closes the files of an unreachable lookup: a repository has no `close` that could do it.
const openFiles = new FinalizationRegistry<number>((descriptor) => closeSync(descriptor));

function fileBytes(path: string, cache: PageCache): SegmentBytes {
  // The descriptor stays open: another process may unlink the file while it is in use here.
  const descriptor = openSync(path, READ);
  const { size } = fstatSync(descriptor);
  const read = cache.open((buffer, position) => {
    const wanted = Math.max(0, Math.min(buffer.length, size - position));
    const count = readSync(descriptor, buffer, 0, wanted, position);
    if (count !== wanted) throw new DamagedSegment();
    return buffer.subarray(0, count);
  });
  // The file is open as long as this function is reachable; the object around it may be collected earlier.
  openFiles.register(read, descriptor);
  return { size, read };
}
