import type { ObjectBatch } from './object-batch.ts';
import type { ObjectReader } from './read.ts';

/** Reads what is in a batch from memory, and all else from the store that the batch was written to. */
export function readThrough(batch: ObjectBatch, objects: ObjectReader): ObjectReader {
  return {
    read: async (id, options) => batch.find(id) ?? objects.read(id, options),
  };
}
