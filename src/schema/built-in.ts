import { ARTIFACT_TYPE, CONTENT_TYPE, META_SCHEMA } from '../cas/frozen-types.ts';
import { parseNodeHash, type NodeHash } from '../cas/node-hash.ts';
import { encodeNode } from '../cas/node.ts';
import type { EncodedNode } from '../cas/node.ts';
import { keysOf, mapValues, type JsonObject } from '../json.ts';
import { agentSchema } from './built-in/agent.ts';
import { artifactSchema } from './built-in/artifact.ts';
import { attemptSchema } from './built-in/attempt.ts';
import { contentSchema } from './built-in/content.ts';
import { reactSessionSchema, reactToolCallSchema, reactTurnSchema } from './built-in/react.ts';
import { roleSchema, roleSchemaSchema } from './built-in/role.ts';
import { threadEndSchema } from './built-in/thread-end.ts';
import { threadResumeSchema } from './built-in/thread-resume.ts';
import { threadStartSchema } from './built-in/thread-start.ts';
import { threadStepSchema } from './built-in/thread-step.ts';
import { threadSuspendSchema } from './built-in/thread-suspend.ts';
import { DIALECT } from './built-in/schema-parts.ts';
import { workflowSchema } from './built-in/workflow.ts';
import type { AgentRecord } from './built-in/agent.ts';
import type { Artifact } from './built-in/artifact.ts';
import type { Attempt } from './built-in/attempt.ts';
import type { Content } from './built-in/content.ts';
import type { ReactSession, ReactToolCall, ReactTurn } from './built-in/react.ts';
import type { Role } from './built-in/role.ts';
import type { ThreadEnd } from './built-in/thread-end.ts';
import type { ThreadResume } from './built-in/thread-resume.ts';
import type { ThreadStart } from './built-in/thread-start.ts';
import type { ThreadStep } from './built-in/thread-step.ts';
import type { ThreadSuspend } from './built-in/thread-suspend.ts';
import type { Workflow } from './built-in/workflow.ts';

export type {
  AgentRecord,
  Artifact,
  Attempt,
  Content,
  ReactSession,
  ReactToolCall,
  ReactTurn,
  Role,
  ThreadEnd,
  ThreadResume,
  ThreadStart,
  ThreadStep,
  ThreadSuspend,
  Workflow,
};

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

/** The hash and the schema of each built-in type. Frozen: one edited character renames every node. */
const schemas: Record<TypeName, readonly [hash: string, schema: JsonObject]> = {
  'meta-schema': [META_SCHEMA, metaSchema],
  agent: ['EKV9BCXJB2ZEK', agentSchema],
  'role-schema': ['3V2848DPREYCE', roleSchemaSchema],
  role: ['160BDMM9WAJ1J', roleSchema],
  workflow: ['2E1Z2Z58FXWKD', workflowSchema],
  'thread-start': ['9FY1R55M09GY5', threadStartSchema],
  'thread-step': ['765G9X6EJ7T9G', threadStepSchema],
  'thread-suspend': ['1J0YK5EDECACF', threadSuspendSchema],
  'thread-resume': ['42VN9N26GPP4C', threadResumeSchema],
  'thread-end': ['5QTY41MD3PEXZ', threadEndSchema],
  content: [CONTENT_TYPE, contentSchema],
  'react-session': ['FJB5MREFB6YVT', reactSessionSchema],
  'react-turn': ['DAN0X82YCAXJH', reactTurnSchema],
  'react-tool-call': ['0W6VTP86NJ705', reactToolCallSchema],
  attempt: ['21JARTSCEBR25', attemptSchema],
  artifact: [ARTIFACT_TYPE, artifactSchema],
};

/** The names of the built-in types. */
export const typeNames: readonly TypeName[] = keysOf(schemas);

/** The hash of each built-in type, known without hashing anything. */
export const builtIn: Readonly<Record<TypeName, NodeHash>> = mapValues(schemas, ([hash]) => parseNodeHash(hash));

const nameByHash = new Map(typeNames.map((name) => [builtIn[name], name]));

/** Tells whether a text is the name of a built-in type. */
export function isTypeName(text: string): text is TypeName {
  return Object.hasOwn(builtIn, text);
}

/** The name of the built-in type with this hash; `undefined` for any other type. */
export function typeNameOf(type: NodeHash): TypeName | undefined {
  return nameByHash.get(type);
}

/** Tells whether a node of this type makes a commit one of a thread. */
export function isThreadType(type: NodeHash): boolean {
  return typeNameOf(type)?.startsWith('thread-') === true;
}

/** Returns a built-in schema. */
export function builtInSchema(name: TypeName): JsonObject {
  return schemas[name][1];
}

/**
 * Encodes a built-in schema as a node.
 *
 * @throws {Error} if `prepareHashing` was not awaited before
 */
export function encodeBuiltIn(name: TypeName): EncodedNode {
  return encodeNode(META_SCHEMA, builtInSchema(name));
}

/** Encodes the schema of every built-in type, the meta-schema first: what the folder `types/` of a start holds. */
export function encodeBuiltIns(): EncodedNode[] {
  return typeNames.map((name) => encodeBuiltIn(name));
}
