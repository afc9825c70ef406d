import { randomBytes } from 'node:crypto';
import type { ObjectFormat } from '../object-id.ts';

/** What the digits of uwf's packs begin with: `uwf` in ASCII and a NUL. */
const mark = '75776600';

/**
 * Makes a name for a pack, without an ending, that no other pack has and that says that uwf made it.
 *
 * git names its packs by a hash of their content, and one in four billion of those begins with the mark. Every reader takes
 * the digits as they are.
 */
export function newPackName(format: ObjectFormat): string {
  const digits = format === 'sha1' ? 40 : 64;
  return `pack-${mark}${randomBytes((digits - mark.length) / 2).toString('hex')}`;
}

/** Tells by its name whether uwf made a pack. */
export function isOwnPack(name: string): boolean {
  return name.startsWith(`pack-${mark}`);
}
