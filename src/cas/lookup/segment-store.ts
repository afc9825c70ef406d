import { createHash } from 'node:crypto';
import { Segment, writeSegment } from './segment.ts';
import type { SegmentBytes, SegmentContent } from './segment.ts';

/** A segment under the name it is stored by. */
export type NamedSegment = { name: string; segment: Segment };

/** Where segments are kept. Segments never change; they come and go as a whole. */
export interface SegmentStore {
  /** What was there when it was last looked at. What others removed since can still be read. */
  known(): readonly NamedSegment[];
  /** What is there now, other processes' segments included. */
  list(): readonly NamedSegment[];
  /** Keeps a segment, known from now on, and gives its name, which follows from its content. */
  add(content: SegmentContent): string;
  /** Removes segments; names that are gone already are passed over. */
  remove(names: Iterable<string>): void;
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
    const pieces: { bytes: Buffer; position: number }[] = [];
    const digest = createHash('sha1');
    writeSegment(content, (bytes, position) => {
      pieces.push({ bytes: Buffer.from(bytes), position });
      digest.update(bytes);
    });
    const whole = Buffer.concat(pieces.toSorted((a, b) => a.position - b.position).map(({ bytes }) => bytes));
    const name = digest.digest('hex');
    const segment = Segment.open(memoryBytes(whole));
    if (segment !== undefined) this.#segments.set(name, segment);
    return name;
  }

  remove(names: Iterable<string>): void {
    for (const name of names) this.#segments.delete(name);
  }
}

/** A segment that is held in memory. */
export function memoryBytes(bytes: Buffer): SegmentBytes {
  return { size: bytes.length, read: (position, length) => bytes.subarray(position, position + length) };
}
