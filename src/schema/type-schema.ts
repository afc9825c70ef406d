import type { NodeHash } from '../cas/hash.ts';
import { isNodeHash } from '../cas/hash.ts';
import { getNode } from '../cas/node-source.ts';
import type { NodeSource } from '../cas/node-source.ts';
import { isJsonObject } from '../json.ts';
import type { JsonValue } from '../json.ts';
import { builtIn, builtInSchema, typeNameOf } from './built-in.ts';
import { InvalidSchema } from './json-schema/invalid-schema.ts';
import { CAS_KEY } from './links/find-links.ts';

// A hash always names the same node, so a schema that a source returned once can be cached as long as the source.
const roleSchemas = new WeakMap<NodeSource, Map<string, JsonValue | undefined>>();

/**
 * The schema of a type: built in, or found as a node.
 *
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
 *
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
