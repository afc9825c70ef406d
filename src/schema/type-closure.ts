import type { NodeHash } from '../cas/hash.ts';
import { encodeNode } from '../cas/node.ts';
import type { EncodedNode } from '../cas/node.ts';
import { getNode } from '../cas/node-source.ts';
import type { NodeSource } from '../cas/node-source.ts';
import { encodeBuiltIn, typeNameOf } from './built-in.ts';

/**
 * The schema nodes that have to lie beside nodes of some types for these to be readable anywhere: the types, and their
 * own types up to the meta-schema. Each once.
 *
 * @throws {NodeNotFound} if a type is neither built in nor in the source
 */
export async function typeClosure(source: NodeSource, types: Iterable<NodeHash>): Promise<EncodedNode[]> {
  const found = new Map<NodeHash, EncodedNode>();
  const pending = [...types];
  for (let type = pending.pop(); type !== undefined; type = pending.pop()) {
    if (found.has(type)) continue;
    const schema = await encodeType(source, type);
    found.set(type, schema);
    pending.push(schema.type);
  }
  return [...found.values()];
}

async function encodeType(source: NodeSource, type: NodeHash): Promise<EncodedNode> {
  if (typeNameOf(type) !== undefined) return encodeBuiltIn(type);
  const node = await getNode(source, type);
  return encodeNode(node.type, node.payload);
}
