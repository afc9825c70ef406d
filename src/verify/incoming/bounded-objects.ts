import { countOf, whyNoJson } from '../../cas/node-limits.ts';
import { CorruptObject } from '../../git/format/object-errors.ts';
import type { GitObject, ObjectId } from '../../git/format/object-id.ts';
import type { ObjectStore } from '../../git/object-store.ts';
import type { IncomingLimits } from './incoming-limits.ts';

/**
 * A read-only view of objects from a remote, within limits. An object that is too large is not read. An object whose parsing
 * would overflow the stack, or take many times its size in memory, is refused.
 *
 * A refused object is a fault of the data (`ObjectTooLarge`, `CorruptObject`).
 */
export function boundedObjects(objects: ObjectStore, limits: IncomingLimits): ObjectStore {
  return {
    format: objects.format,
    async read(id, options) {
      const maxBytes = Math.min(options?.maxBytes ?? Infinity, limits.maxObjectBytes);
      const object = await objects.read(id, { maxBytes });
      const reason = object && whyNot(object, limits);
      if (reason !== undefined) throw new CorruptObject(id, reason);
      return object;
    },
    has: (id: ObjectId) => objects.has(id),
    write: () => Promise.reject(new Error('fetched objects are read only')),
    close: () => objects.close(),
  };
}

function whyNot({ type, data }: GitObject, limits: IncomingLimits): string | undefined {
  if (type === 'commit') {
    if (data.byteLength > limits.maxCommitBytes)
      return `it has more than the ${limits.maxCommitBytes} bytes of a commit`;
    // A parsed parent takes more memory than its line.
    const parents = countOf(data, '\nparent ', limits.maxParents);
    return parents > limits.maxParents ? `it has more than ${limits.maxParents} parents` : undefined;
  }
  const { maxJsonDepth: maxDepth, maxJsonValues: maxValues } = limits;
  return type === 'blob' ? whyNoJson(data, { maxDepth, maxValues }) : undefined;
}
