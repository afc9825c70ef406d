import { parseNodeHash, type NodeHash } from './node-hash.ts';

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
