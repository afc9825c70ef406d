import { countOf, whyNoJson } from '../cas/node-limits.ts';
import { CorruptObject } from '../git/object-errors.ts';
import type { GitObject, ObjectId } from '../git/object-id.ts';
import type { ObjectStore } from '../git/object-store.ts';
import type { IncomingLimits } from './incoming-limits.ts';

/**
 * A store of objects that somebody else made, as far as they can be looked at safely: nothing is read that is larger than the
 * limits allow, and nothing is handed out that would take a parser's stack or many times its own size.
 *
 * What is refused is a fault of the data (`ObjectTooLarge`, `CorruptObject`). Nothing can be written.
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
    write: () => Promise.reject(new Error('what came from elsewhere is not written to')),
    close: () => objects.close(),
  };
}

function whyNot({ type, data }: GitObject, limits: IncomingLimits): string | undefined {
  if (type === 'commit') {
    if (data.byteLength > limits.maxCommitBytes)
      return `it has more than the ${limits.maxCommitBytes} bytes of a commit`;
    // Each line costs more once it is parsed.
    const parents = countOf(data, '\nparent ', limits.maxParents);
    return parents > limits.maxParents ? `it has more than ${limits.maxParents} parents` : undefined;
  }
  const { maxJsonDepth: maxDepth, maxJsonValues: maxValues } = limits;
  return type === 'blob' ? whyNoJson(data, { maxDepth, maxValues }) : undefined;
}
