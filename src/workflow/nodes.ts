import { isNodeHash, type NodeHash } from '../cas/hash.ts';
import { repositoryNodes } from '../cas/lookup.ts';
import { writeNodeTree } from '../cas/node-tree.ts';
import { type EncodedNode, encodeNode, getNode, type Node, type NodeSource } from '../cas/node.ts';
import { pathName } from '../cas/path-name.ts';
import { UwfError } from '../errors.ts';
import type { ObjectId } from '../git/format/object-id.ts';
import type { Repository } from '../git/repository.ts';
import type { ObjectBatch } from '../git/stores/publish.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../json.ts';
import { builtIn, payloadOf, type TypeName } from '../schema/built-in.ts';
import { CAS_KEY } from '../schema/find-links.ts';
import { checkBuiltIn } from '../schema/validate-against.ts';
import { END, type RoleDefinition, type ThreadLimits, type WorkflowDefinition } from './definition.ts';
import { insideWorkTree, label, MAX_NEEDS, MAX_RETRIES } from './notation/field-schemas.ts';
import { InvalidWorkflow } from './source/source-map.ts';

/** A node is not a workflow, or not the part of one that the reader expects. */
export class NotAWorkflow extends UwfError {
  /** @param hash as it was given; possibly not a hash */
  constructor(hash: string, wanted: TypeName) {
    super(`${hash} is no node of type '${wanted}'`, {
      code: 'not-a-workflow',
      kind: 'data',
      hint: "run 'uwf workflow list' to see the workflows there are",
      facts: { hash },
    });
  }
}

/**
 * Reads a definition back from its nodes; it equals the definition that was stored.
 *
 * Its roles are in the order in which they first appear as `from` of a rule. Its shape is checked, because it may come from a
 * remote; schemas, expressions and targets of rules were checked when it was registered, and are not checked again.
 * @param source where to look: a repository, a thread's nodes, memory
 * @throws {NodeNotFound} if a node of it is not there
 * @throws {NotAWorkflow} if a node is of another type
 * @throws {InvalidWorkflow} if the nodes do not make a definition
 */
export async function loadWorkflow(source: NodeSource | Repository, hash: string): Promise<WorkflowDefinition> {
  const nodes = 'find' in source ? source : repositoryNodes(source);
  const workflow = await read(nodes, hash, 'workflow');
  const roles: StoredRole[] = [];
  const hashes = isJsonObject(workflow.payload['roles']) ? workflow.payload['roles'] : {};
  for (const [name, roleHash] of Object.entries(hashes)) {
    const role = await read(nodes, roleHash, 'role');
    roles.push({ name, role, schema: (await read(nodes, role.payload['schema'], 'role-schema')).payload });
  }
  const blocks: StoredBlock[] = [];
  for (const [name, { schema, ...block }] of Object.entries(storedBlocks(workflow))) {
    const hash = isJsonObject(schema) ? schema[CAS_KEY] : undefined;
    blocks.push([name, { ...block, schema: (await read(nodes, hash, 'role-schema')).payload }]);
  }
  const plain = blocks.length === 0 ? await asStored(workflow, roles) : undefined;
  const definition = plain ?? (await reduced(workflow, roles, blocks));
  return { ...definition, roles: inOrderOfRules(definition) };
}

type Stored = Omit<Node, 'payload'> & { payload: JsonObject };
type StoredBlock = [name: string, block: JsonObject];
type StoredRole = { name: string; role: Stored; schema: JsonObject };

function storedBlocks({ payload }: Stored): Record<string, JsonObject> {
  const blocks = isJsonObject(payload['blocks']) ? Object.entries(payload['blocks']) : [];
  return Object.fromEntries(blocks.map(([name, block]) => [name, isJsonObject(block) ? block : {}]));
}

/** The definition, taken from its nodes as they are; `undefined` if the reader of files has to check and reduce them. */
async function asStored(workflow: Stored, roles: readonly StoredRole[]): Promise<WorkflowDefinition | undefined> {
  if ((await checkBuiltIn('workflow', workflow.payload)).length > 0) return undefined;
  for (const { role } of roles) if ((await checkBuiltIn('role', role.payload)).length > 0) return undefined;
  const { name, description, moderator, limits, isolation } = payloadOf(workflow, 'workflow');
  const definitions = roles.map(({ name: key, role, schema }) => {
    const { name: _name, ...own } = payloadOf(role, 'role');
    return [key, { ...own, schema }] as const;
  });
  const all = {
    name,
    description,
    roles: Object.fromEntries(definitions),
    moderator,
    ...(limits && { limits }),
    ...(isolation && { isolation }),
  };
  return isPlain(all) ? all : undefined;
}

