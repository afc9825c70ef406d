import type { NodeHash } from '../../cas/hash.ts';
import { repositoryNodes } from '../../cas/lookup/repository-nodes.ts';
import type { Node } from '../../cas/node.ts';
import { getNode } from '../../cas/node-source.ts';
import type { NodeSource } from '../../cas/node-source.ts';
import type { Repository } from '../../git/repository.ts';
import { builtIn } from '../built-in.ts';
import { findLinks } from './find-links.ts';
import type { Link } from './find-links.ts';
import { schemaOfMeta, schemaOfType } from '../type-schema.ts';

/** Where nodes are looked up: a source of nodes, or a whole repository. */
export type NodesOf = NodeSource | Repository;

/** The source that is meant: the one given, or all nodes of the repository given. */
export function sourceOf(nodes: NodesOf): NodeSource {
  return 'find' in nodes ? nodes : repositoryNodes(nodes);
}

/**
 * The hashes a node links to: in the order in which they stand in its payload, each once.
 *
 * These are the links of the payload, by `cas_ref` and by `$cas`, a step's meta being read under the schema of its role;
 * the node's type is not among them.
 * @throws {NodeNotFound} if the node, its type, or what leads to the schema of its meta is not there
 */
export async function refs(nodes: NodesOf, node: NodeHash | Node): Promise<NodeHash[]> {
  const source = sourceOf(nodes);
  const links = await linksOf(source, typeof node === 'string' ? await getNode(source, node) : node);
  return [...new Set(links.map(({ hash }) => hash))];
}

/** The links of a node with their places and the types they ask for, as {@link refs} finds them. */
export async function linksOf(source: NodeSource, node: Node): Promise<Link[]> {
  const schema = await schemaOfType(source, node.type);
  const metaSchema = node.type === builtIn['thread-step'] ? await schemaOfMeta(source, node.payload) : undefined;
  return findLinks(schema, node.payload, metaSchema);
}
