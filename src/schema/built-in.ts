import { ARTIFACT_TYPE, CONTENT_TYPE, META_SCHEMA } from '../cas/frozen-types.ts';
import type { NodeHash } from '../cas/hash.ts';
import { encodeNode } from '../cas/node.ts';
import type { EncodedNode } from '../cas/node.ts';
import type { JsonObject } from '../json.ts';
import { agentSchema } from './built-in/agent.ts';
import { artifactSchema } from './built-in/artifact.ts';
import { attemptSchema, attemptSuccessor } from './built-in/attempt.ts';
import { contentSchema } from './built-in/content.ts';
import { metaSchema } from './built-in/meta-schema.ts';
import { reactSessionSchema, reactToolCallSchema, reactTurnSchema, reactTurnSuccessor } from './built-in/react.ts';
import { roleSchema, roleSchemaSchema, roleSuccessor } from './built-in/role.ts';
import { threadEndSchema } from './built-in/thread-end.ts';
import { threadResumeSchema, threadResumeSuccessor } from './built-in/thread-resume.ts';
import { threadStartSchema, threadStartSuccessor } from './built-in/thread-start.ts';
import { threadStepSchema, threadStepSuccessor } from './built-in/thread-step.ts';
import { threadSuspendSchema, threadSuspendSuccessor } from './built-in/thread-suspend.ts';
import type { Successor } from './built-in/schema-parts.ts';
import { workflowSchema, workflowSuccessor } from './built-in/workflow.ts';

export type { AgentRecord } from './built-in/agent.ts';
export type { Artifact } from './built-in/artifact.ts';
export type { Attempt } from './built-in/attempt.ts';
export type { Content } from './built-in/content.ts';
export type { Limits } from './built-in/limits.ts';
export type { ReactSession, ReactToolCall, ReactTurn } from './built-in/react.ts';
export type { Role } from './built-in/role.ts';
export type { Outcome, ThreadEnd } from './built-in/thread-end.ts';
export type { ThreadResume } from './built-in/thread-resume.ts';
export type { ThreadStart } from './built-in/thread-start.ts';
export type { ThreadStep } from './built-in/thread-step.ts';
export type { SuspendCause, ThreadSuspend } from './built-in/thread-suspend.ts';
export type { Usage } from './built-in/usage.ts';
export type { Rule, Workflow } from './built-in/workflow.ts';

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

const schemas: Record<TypeName, JsonObject> = {
  'meta-schema': metaSchema,
  agent: agentSchema,
  'role-schema': roleSchemaSchema,
  role: roleSchema,
  workflow: workflowSchema,
  'thread-start': threadStartSchema,
  'thread-step': threadStepSchema,
  'thread-suspend': threadSuspendSchema,
  'thread-resume': threadResumeSchema,
  'thread-end': threadEndSchema,
  content: contentSchema,
  'react-session': reactSessionSchema,
  'react-turn': reactTurnSchema,
  'react-tool-call': reactToolCallSchema,
  attempt: attemptSchema,
  artifact: artifactSchema,
};

// The casts make hashes of texts that have the form; a test computes every one of them from its schema.
const hashes = {
  'meta-schema': META_SCHEMA,
  agent: 'EKV9BCXJB2ZEK',
  'role-schema': '3V2848DPREYCE',
  role: '0XR5A1T8TZE50',
  workflow: '665A5YZ8M75SA',
  'thread-start': 'CRRF8APJN66HD',
  'thread-step': '8ZECRJZM62CDG',
  'thread-suspend': 'F4BF3CNZ6P0HX',
  'thread-resume': '9R2VW9K1G2ASC',
  'thread-end': '29BZWCABXP60Q',
  content: CONTENT_TYPE,
  'react-session': 'FJB5MREFB6YVT',
  'react-turn': '6NPP2VF4PK16F',
  'react-tool-call': '0W6VTP86NJ705',
  attempt: 'B1ZE465V9BH13',
  artifact: ARTIFACT_TYPE,
} satisfies Record<TypeName, string> as Record<TypeName, NodeHash>;

/**
 * The hash of each built-in type, known without hashing anything.
 *
 * Frozen: a schema that changes is a new schema, and readers go on knowing the old one.
 */
export const builtIn: Readonly<Record<TypeName, NodeHash>> = hashes;

/** A type's second schema, by the hash that names it. */
type KnownSuccessor = Successor & { name: TypeName; hash: NodeHash };

// Hashes of texts that have the form, as above.
const successors: readonly KnownSuccessor[] = [
  { name: 'role', hash: '066D3YEB9SJY4' as NodeHash, ...roleSuccessor },
  { name: 'workflow', hash: 'BD4KVYRD3XNNP' as NodeHash, ...workflowSuccessor },
  { name: 'thread-start', hash: 'APFX64W9BENEF' as NodeHash, ...threadStartSuccessor },
  { name: 'thread-step', hash: '9VWW1CHJQGGCF' as NodeHash, ...threadStepSuccessor },
  { name: 'thread-suspend', hash: 'AKRE1FNXJP0YF' as NodeHash, ...threadSuspendSuccessor },
  { name: 'thread-resume', hash: '43Y4FDFVKF8HS' as NodeHash, ...threadResumeSuccessor },
  { name: 'react-turn', hash: 'DAN0X82YCAXJH' as NodeHash, ...reactTurnSuccessor },
  { name: 'attempt', hash: '2V4SRRV50PCB8' as NodeHash, ...attemptSuccessor },
];

const successorsByName = new Map(successors.map((successor) => [successor.name, successor]));
const successorsByHash = new Map(successors.map((successor) => [successor.hash, successor]));

/** The names of the built-in types. */
// The keys of a record of all names are all names.
export const typeNames: readonly TypeName[] = Object.keys(schemas) as TypeName[];

/** The hashes of all built-in schemas: the first of each type, then the successors. */
export const builtInTypes: readonly NodeHash[] = [
  ...typeNames.map((name) => builtIn[name]),
  ...successors.map(({ hash }) => hash),
];

const firstNames = new Map(typeNames.map((name) => [builtIn[name], name]));

/** The name of a built-in type, by the hash of its first schema or of a successor; `undefined` for any other type. */
export function typeNameOf(type: NodeHash): TypeName | undefined {
  return firstNames.get(type) ?? successorsByHash.get(type)?.name;
}

/** Tells whether a type is a built-in one of this name, by its first schema or by a successor. */
export function isOfType(type: NodeHash, name: TypeName): boolean {
  return typeNameOf(type) === name;
}

const threadTypes: ReadonlySet<TypeName | undefined> = new Set([
  'thread-start',
  'thread-step',
  'thread-suspend',
  'thread-resume',
  'thread-end',
]);

/** Tells whether a node of this type makes a commit one of a thread. */
export function isThreadType(type: NodeHash): boolean {
  return threadTypes.has(typeNameOf(type));
}

/**
 * A built-in schema: of a name the first, of a hash the one that the hash names.
 *
 * @throws {Error} if there is none of this hash
 */
export function builtInSchema(type: TypeName | NodeHash): JsonObject {
  // A name is looked up among names, so that the cast decides nothing.
  const schema =
    successorsByHash.get(type as NodeHash)?.schema ?? schemas[firstNames.get(type as NodeHash) ?? (type as TypeName)];
  if (schema === undefined) throw new Error(`there is no built-in type ${type}`);
  return schema;
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

/** Tells whether a type is a successor. Its schema lies in the first commit of a thread that uses it. */
export function isSuccessor(type: NodeHash): boolean {
  return successorsByHash.has(type);
}

/**
 * Encodes a built-in schema as a node: of a name the first, of a hash the one that the hash names.
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
