import type { NodeHash } from '../../cas/hash.ts';
import { encodeNode, type EncodedNode } from '../../cas/node.ts';
import { writeNodeTree } from '../../cas/node-tree.ts';
import { pathName } from '../../cas/path-name.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { ObjectBatch } from '../../git/stores/publish.ts';
import type { JsonObject } from '../../json.ts';
import { builtIn } from '../../schema/built-in.ts';
import { CAS_KEY } from '../../schema/find-links.ts';
import type { RoleDefinition, WorkflowDefinition } from '../definition.ts';

/** A definition as nodes: its own, one per role, one per schema of a role or a block. */
export type EncodedWorkflow = {
  hash: NodeHash;
  /** With their paths in the tree `workflow/`. Roles that share a schema each have it under their own name. */
  nodes: { path: string; node: EncodedNode }[];
};

/**
 * Encodes a definition. Equal definitions, in whatever order their keys are, give equal nodes.
 *
 * @throws {Error} if `prepareHashing` was not awaited before
 * @throws {NotJson} if a schema holds what JSON cannot carry
 */
export function encodeWorkflow(definition: WorkflowDefinition): EncodedWorkflow {
  const nodes: EncodedWorkflow['nodes'] = [];
  const roles: [string, NodeHash][] = [];
  for (const [name, role] of Object.entries(definition.roles)) {
    const schema = encodeNode(builtIn['role-schema'], role.schema);
    const node = encodeNode(builtIn.role, rolePayload(name, role, schema.hash));
    nodes.push(
      { path: `roles/${pathName(name)}.json`, node },
      { path: `schemas/${pathName(name)}.json`, node: schema },
    );
    roles.push([name, node.hash]);
  }
  const blocks: [string, JsonObject][] = [];
  for (const [name, { schema, ...block }] of Object.entries(definition.blocks ?? {})) {
    const node = encodeNode(builtIn['role-schema'], schema);
    nodes.push({ path: `schemas/${pathName(name)}.json`, node });
    blocks.push([name, { ...block, schema: { [CAS_KEY]: node.hash } }]);
  }
  const { limits, isolation } = definition;
  const workflow = encodeNode(builtIn.workflow, {
    name: definition.name,
    description: definition.description,
    roles: Object.fromEntries(roles),
    moderator: definition.moderator,
    ...(blocks.length > 0 && { blocks: Object.fromEntries(blocks) }),
    ...(limits && { limits }),
    ...(isolation && { isolation }),
  });
  nodes.unshift({ path: 'workflow.json', node: workflow });
  return { hash: workflow.hash, nodes };
}

function rolePayload(name: string, role: RoleDefinition, schema: NodeHash): JsonObject {
  const { description, systemPrompt, extractPrompt, check, limits, retries, snapshot, cwd, isolation, needs } = role;
  const labels = [...new Set(needs)].toSorted();
  return {
    name,
    description,
    systemPrompt,
    extractPrompt,
    schema,
    ...(check && { check }),
    ...(limits && { limits }),
    ...(retries !== undefined && { retries }),
    ...(snapshot && { snapshot }),
    ...(cwd !== undefined && { cwd }),
    ...(isolation && { isolation }),
    ...(labels.length > 0 && { needs: labels }),
  };
}

/** A definition in a batch. */
export type WrittenWorkflow = {
  name: string;
  hash: NodeHash;
  tree: ObjectId;
};

/**
 * Adds the tree of a definition to a batch: `workflow.json`, `roles/`, `schemas/` and their `index`.
 *
 * It is the same tree, object id for object id, wherever the same definition is stored: in the registry, in the start of
 * a thread, under `children/`.
 */
export function writeWorkflowTree(batch: ObjectBatch, definition: WorkflowDefinition): WrittenWorkflow {
  const { hash, nodes } = encodeWorkflow(definition);
  return { name: definition.name, hash, tree: writeNodeTree(batch, nodes) };
}