/** Tells whether the reader of files, which refuses more than the schemas do, would return a definition unchanged. */
function isPlain({ roles, moderator, limits }: WorkflowDefinition): boolean {
  const all = Object.values(roles);
  const isBounded = ({ unknownUsage, ...given }: ThreadLimits): boolean =>
    (unknownUsage !== undefined || !isEmpty(given)) &&
    Object.values(given).every((limit) => limit <= Number.MAX_SAFE_INTEGER);
  return (
    !isEmpty(roles) &&
    [limits, ...all.map((role) => role.limits)].every((given) => given === undefined || isBounded(given)) &&
    all.every(
      ({ check, retries = 0, cwd = '.', needs = [] }) =>
        check?.length !== 0 && retries <= MAX_RETRIES && insideWorkTree.test(cwd) && areSorted(needs),
    ) &&
    moderator.every(({ to, prompt, returnCode }) => prompt?.trim() !== '' && (returnCode === undefined || to === END))
  );
}

/** Tells whether labels are valid, in order, and each there once. */
function areSorted(labels: readonly string[]): boolean {
  const isNext = (text: string, at: number): boolean => at === 0 || (labels[at - 1] ?? '') < text;
  return labels.length <= MAX_NEEDS && labels.every((text, at) => label.test(text) && isNext(text, at));
}

function isEmpty(value: object): boolean {
  return Object.keys(value).length === 0;
}

/** The definition as the reader of files returns it. */
async function reduced(
  workflow: Stored,
  roles: readonly StoredRole[],
  blocks: readonly StoredBlock[],
): Promise<WorkflowDefinition> {
  const [{ reduceWorkflow }, { Report }, { checkRolesOfBranches, checkStoredNames }] = await Promise.all([
    import('./notation/reduce-workflow.ts'),
    import('./source/source-map.ts'),
    import('./check/validate-workflow.ts'),
  ]);
  const written = roles.map(({ name, role, schema }): [string, JsonValue] => {
    const { name: _name, ...own } = role.payload;
    return [name, { ...own, schema }];
  });
  const report = new Report();
  const whole = {
    ...workflow.payload,
    roles: Object.fromEntries(written),
    ...(blocks.length > 0 && { blocks: Object.fromEntries(blocks) }),
  };
  const reduction = reduceWorkflow(report, whole);
  const { definition } = reduction;
  if (blocks.length > 0) {
    // A start stores an agent and a definition for each branch.
    checkStoredNames(report, reduction);
    checkRolesOfBranches(report, reduction);
  }
  if (report.hasErrors) throw new InvalidWorkflow(definition.name, report.diagnostics());
  return definition;
}

/** Sorts roles by their first rule, as files mostly have them. In nodes, keys are sorted by their code units. */
function inOrderOfRules({ roles, moderator }: WorkflowDefinition): WorkflowDefinition['roles'] {
  const named = moderator.map(({ from }) => from).filter((name) => Object.hasOwn(roles, name));
  return Object.fromEntries(
    [...named, ...Object.keys(roles)].flatMap((name) => (roles[name] ? [[name, roles[name]]] : [])),
  );
}

async function read(source: NodeSource, hash: JsonValue | undefined, wanted: TypeName): Promise<Stored> {
  if (!isNodeHash(hash)) throw new NotAWorkflow(JSON.stringify(hash) ?? 'nothing', wanted);
  const { type, payload } = await getNode(source, hash);
  if (type !== builtIn[wanted] || !isJsonObject(payload)) throw new NotAWorkflow(hash, wanted);
  return { type, payload };
}

/** A definition as nodes: its own, one per role, one per schema of a role or a block. */
type EncodedWorkflow = {
  hash: NodeHash;
  /** With their paths in the tree `workflow/`. Roles that share a schema each have it under their own name. */
  nodes: { path: string; node: EncodedNode }[];
};

/** Encodes a definition. Equal definitions, in whatever order their keys are, give equal nodes. */
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
    ...(limits && !isEmpty(limits) && { limits }),
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
    // Readers take none for no limits: with them here, its hash would be another one after it is read.
    ...(limits && !isEmpty(limits) && { limits }),
    ...(retries !== undefined && { retries }),
    ...(snapshot && { snapshot }),
    ...(cwd !== undefined && { cwd }),
    ...(isolation && { isolation }),
    ...(labels.length > 0 && { needs: labels }),
  };
}

type WrittenWorkflow = {
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
