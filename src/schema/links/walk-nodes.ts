import type { NodeHash } from '../../cas/hash.ts';
import { NodeNotFound } from '../../cas/node-source.ts';
import type { NodeSource, StoredNode } from '../../cas/node-source.ts';
import { typeNameOf } from '../built-in.ts';
import type { TypeName } from '../built-in.ts';
import { linksOf, sourceOf } from './refs.ts';
import type { NodesOf } from './refs.ts';

/** A node that a walk came to. */
export type WalkedNode = StoredNode & {
  /** The name of a built-in type; `undefined` for another type. */
  typeName: TypeName | undefined;
};

/** How a walk goes. */
export type WalkOptions = {
  /** Nodes whose links are not followed. The walk returns these nodes, too. */
  isBoundary?: (node: StoredNode) => boolean | Promise<boolean>;
};

/**
 * Walks over all nodes that some roots link to, the roots first: each node once, depth first, links in the order in which
 * they stand in the payload.
 *
 * Links point backwards, and no step links to a suspension: the roots of a whole thread are the nodes of all its commits.
 * Types are not links and are not walked to. Needs memory for the hashes on the way, not for the nodes.
 * @throws {NodeNotFound} if a root, a link or a type leads nowhere
 */
export async function* walk(
  nodes: NodesOf,
  roots: NodeHash | readonly NodeHash[],
  options: WalkOptions = {},
): AsyncGenerator<WalkedNode> {
  const source: NodeSource = sourceOf(nodes);
  const seen = new Set<NodeHash>();
  const pending = (typeof roots === 'string' ? [roots] : [...roots]).toReversed();
  for (let hash = pending.pop(); hash !== undefined; hash = pending.pop()) {
    if (seen.has(hash)) continue;
    seen.add(hash);
    const node = await source.find(hash);
    if (node === undefined) throw new NodeNotFound(hash);
    const typeName = typeNameOf(node.type);
    yield { hash, oid: node.oid, type: node.type, payload: node.payload, typeName };
    if (options.isBoundary !== undefined && (await options.isBoundary(node))) continue;
    const links = await linksOf(source, node);
    for (const link of links.toReversed()) pending.push(link.hash);
  }
}

/**
 * The hashes of all nodes that some roots link to, directly or through others, with the roots themselves.
 *
 * @throws {NodeNotFound} as {@link walk} does
 */
export async function findReachableHashes(nodes: NodesOf, roots: readonly NodeHash[]): Promise<Set<NodeHash>> {
  const hashes = new Set<NodeHash>();
  for await (const { hash } of walk(nodes, roots)) hashes.add(hash);
  return hashes;
}
