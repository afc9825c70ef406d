import type { NodeHash } from '../../cas/hash.ts';
import { NodeNotFound, type NodeSource, type StoredNode } from '../../cas/node-source.ts';
import { refs } from '../../schema/refs.ts';
import { validate } from '../../schema/validate.ts';
import { attempt, type Report } from './finding.ts';

/**
 * Checks every node of a commit: that its type is there, that it matches its type's schema, and that all it links to is
 * there and of the right type. What a commit may link to is older or lies in its own tree, so that a circle of links, which
 * only forged hashes make possible, is one within a tree.
 *
 * @param sound nodes, by hash and blob, that were found to be right and that link to nothing: they are right wherever their
 *   type is. Added to
 * @returns all that the nodes link to
 */
export async function checkNodes(
  nodes: ReadonlyMap<string, StoredNode>,
  known: NodeSource,
  sound: Set<string>,
  report: Report,
): Promise<Set<NodeHash>> {
  const linked = new Set<NodeHash>();
  const within = new Map<NodeHash, { path: string; links: NodeHash[] }>();
  for (const [path, node] of nodes) {
    // Of a forged hash there is another node, which is as sound as it is by itself.
    const key = `${node.hash} ${node.oid}`;
    await attempt(report, path, async () => {
      if ((await known.find(node.type)) === undefined) throw new NodeNotFound(node.type);
      if (sound.has(key)) return;
      const { errors } = await validate(known, node);
      for (const { path: at, message } of errors) report(path, `${at} ${message}`.trim());
      const links = await refs(known, node);
      for (const hash of links) linked.add(hash);
      within.set(node.hash, { path, links });
      if (errors.length === 0 && links.length === 0) sound.add(key);
    });
  }
  const inCircle = findCircle(within);
  if (inCircle !== undefined)
    report(within.get(inCircle)?.path ?? null, `what node ${inCircle} links to leads back to it`);
  return linked;
}

/** Finds a node that its own links lead back to: what is left when all that links to nothing left is taken away. */
function findCircle(nodes: ReadonlyMap<NodeHash, { links: readonly NodeHash[] }>): NodeHash | undefined {
  const linkers = new Map<NodeHash, NodeHash[]>();
  const open = new Map<NodeHash, number>();
  for (const [hash, { links }] of nodes) {
    const inner = links.filter((link) => nodes.has(link));
    open.set(hash, inner.length);
    for (const link of inner) {
      const known = linkers.get(link) ?? [];
      linkers.set(link, known);
      known.push(hash);
    }
  }
  const done = [...open].filter(([, count]) => count === 0).map(([hash]) => hash);
  for (let hash = done.pop(); hash !== undefined; hash = done.pop()) {
    open.delete(hash);
    for (const linker of linkers.get(hash) ?? []) {
      const left = (open.get(linker) ?? 0) - 1;
      open.set(linker, left);
      if (left === 0) done.push(linker);
    }
  }
  // What is left links to a circle or lies on one; going on along links that are left ends up on it.
  let [at] = open.keys();
  for (let step = 0; at !== undefined && step < open.size; step++) {
    at = nodes.get(at)?.links.find((link) => open.has(link));
  }
  return at;
}
