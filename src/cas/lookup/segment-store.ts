import { createHash } from 'node:crypto';
import { Segment, writeSegment } from './segment.ts';
import type { SegmentBytes, SegmentContent } from './segment.ts';

/** A segment under the name it is stored by. */
export type NamedSegment = { name: string; segment: Segment };

/** Where segments are kept. Segments never change; they come and go as a whole. */
export interface SegmentStore {
  /**
   * The segments of the last listing. Those that other processes have removed since can still be read.
   * @throws {DamagedSegment} if one cannot be read; then none of the segments can be relied on
   */
  known(): readonly NamedSegment[];
  /**
   * The segments that exist now, those of other processes included.
   * @throws {DamagedSegment} as `known`
   */
  list(): readonly NamedSegment[];
  /** Adds a segment, also to those that `known` returns. @returns its name, derived from its content */
  add(content: SegmentContent): string;
  /** Removes segments; names that do not exist are ignored. */
  remove(names: Iterable<string>): void;
  /** Removes all segments, damaged ones too, and tells whether there were any. */
  clear(): boolean;
}

/** Segments in memory: for repositories without a disk, and if the disk cannot be written. */
export class MemorySegments implements SegmentStore {
  readonly #segments = new Map<string, Segment>();

  known(): readonly NamedSegment[] {
    return this.list();
  }

  list(): readonly NamedSegment[] {
    return [...this.#segments].map(([name, segment]) => ({ name, segment }));
  }

  add(content: SegmentContent): string {
    const pieces: Buffer[] = [];
    writeSegment(content, (bytes) => pieces.push(Buffer.from(bytes)));
    const whole = Buffer.concat(pieces);
    const name = createHash('sha1').update(whole).digest('hex');
    this.#segments.set(name, Segment.open(memoryBytes(whole)));
    return name;
  }

  remove(names: Iterable<string>): void {
    for (const name of names) this.#segments.delete(name);
  }

  clear(): boolean {
    const { size } = this.#segments;
    this.#segments.clear();
    return size > 0;
  }
}

/** A segment that is held in memory. */
export function memoryBytes(bytes: Buffer): SegmentBytes {
  return { size: bytes.length, read: (position, length) => bytes.subarray(position, position + length) };
}
