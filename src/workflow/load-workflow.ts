import { repositoryNodes } from '../cas/lookup/repository-nodes.ts';
import { isNodeHash } from '../cas/hash.ts';
import { getNode, type NodeSource } from '../cas/node-source.ts';
import { UwfError } from '../errors.ts';
import type { Repository } from '../git/repository.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../json.ts';
import { hasAny } from '../schema/built-in/schema-parts.ts';
import { isOfType, isSuccessor, type TypeName } from '../schema/built-in.ts';
import type { WorkflowDefinition } from './definition.ts';
import { InvalidWorkflow } from './diagnostic.ts';
import { reduceWorkflow } from './notation/reduce-workflow.ts';
import { Report } from './report.ts';

/** A node that was to be a workflow's, or a part of one, is something else. */
export class NotAWorkflow extends UwfError {
  /** What was asked for; possibly no hash at all. */
  readonly hash: string;
  constructor(hash: string, wanted: TypeName) {
    super(`${hash} is no node of type '${wanted}'`, {
      code: 'not-a-workflow',
      kind: 'data',
      hint: "run 'uwf workflow list' to see the workflows there are",
    });
    this.hash = hash;
  }
}

/** A definition sets fields that this version of uwf stores and verifies, and does not follow yet. */
export class NewerWorkflow extends UwfError {
  readonly hash: string;
  constructor(hash: string, wanted: TypeName) {
    super(`${wanted} ${hash} needs a newer version of uwf: it sets fields that this version does not follow`, {
      code: 'newer-format',
      kind: 'data',
      hint: 'update uwf: a newer version wrote this workflow',
    });
    this.hash = hash;
  }
}

/**
 * Reads a definition back from its nodes; it equals the one that was stored.
 *
 * Its roles are in the order in which its rules lead on from them. Its shape is checked, for it may have come over the wire; what was checked when it was registered (schemas,
 * expressions, where rules lead) is not checked again.
 * @param source where to look: a repository, a thread's nodes, memory
 * @throws {NodeNotFound} if a node of it is not there
 * @throws {NotAWorkflow} if a node is of another type
 * @throws {NewerWorkflow} if it needs a newer version of uwf
 * @throws {InvalidWorkflow} if the nodes do not make a definition
 */
export async function loadWorkflow(source: NodeSource | Repository, hash: string): Promise<WorkflowDefinition> {
  const nodes = 'find' in source ? source : repositoryNodes(source);
  const workflow = await read(nodes, hash, 'workflow');
  const roles: [string, JsonValue][] = [];
  for (const [name, roleHash] of Object.entries(isJsonObject(workflow['roles']) ? workflow['roles'] : {})) {
    const { name: _name, ...role } = await read(nodes, roleHash, 'role');
    const schema = await read(nodes, role['schema'], 'role-schema');
    roles.push([name, { ...role, schema }]);
  }
  const report = new Report();
  const { definition } = reduceWorkflow(report, { ...workflow, roles: Object.fromEntries(roles) });
  if (report.hasErrors) throw new InvalidWorkflow(definition.name, report.diagnostics());
  return { ...definition, roles: inOrderOfRules(definition) };
}

/** A node keeps its keys in the order of their letters; a file has its roles as its rules lead on from them. */
function inOrderOfRules({ roles, moderator }: WorkflowDefinition): WorkflowDefinition['roles'] {
  const named = moderator.map(({ from }) => from).filter((name) => Object.hasOwn(roles, name));
  return Object.fromEntries(
    [...named, ...Object.keys(roles)].flatMap((name) => (roles[name] ? [[name, roles[name]]] : [])),
  );
}

async function read(source: NodeSource, hash: JsonValue | undefined, wanted: TypeName): Promise<JsonObject> {
  if (!isNodeHash(hash)) throw new NotAWorkflow(JSON.stringify(hash) ?? 'nothing', wanted);
  const { type, payload } = await getNode(source, hash);
  if (!isOfType(type, wanted) || !isJsonObject(payload)) throw new NotAWorkflow(hash, wanted);
  // Of what successors add, only a rule's `on` is followed.
  const isNewer = wanted === 'workflow' ? hasAny(payload, ['blocks', 'isolation']) : isSuccessor(type);
  if (isNewer) throw new NewerWorkflow(hash, wanted);
  return payload;
}
