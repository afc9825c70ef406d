import { createHash, randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { Segment } from './segment.ts';
import type { SegmentBytes } from './segment.ts';

/** A segment under the name it is stored by. */
export type NamedSegment = { name: string; segment: Segment };

/** Where segments are kept. Segments never change; they come and go as a whole. */
export interface SegmentStore {
  /** What is there now, other processes' segments included. */
  list(): readonly NamedSegment[];
  /** Keeps a segment and gives its name, which follows from its bytes. */
  add(bytes: Buffer): string;
  /** Removes segments; names that are gone already are passed over. */
  remove(names: Iterable<string>): void;
}

/** Segments in memory: for repositories without a disk, and for when the disk refuses. */
export class MemorySegments implements SegmentStore {
  readonly #segments = new Map<string, Segment>();

  list(): readonly NamedSegment[] {
    return [...this.#segments].map(([name, segment]) => ({ name, segment }));
  }

  add(bytes: Buffer): string {
    const name = nameOf(bytes);
    const segment = Segment.open(memoryBytes(bytes));
    if (segment !== undefined) this.#segments.set(name, segment);
    return name;
  }

  remove(names: Iterable<string>): void {
    for (const name of names) this.#segments.delete(name);
  }
}

const suffix = '.segment';
const temporaryPrefix = 'tmp-';
/** Segments up to this size are read once and kept; larger ones are read a record at a time. */
const maxKeptBytes = 256 * 1024;
const abandonedAfterMs = 24 * 60 * 60 * 1000;

/**
 * Segments as files of a folder, shared by all processes that work on the repository.
 *
 * A file appears under its final name complete or not at all, and is named by the SHA-1 of its bytes, so that two
 * processes that write the same segment write the same file. A folder that is gone is an empty one.
 */
export class DiskSegments implements SegmentStore {
  readonly #folder: string;
  readonly #open = new Map<string, Segment>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  list(): readonly NamedSegment[] {
    const names = listFolder(this.#folder).filter((name) => name.endsWith(suffix));
    for (const name of this.#open.keys()) if (!names.includes(name)) this.#open.delete(name);
    return names.flatMap((name) => {
      const segment = this.#open.get(name) ?? openFile(join(this.#folder, name));
      if (segment === undefined) return [];
      this.#open.set(name, segment);
      return [{ name, segment }];
    });
  }

  add(bytes: Buffer): string {
    const name = nameOf(bytes) + suffix;
    fs.mkdirSync(this.#folder, { recursive: true });
    const temporary = join(this.#folder, `${temporaryPrefix}${randomBytes(8).toString('hex')}`);
    try {
      fs.writeFileSync(temporary, bytes, { flag: 'wx', flush: true });
      this.#removeAbandoned(fs.statSync(temporary).mtimeMs);
      fs.renameSync(temporary, join(this.#folder, name));
    } catch (error) {
      fs.rmSync(temporary, { force: true });
      throw error;
    }
    return name;
  }

  remove(names: Iterable<string>): void {
    for (const name of names) {
      fs.rmSync(join(this.#folder, name), { force: true });
      this.#open.delete(name);
    }
  }

  /** Removes what writers that were killed left behind, by the clock of the file system itself. */
  #removeAbandoned(nowMs: number): void {
    for (const name of listFolder(this.#folder).filter((entry) => entry.startsWith(temporaryPrefix))) {
      const path = join(this.#folder, name);
      const modifiedMs = fs.statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? nowMs;
      if (nowMs - modifiedMs > abandonedAfterMs) fs.rmSync(path, { force: true });
    }
  }
}

function nameOf(bytes: Buffer): string {
  return createHash('sha1').update(bytes).digest('hex');
}

function listFolder(folder: string): string[] {
  try {
    return fs.readdirSync(folder).toSorted();
  } catch {
    // Not made yet, or not readable: what is not there is worked out again from the refs.
    return [];
  }
}

function openFile(path: string): Segment | undefined {
  try {
    const size = fs.statSync(path).size;
    return Segment.open(size <= maxKeptBytes ? memoryBytes(fs.readFileSync(path)) : fileBytes(path, size));
  } catch {
    // Merged into another one by another process since the folder was listed.
    return undefined;
  }
}

function memoryBytes(bytes: Buffer): SegmentBytes {
  return { size: bytes.length, read: (position, length) => bytes.subarray(position, position + length) };
}

// A repository that is no longer used takes its lookup with it; nobody is there to close the files then.
const openFiles = new FinalizationRegistry<number>((descriptor) => fs.closeSync(descriptor));

function fileBytes(path: string, size: number): SegmentBytes {
  // Open from now on: another process may unlink the file while it is in use here.
  const descriptor = fs.openSync(path, 'r');
  const bytes: SegmentBytes = {
    size,
    read(position, length) {
      const buffer = Buffer.alloc(length);
      const read = fs.readSync(descriptor, buffer, 0, length, position);
      if (read !== length) throw new Error(`${path} is shorter than its header says`);
      return buffer;
    },
  };
  openFiles.register(bytes, descriptor);
  return bytes;
}
