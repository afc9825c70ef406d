import { randomBytes } from 'node:crypto';
import type { ObjectFormat } from '../../format/object-id.ts';

/** The first digits of the names of uwf's packs: `uwf` in ASCII and a NUL. */
const mark = '75776600';

/**
 * Makes a unique name for a pack, without an ending, that shows that uwf made it.
 *
 * git names packs by a hash of their content, of which one in four billion begins with the mark. Readers of packs do not
 * check the digits.
 */
export function newPackName(format: ObjectFormat): string {
  const digits = format === 'sha1' ? 40 : 64;
  return `pack-${mark}${randomBytes((digits - mark.length) / 2).toString('hex')}`;
}

/** Tells by its name whether uwf made a pack. */
export function isOwnPack(name: string): boolean {
  return name.startsWith(`pack-${mark}`);
}
