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
  return type === 'blob' && data[0] === BRACE ? whyNoJson(data, limits) : undefined;
}

function countOf(data: Uint8Array, text: string, most: number): number {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  let count = 0;
  for (let at = bytes.indexOf(text); at !== -1 && count <= most; at = bytes.indexOf(text, at + 1)) count += 1;
  return count;
}

const [BRACE, END_BRACE, BRACKET, END_BRACKET, COMMA, QUOTE, BACKSLASH] = [...Buffer.from('{}[],"\\')];

/** Says why a text that may be JSON is not given to a parser: how deep it goes, or how many values it has. */
function whyNoJson(data: Uint8Array, { maxJsonDepth, maxJsonValues }: IncomingLimits): string | undefined {
  // Each level and each value takes a byte, and most nodes open fewer lists and maps than may lie one in the other.
  const opened = countOf(data, '{', maxJsonDepth) + countOf(data, '[', maxJsonDepth);
  if (data.byteLength <= maxJsonValues && opened <= maxJsonDepth) return undefined;
  let depth = 0;
  let values = 0;
  let isText = false;
  for (let at = 0; at < data.byteLength; at++) {
    const byte = data[at];
    if (isText) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) isText = false;
    } else if (byte === QUOTE) isText = true;
    else if (byte === COMMA) values += 1;
    else if (byte === BRACE || byte === BRACKET) {
      depth += 1;
      values += 1;
    } else if (byte === END_BRACE || byte === END_BRACKET) depth -= 1;
    if (depth > maxJsonDepth) return `it is nested more than ${maxJsonDepth} deep`;
    if (values > maxJsonValues) return `it has more than ${maxJsonValues} values`;
  }
  return undefined;
}
