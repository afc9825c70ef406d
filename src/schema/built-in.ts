import { ARTIFACT_TYPE, CONTENT_TYPE, META_SCHEMA } from '../cas/frozen-types.ts';
import { parseNodeHash, type NodeHash } from '../cas/node-hash.ts';
import { encodeNode } from '../cas/node.ts';
import type { EncodedNode } from '../cas/node.ts';
import { keysOf, mapValues, type JsonObject } from '../json.ts';
import { agentSchema } from './built-in/agent.ts';
import { artifactSchema } from './built-in/artifact.ts';
import { attemptSchema, attemptSuccessor } from './built-in/attempt.ts';
import { contentSchema } from './built-in/content.ts';
import { reactSessionSchema, reactToolCallSchema, reactTurnSchema, reactTurnSuccessor } from './built-in/react.ts';
import { roleSchema, roleSchemaSchema, roleSuccessor } from './built-in/role.ts';
import { threadEndSchema } from './built-in/thread-end.ts';
import { threadResumeSchema, threadResumeSuccessor } from './built-in/thread-resume.ts';
import { threadStartSchema, threadStartSuccessor } from './built-in/thread-start.ts';
import { threadStepSchema, threadStepSuccessor } from './built-in/thread-step.ts';
import { threadSuspendSchema, threadSuspendSuccessor } from './built-in/thread-suspend.ts';
import { DIALECT, type Successor } from './built-in/schema-parts.ts';
import { workflowSchema, workflowSuccessor } from './built-in/workflow.ts';

export type { AgentRecord } from './built-in/agent.ts';
export type { Artifact } from './built-in/artifact.ts';
export type { Attempt } from './built-in/attempt.ts';
export type { Content } from './built-in/content.ts';
export type { ReactSession, ReactToolCall, ReactTurn } from './built-in/react.ts';
export type { Role } from './built-in/role.ts';
export type { ThreadEnd } from './built-in/thread-end.ts';
export type { ThreadResume } from './built-in/thread-resume.ts';
export type { ThreadStart } from './built-in/thread-start.ts';
export type { ThreadStep } from './built-in/thread-step.ts';
export type { ThreadSuspend } from './built-in/thread-suspend.ts';
export type { Workflow } from './built-in/workflow.ts';

const metaSchema: JsonObject = {
  $schema: DIALECT,
  title: 'meta-schema',
  description: 'A JSON Schema (draft 2020-12) that is the type of other nodes. It is its own type.',
  $ref: DIALECT,
};

/** The types that uwf itself knows. */
export type TypeName =
  | 'meta-schema'
  | 'agent'
  | 'role-schema'
  | 'role'
  | 'workflow'
  | 'thread-start'
  | 'thread-step'
  | 'thread-suspend'
  | 'thread-resume'
  | 'thread-end'
  | 'content'
  | 'react-session'
  | 'react-turn'
  | 'react-tool-call'
  | 'attempt'
  | 'artifact';

/**
 * The hash and the first schema of each built-in type.
 *
 * Frozen: a schema that changes is a new schema, and readers go on knowing the old one.
 */
const firstSchemas: Record<TypeName, readonly [hash: string, schema: JsonObject]> = {
  'meta-schema': [META_SCHEMA, metaSchema],
  agent: ['EKV9BCXJB2ZEK', agentSchema],
  'role-schema': ['3V2848DPREYCE', roleSchemaSchema],
  role: ['0XR5A1T8TZE50', roleSchema],
  workflow: ['665A5YZ8M75SA', workflowSchema],
  'thread-start': ['CRRF8APJN66HD', threadStartSchema],
  'thread-step': ['8ZECRJZM62CDG', threadStepSchema],
  'thread-suspend': ['F4BF3CNZ6P0HX', threadSuspendSchema],
  'thread-resume': ['9R2VW9K1G2ASC', threadResumeSchema],
  'thread-end': ['29BZWCABXP60Q', threadEndSchema],
  content: [CONTENT_TYPE, contentSchema],
  'react-session': ['FJB5MREFB6YVT', reactSessionSchema],
  'react-turn': ['6NPP2VF4PK16F', reactTurnSchema],
  'react-tool-call': ['0W6VTP86NJ705', reactToolCallSchema],
  attempt: ['B1ZE465V9BH13', attemptSchema],
  artifact: [ARTIFACT_TYPE, artifactSchema],
};

