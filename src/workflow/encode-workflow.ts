import type { NodeHash } from '../cas/hash.ts';
import { encodeNode, type EncodedNode } from '../cas/node.ts';
import { pathName } from '../cas/path-name.ts';
import type { JsonObject } from '../json.ts';
import { builtIn, encodeTyped } from '../schema/built-in.ts';
import type { RoleDefinition, WorkflowDefinition } from './definition.ts';

/** A definition as nodes: its own, one per role, one per role's schema. */
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
    const node = encodeTyped('role', rolePayload(name, role, schema.hash));
    nodes.push(
      { path: `roles/${pathName(name)}.json`, node },
      { path: `schemas/${pathName(name)}.json`, node: schema },
    );
    roles.push([name, node.hash]);
  }
  const { limits } = definition;
  const workflow = encodeTyped('workflow', {
    name: definition.name,
    description: definition.description,
    roles: Object.fromEntries(roles),
    moderator: definition.moderator.map((rule) => ({ ...rule })),
    ...(limits && { limits: { ...limits } }),
  });
  nodes.unshift({ path: 'workflow.json', node: workflow });
  return { hash: workflow.hash, nodes };
}

function rolePayload(name: string, role: RoleDefinition, schema: NodeHash): JsonObject {
  const { description, systemPrompt, extractPrompt, check, limits, retries, snapshot, cwd } = role;
  return {
    name,
    description,
    systemPrompt,
    extractPrompt,
    schema,
    ...(check && { check: check.map((item) => ({ ...item })) }),
    ...(limits && { limits: { ...limits } }),
    ...(retries !== undefined && { retries }),
    ...(snapshot && { snapshot }),
    ...(cwd !== undefined && { cwd }),
  };
}
