import type { NodeHash } from './node-hash.ts';

/**
 * The meta-schema: the type of every schema node, its own included.
 *
 * Frozen: a test computes it from the schema. Another value would rename every node.
 */
// A constant of the right form, checked by a test against the schema it stands for.
export const META_SCHEMA: NodeHash = 'AGP7SW3XXFFQA' as NodeHash;

/** The type of content nodes, which alone are stored as their raw text. Frozen like {@link META_SCHEMA}. */
// As above.
export const CONTENT_TYPE: NodeHash = 'DZ8EJTNP1ZRV9' as NodeHash;

/** The type of artifact nodes, which alone name git objects that their commit has to keep. Frozen as the others. */
// As above.
export const ARTIFACT_TYPE: NodeHash = '0X2PK3N8YHR0P' as NodeHash;