/** The names of the built-in types. */
export const typeNames: readonly TypeName[] = keysOf(firstSchemas);

/** The hash of each built-in type, known without hashing anything. */
export const builtIn: Readonly<Record<TypeName, NodeHash>> = mapValues(firstSchemas, ([hash]) => parseNodeHash(hash));

/** The second schemas of types, by the hashes that name them. */
const successors: readonly (Successor & { name: TypeName; hash: NodeHash })[] = [
  { name: 'role', hash: parseNodeHash('066D3YEB9SJY4'), ...roleSuccessor },
  { name: 'workflow', hash: parseNodeHash('2E1Z2Z58FXWKD'), ...workflowSuccessor },
  { name: 'thread-start', hash: parseNodeHash('APFX64W9BENEF'), ...threadStartSuccessor },
  { name: 'thread-step', hash: parseNodeHash('9VWW1CHJQGGCF'), ...threadStepSuccessor },
  { name: 'thread-suspend', hash: parseNodeHash('D1WA539MSFBHX'), ...threadSuspendSuccessor },
  { name: 'thread-resume', hash: parseNodeHash('43Y4FDFVKF8HS'), ...threadResumeSuccessor },
  { name: 'react-turn', hash: parseNodeHash('DAN0X82YCAXJH'), ...reactTurnSuccessor },
  { name: 'attempt', hash: parseNodeHash('21JARTSCEBR25'), ...attemptSuccessor },
];

const successorsByName = new Map(successors.map((successor) => [successor.name, successor]));

const all: readonly { name: TypeName; hash: NodeHash; schema: JsonObject }[] = [
  ...typeNames.map((name) => ({ name, hash: builtIn[name], schema: firstSchemas[name][1] })),
  ...successors,
];
const byHash = new Map(all.map((type) => [type.hash, type]));

/** The hashes of all built-in schemas: the first of each type, then the successors. */
export const builtInTypes: readonly NodeHash[] = [...byHash.keys()];

/** Tells whether a text is the name of a built-in type. */
export function isTypeName(text: string): text is TypeName {
  return Object.hasOwn(builtIn, text);
}

/** The name of a built-in type, by the hash of its first schema or of a successor; `undefined` for any other type. */
export function typeNameOf(type: NodeHash): TypeName | undefined {
  return byHash.get(type)?.name;
}

/** Tells whether a type is a built-in one of this name, by its first schema or by a successor. */
export function isOfType(type: NodeHash, name: TypeName): boolean {
  return typeNameOf(type) === name;
}

/** Tells whether a node of this type makes a commit one of a thread. */
export function isThreadType(type: NodeHash): boolean {
  return typeNameOf(type)?.startsWith('thread-') === true;
}

/**
 * Returns a built-in schema: for a name the first one of the type, for a hash the schema of that hash.
 *
 * @throws {Error} if no built-in schema has this hash
 */
export function builtInSchema(type: TypeName | NodeHash): JsonObject {
  const found = byHash.get(isTypeName(type) ? builtIn[type] : type);
  if (found === undefined) throw new Error(`there is no built-in type ${type}`);
  return found.schema;
}

/**
 * The schema that a payload of a built-in type is stored under: the first one, or the successor where the payload sets a
 * field that only that has.
 */
export function typeFor(name: TypeName, payload: JsonObject): NodeHash {
  const successor = successorsByName.get(name);
  return successor?.isNeeded(payload) ? successor.hash : builtIn[name];
}

/** Encodes a node of a built-in type, under the schema that its payload asks for. */
export function encodeTyped(name: TypeName, payload: JsonObject): EncodedNode {
  return encodeNode(typeFor(name, payload), payload);
}

/** Tells whether a type is a successor. A thread stores the schema in the commit that first uses it. */
export function isSuccessor(type: NodeHash): boolean {
  const name = typeNameOf(type);
  return name !== undefined && builtIn[name] !== type;
}

/**
 * Encodes a built-in schema, as {@link builtInSchema} returns it, as a node.
 *
 * @throws {Error} if `prepareHashing` was not awaited before
 */
export function encodeBuiltIn(type: TypeName | NodeHash): EncodedNode {
  return encodeNode(META_SCHEMA, builtInSchema(type));
}

/** Encodes the first schema of every built-in type, the meta-schema first: what the folder `types/` of a start holds. */
export function encodeBuiltIns(): EncodedNode[] {
  return typeNames.map((name) => encodeBuiltIn(name));
}
