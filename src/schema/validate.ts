import type { NodeHash } from '../cas/hash.ts';
import { getNode, MemorySource, type Node, type NodeSource } from '../cas/node.ts';
import { isJsonObject } from '../json.ts';
import type { JsonValue } from '../json.ts';
import { assertSchema, checkBuiltIn, validateAgainst } from './validate-against.ts';
import { builtIn, typeNameOf } from './built-in.ts';
import { checkLinks, linksOf, type NodesOf, schemaOfMeta, schemaOfType, sourceOf } from './links.ts';
import type { Link } from './find-links.ts';
import { InvalidSchema, type SchemaError, SchemaViolation } from './schema-error.ts';

export type Validation = {
  valid: boolean;
  errors: SchemaError[];
};

/**
 * Checks a node as it is checked before it is stored: against the schema of its type, a step's meta against that of its
 * role, that everything it links to exists and is of the right type, and that replies can be checked against a role's schema.
 *
 * @throws {NodeNotFound} if the node, its type, or what leads to the schema of its meta is not there
 */
export async function validate(nodes: NodesOf, node: NodeHash | Node): Promise<Validation> {
  const source = sourceOf(nodes);
  const { errors } = await findErrors(source, typeof node === 'string' ? await getNode(source, node) : node);
  return { valid: errors.length === 0, errors };
}

/** As {@link validate}; with the links, unless the payload does not match its type: nothing else is checked then. */
export async function findErrors(source: NodeSource, node: Node): Promise<{ errors: SchemaError[]; links?: Link[] }> {
  const { type, payload } = node;
  const errors = await checkType(source, type, payload);
  // Links and a step's meta can only be read in a payload that matches the schema of its type.
  if (errors.length > 0) return { errors };
  errors.push(...(await checkMeta(source, type, payload)));
  if (type === builtIn['role-schema']) errors.push(...(await checkUsable(payload)));
  const links = await linksOf(source, node);
  for (const { path, message } of await checkLinks(source, links)) errors.push({ path, message });
  return { errors, links };
}

/**
 * Checks a payload against the schema of its type alone.
 * @param source where a type that is not built in is looked up
 * @throws {SchemaViolation} if it does not match
 */
export async function assertValid(
  type: NodeHash,
  payload: JsonValue,
  source: NodeSource = new MemorySource(),
): Promise<void> {
  const errors = await checkType(source, type, payload);
  if (errors.length > 0) throw new SchemaViolation(typeNameOf(type) ?? `the node of type ${type}`, errors);
}

async function checkType(source: NodeSource, type: NodeHash, payload: JsonValue): Promise<SchemaError[]> {
  const name = typeNameOf(type);
  if (name === undefined) return validateAgainst(await schemaOfType(source, type), payload);
  return checkBuiltIn(name, payload);
}

async function checkMeta(source: NodeSource, type: NodeHash, payload: JsonValue): Promise<SchemaError[]> {
  if (type !== builtIn['thread-step'] || !isJsonObject(payload)) return [];
  const schema = await schemaOfMeta(source, payload);
  const errors = schema === undefined ? [] : await validateAgainst(schema, payload['meta'] ?? null);
  return errors.map(({ path, message }) => ({ path: `/meta${path}`, message }));
}

/** Finds why replies cannot be checked against a schema that the draft accepts. */
async function checkUsable(schema: JsonValue): Promise<readonly SchemaError[]> {
  try {
    await assertSchema(schema);
    return [];
  } catch (error) {
    if (error instanceof InvalidSchema) return error.errors;
    throw error;
  }
}
