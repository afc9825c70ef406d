import type { NodeHash } from '../../cas/hash.ts';
import { NodeNotFound, type NodeSource, type StoredNode } from '../../cas/node-source.ts';
import { refs } from '../../schema/refs.ts';
import { validate } from '../../schema/validate.ts';
import { attempt, type Report } from './finding.ts';

/**
 * Checks every node of a commit: that its type is there, that it matches its type's schema, and that all it links to is
 * there and of the right type.
 *
 * @param sound nodes that were found to be right and that link to nothing: they are right wherever they lie. Added to
 * @returns all that the nodes link to
 */
export async function checkNodes(
  nodes: ReadonlyMap<string, StoredNode>,
  known: NodeSource,
  sound: Set<NodeHash>,
  report: Report,
): Promise<Set<NodeHash>> {
  const linked = new Set<NodeHash>();
  for (const [path, node] of nodes) {
    if (sound.has(node.hash)) continue;
    await attempt(report, path, async () => {
      if ((await known.find(node.type)) === undefined) throw new NodeNotFound(node.type);
      const { errors } = await validate(known, node);
      for (const { path: at, message } of errors) report(path, `${at} ${message}`.trim());
      const links = await refs(known, node);
      for (const hash of links) linked.add(hash);
      if (errors.length === 0 && links.length === 0) sound.add(node.hash);
    });
  }
  return linked;
}
