import { isNodeHash, type NodeHash } from '../cas/hash.ts';
import { repositoryNodes } from '../cas/lookup.ts';
import { getNode, type Node, NodeNotFound, type NodeSource, type StoredNode } from '../cas/node.ts';
import { UwfError } from '../errors.ts';
import type { Repository } from '../git/repository.ts';
import { isJsonObject, type JsonValue } from '../json.ts';
import { builtIn, builtInSchema, type TypeName, typeNameOf } from './built-in.ts';
import { CAS_KEY, findLinks, type Link } from './find-links.ts';
import { InvalidSchema } from './schema-error.ts';

/** Where nodes are looked up: a source of nodes, or a whole repository. */
export type NodesOf = NodeSource | Repository;

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

// A hash always names the same node, so a schema that a source returned once can be cached as long as the source.
const roleSchemas = new WeakMap<NodeSource, Map<string, JsonValue | undefined>>();

/**
 * The schema of a type: built in, or found as a node.
 * @throws {NodeNotFound} if the type is neither
 * @throws {InvalidSchema} if the node of that hash is no schema
 */
export async function schemaOfType(source: NodeSource, type: NodeHash): Promise<JsonValue> {
  const name = typeNameOf(type);
  if (name !== undefined) return builtInSchema(name);
  const node = await getNode(source, type);
  const isSchema = node.type === builtIn['meta-schema'] || node.type === builtIn['role-schema'];
  if (!isSchema) throw new InvalidSchema([{ path: '', message: `node ${type} is used as a type, but is no schema` }]);
  return node.payload;
}

/**
 * The schema of a step's meta: that of its role, or block, in the workflow of its thread; `undefined` if the workflow has
 * neither.
 * @throws {NodeNotFound} if the start, the workflow, the role or its schema is not in the source
 */
export async function schemaOfMeta(source: NodeSource, step: JsonValue): Promise<JsonValue | undefined> {
  const start = member(step, 'start');
  const role = member(step, 'role');
  if (!isNodeHash(start) || typeof role !== 'string') return undefined;
  const known = roleSchemas.get(source) ?? new Map<string, JsonValue | undefined>();
  roleSchemas.set(source, known);
  const key = `${start} ${role}`;
  if (!known.has(key)) known.set(key, await findRoleSchema(source, start, role));
  return known.get(key);
}

async function findRoleSchema(source: NodeSource, start: NodeHash, role: string): Promise<JsonValue | undefined> {
  const workflow = await follow(source, (await getNode(source, start)).payload, 'workflow');
  const roles = member(workflow, 'roles');
  const definition = await follow(source, roles, role);
  if (definition !== undefined) return follow(source, definition, 'schema');
  const block = member(member(workflow, 'blocks'), role);
  return follow(source, member(block, 'schema'), CAS_KEY);
}

async function follow(source: NodeSource, payload: JsonValue | undefined, key: string): Promise<JsonValue | undefined> {
  const hash = member(payload, key);
  return isNodeHash(hash) ? (await getNode(source, hash)).payload : undefined;
}

function member(value: JsonValue | undefined, key: string): JsonValue | undefined {
  return isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

/** A node links to a node that does not exist where it would have to. */
export class DanglingLink extends UwfError {
  /** Where the link stands in the payload, as a JSON pointer. */
  readonly path: string;
  constructor(hash: NodeHash, path: string) {
    super(`the link at ${path || 'the top'} leads nowhere: there is no node ${hash}`, {
      code: 'dangling-link',
      kind: 'data',
      hint: "put the node first ('uwf cas put'), or check the hash",
      facts: { hash },
    });
    this.path = path;
  }
}

/** A node links to a node of a type that is not allowed there. */
export class WrongLinkType extends UwfError {
  /** As in {@link DanglingLink}. */
  readonly path: string;
  /**
   * @param actual the type of the node that is linked to
   * @param expected the types allowed: names of built-in ones, or hashes
   */
  constructor({ hash, path }: Link, actual: NodeHash, expected: readonly string[]) {
    const is = typeNameOf(actual) ?? `a node of type ${actual}`;
    super(`the link at ${path || 'the top'} has to lead to ${expected.join(' or ')}, but ${hash} is ${is}`, {
      code: 'wrong-link-type',
      kind: 'data',
      facts: { hash, actual, expected },
    });
    this.path = path;
  }
}

/**
 * Checks that everything a node links to exists and is of the type its schema asks for.
 * @returns what is wrong, in the order of the links; an empty list means nothing
 */
export async function checkLinks(
  source: NodeSource,
  links: readonly Link[],
): Promise<(DanglingLink | WrongLinkType)[]> {
  const problems: (DanglingLink | WrongLinkType)[] = [];
  for (const link of links) {
    const type = (await source.find(link.hash))?.type;
    if (type === undefined) problems.push(new DanglingLink(link.hash, link.path));
    // The name of a built-in type, or the hash of a registered one.
    else if (link.types?.every((allowed) => allowed !== type && allowed !== typeNameOf(type))) {
      problems.push(new WrongLinkType(link, type, link.types));
    }
  }
  return problems;
}

/** As {@link checkLinks}, for callers that do not go on: throws the first of what is wrong. */
export async function assertLinks(source: NodeSource, links: readonly Link[]): Promise<void> {
  const [problem] = await checkLinks(source, links);
  if (problem !== undefined) throw problem;
}

export type WalkedNode = StoredNode & {
  /** The name of a built-in type; `undefined` for another type. */
  typeName: TypeName | undefined;
};

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

/** The hashes of all nodes that some roots link to, directly or through others, with the roots themselves. */
export async function findReachableHashes(nodes: NodesOf, roots: readonly NodeHash[]): Promise<Set<NodeHash>> {
  const hashes = new Set<NodeHash>();
  for await (const { hash } of walk(nodes, roots)) hashes.add(hash);
  return hashes;
}
