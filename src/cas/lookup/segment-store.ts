import { createHash } from 'node:crypto';
import { Segment, writeSegment } from './segment.ts';
import type { SegmentBytes, SegmentContent } from './segment.ts';

/** A segment under the name it is stored by. */
export type NamedSegment = { name: string; segment: Segment };

/** Where segments are kept. Segments never change; they come and go as a whole. */
export interface SegmentStore {
  /**
   * What was there when it was last looked at. What others removed since can still be read.
   * @throws {DamagedSegment} if one cannot be read; then as here below nothing can be said of what is known
   */
  known(): readonly NamedSegment[];
  /**
   * What is there now, other processes' segments included.
   * @throws {DamagedSegment}
   */
  list(): readonly NamedSegment[];
  /** Keeps a segment, known from now on, and gives its name, which follows from its content. */
  add(content: SegmentContent): string;
  /** Removes segments; names that are gone already are passed over. */
  remove(names: Iterable<string>): void;
  /** Removes all segments, damaged ones too, and tells whether there were any. */
  clear(): boolean;
}

/** Segments in memory: for repositories without a disk, and for when the disk refuses. */
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
