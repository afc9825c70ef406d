import type { ObjectId } from '../../git/object-id.ts';

/** The same id as a string of its own: one that was cut out of a commit keeps all of that commit in memory. */
export function alone(id: ObjectId): ObjectId {
  // It is the same id.
  return Buffer.from(id, 'latin1').toString('latin1') as ObjectId;
}
