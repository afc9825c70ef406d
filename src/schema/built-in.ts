import { ARTIFACT_TYPE, CONTENT_TYPE, META_SCHEMA } from '../cas/frozen-types.ts';
import type { NodeHash } from '../cas/hash.ts';
import { encodeNode } from '../cas/node.ts';
import type { EncodedNode } from '../cas/node.ts';
import type { JsonObject } from '../json.ts';
import { agentSchema } from './built-in/agent.ts';
import { artifactSchema } from './built-in/artifact.ts';
import { attemptSchema } from './built-in/attempt.ts';
import { contentSchema } from './built-in/content.ts';
import { metaSchema } from './built-in/meta-schema.ts';
import { reactSessionSchema, reactToolCallSchema, reactTurnSchema } from './built-in/react.ts';
import { roleSchema, roleSchemaSchema } from './built-in/role.ts';
import { threadEndSchema } from './built-in/thread-end.ts';
import { threadResumeSchema } from './built-in/thread-resume.ts';
import { threadStartSchema } from './built-in/thread-start.ts';
import { threadStepSchema } from './built-in/thread-step.ts';
import { threadSuspendSchema } from './built-in/thread-suspend.ts';
import { workflowSchema } from './built-in/workflow.ts';

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

/** The names of the built-in types. */
// The keys of a record of all names are all names.
export const typeNames: readonly TypeName[] = Object.keys(schemas) as TypeName[];

/** The schema of a built-in type. */
export function builtInSchema(name: TypeName): JsonObject {
  return schemas[name];
}

const names = new Map(typeNames.map((name) => [builtIn[name], name]));

/** The name of a built-in type; `undefined` for a type that somebody else registered. */
export function typeNameOf(type: NodeHash): TypeName | undefined {
  return names.get(type);
}

/**
 * Encodes the schema node of a built-in type.
 *
 * @throws {Error} if `prepareHashing` was not awaited before
 */
export function encodeBuiltIn(name: TypeName): EncodedNode {
  return encodeNode(META_SCHEMA, schemas[name]);
}

/** Encodes all built-in schemas, the meta-schema first: what the folder `types/` of a thread's start holds. */
export function encodeBuiltIns(): EncodedNode[] {
  return typeNames.map(encodeBuiltIn);
}
