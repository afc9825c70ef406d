import type { NodeHash } from '../../cas/hash.ts';
import { NodeNotFound, type NodeSource, type StoredNode } from '../../cas/node-source.ts';
import { alone } from '../../git/format/object-id.ts';
import { linksOf } from '../../schema/links/refs.ts';
import { findErrors } from '../../schema/validate.ts';
import { attempt, type ReportFault } from '../fault.ts';

/**
 * Checks every node of a commit: its type exists, it matches the type's schema, and its links lead to nodes of the right
 * type. Links lead to older commits or into the same tree, so a cycle of links, which needs forged hashes, is within a tree.
 *
 * @param sound sound nodes without links, by hash and blob: they need no second check. The check adds to it
 * @returns all hashes that the nodes link to
 */
export async function checkNodes(
  nodes: ReadonlyMap<string, StoredNode>,
  known: NodeSource,
  sound: Set<string>,
  report: ReportFault,
): Promise<Set<NodeHash>> {
  const linked = new Set<NodeHash>();
  const within = new Map<NodeHash, { path: string; links: NodeHash[] }>();
  for (const [path, node] of nodes) {
    // With forged hashes, two different nodes can have one hash.
    const key = `${node.hash} ${node.oid}`;
    await attempt(report, path, async () => {
      if ((await known.find(node.type)) === undefined) throw new NodeNotFound(node.type);
      if (sound.has(key)) return;
      const { errors, links: found } = await findErrors(known, node);
      for (const { path: at, message } of errors) report(path, `${at} ${message}`.trim());
      const links = [...new Set((found ?? (await linksOf(known, node))).map(({ hash }) => hash))];
      for (const hash of links) linked.add(hash);
      within.set(node.hash, { path, links });
      if (errors.length === 0 && links.length === 0) sound.add(alone(key));
    });
  }
  const inCycle = findCycle(within);
  if (inCycle !== undefined)
    report(within.get(inCycle)?.path ?? null, `what node ${inCycle} links to leads back to it`);
  return linked;
}

/** Finds a node on a cycle of links: removes nodes without remaining links until none is left but cycles. */
function findCycle(nodes: ReadonlyMap<NodeHash, { path: string; links: readonly NodeHash[] }>): NodeHash | undefined {
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
  // Every remaining node leads to a cycle: following remaining links ends on it. Begins with the first path, because the
  // order of the nodes is that of their hashes, and two threads with the same cycle have to get the same finding.
  const pathOf = (hash: NodeHash): string => nodes.get(hash)?.path ?? '';
  let [at] = [...open.keys()].toSorted((a, b) => (pathOf(a) < pathOf(b) ? -1 : 1));
  for (let step = 0; at !== undefined && step < open.size; step++) {
    at = nodes.get(at)?.links.find((link) => open.has(link));
  }
  return at;
}
