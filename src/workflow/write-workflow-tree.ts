import type { NodeHash } from '../cas/hash.ts';
import { writeNodeTree } from '../cas/node-tree.ts';
import type { ObjectBatch } from '../git/object-batch.ts';
import type { ObjectId } from '../git/object-id.ts';
import type { WorkflowDefinition } from './definition.ts';
import { encodeWorkflow } from './encode-workflow.ts';

/** A definition in a batch. */
export type WrittenWorkflow = {
  name: string;
  hash: NodeHash;
  tree: ObjectId;
  /** The types of its nodes; see docs/format.md, "Successors". */
  types: readonly NodeHash[];
};

/**
 * Adds the tree of a definition to a batch: `workflow.json`, `roles/`, `schemas/` and their `index`.
 *
 * It is the same tree, object id for object id, wherever the same definition is stored: in the registry, in the start of
 * a thread, under `children/`.
 */
export function writeWorkflowTree(batch: ObjectBatch, definition: WorkflowDefinition): WrittenWorkflow {
  const { hash, nodes } = encodeWorkflow(definition);
  const types = nodes.map(({ node }) => node.type);
  return { name: definition.name, hash, tree: writeNodeTree(batch, nodes), types };
}
