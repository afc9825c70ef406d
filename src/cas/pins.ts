import { isObjectId, type ObjectId } from '../git/format/object-id.ts';
import { isJsonObject } from '../json.ts';
import { ARTIFACT_TYPE } from './frozen-types.ts';
import type { Node } from './node.ts';
import type { Subtree } from './node-tree.ts';

/** A git object that an artifact node names. A commit with that node has to keep the object reachable. */
export type Pin = { kind: 'commit' | 'tree' | 'blob'; oid: ObjectId };

/** The folder of a commit's tree that keeps pinned trees and blobs, each under its object id. */
export const PINNED_FOLDER = 'pinned';

/** What a node pins; `undefined` for a node that is no artifact. */
export function pinOf({ type, payload }: Node): Pin | undefined {
  if (type !== ARTIFACT_TYPE || !isJsonObject(payload)) return undefined;
  const { kind, oid } = payload;
  const isPin = (kind === 'commit' || kind === 'tree' || kind === 'blob') && typeof oid === 'string';
  return isPin && isObjectId(oid) ? { kind, oid } : undefined;
}

/** How a commit keeps pinned objects: commits as further parents, trees and blobs as entries of its tree. */
export type PinKeepers = { parents: ObjectId[]; entries: Subtree[] };

/** How a tree keeps a pinned tree or blob. */
export function pinnedAt(id: ObjectId, kind: 'tree' | 'blob'): Subtree {
  return { path: `${PINNED_FOLDER}/${id}`, mode: kind === 'tree' ? '040000' : '100644', id };
}

/**
 * Returns the parents and the tree entries that keep the objects pinned by some nodes, each object once.
 * @param kept for objects that other nodes of the same commit pin
 */
export function keepersOf(nodes: Iterable<Node>, kept: PinKeepers = { parents: [], entries: [] }): PinKeepers {
  const parents = new Set(kept.parents);
  const entries = new Map(kept.entries.map((entry) => [entry.id, entry]));
  for (const node of nodes) {
    const pin = pinOf(node);
    if (pin?.kind === 'commit') parents.add(pin.oid);
    else if (pin) entries.set(pin.oid, pinnedAt(pin.oid, pin.kind));
  }
  return { parents: [...parents], entries: [...entries.values()] };
}
