import { UwfError } from '../errors.ts';

/** The address of a node: 13 characters of Crockford Base32 that carry 64 bits. Made only by this folder. */
export type NodeHash = string & { readonly __brand: 'NodeHash' };

export class InvalidNodeHash extends UwfError {
  constructor(text: string) {
    super(`'${text}' is not a node hash`, {
      code: 'invalid-node-hash',
      kind: 'usage',
      hint: 'a node hash has 13 characters out of 0-9 and A-Z without I, L, O and U, the first at most F',
      facts: { text },
    });
  }
}

// 13 characters hold 65 bits, a hash has 64: the first character is at most F.
const form = /^[0-9A-F][0-9A-HJKMNP-TV-Z]{12}$/;

/** Tells whether a value has the form of a node hash, exactly as hashes are stored (upper case). */
export function isNodeHash(value: unknown): value is NodeHash {
  return typeof value === 'string' && value.length === 13 && form.test(value);
}

/** @throws {InvalidNodeHash} if `text` has not the form of a node hash */
export function parseNodeHash(text: string): NodeHash {
  if (!isNodeHash(text)) throw new InvalidNodeHash(text);
  return text;
}

/**
 * The meta-schema: the type of every schema node, its own included.
 *
 * Frozen: a test computes it from the schema. Another value would rename every node.
 */
export const META_SCHEMA: NodeHash = parseNodeHash('AGP7SW3XXFFQA');

/** The type of content nodes, which alone are stored as their raw text. Frozen like {@link META_SCHEMA}. */
export const CONTENT_TYPE: NodeHash = parseNodeHash('DZ8EJTNP1ZRV9');

/** The type of artifact nodes, which alone name git objects that their commit has to keep. Frozen as the others. */
export const ARTIFACT_TYPE: NodeHash = parseNodeHash('8GFYF12DY6ZEZ');
