import {
  ARTIFACT_TYPE,
  CONTENT_TYPE,
  isNodeHash,
  META_SCHEMA,
  type NodeHash,
  parseNodeHash,
} from '../cas/node-hash.ts';
import { type EncodedNode, encodeNode, type Node } from '../cas/node.ts';
import { UwfError } from '../errors.ts';
import { isObjectId } from '../git/format/object-id.ts';
import { isJsonObject, type JsonObject, type JsonValue, keysOf, mapValues } from '../json.ts';
import { DIALECT, LAST_TIME_MS, objectId, timeMs } from './built-in/schema-parts.ts';
import {
  type ThreadEnd,
  threadEndSchema,
  type ThreadResume,
  threadResumeSchema,
  type ThreadStart,
  threadStartSchema,
  type ThreadSuspend,
  threadSuspendSchema,
} from './built-in/thread-start.ts';
import { type ThreadStep, threadStepSchema } from './built-in/thread-step.ts';
import {
  type AgentRecord,
  agentSchema,
  type Artifact,
  artifactSchema,
  type Attempt,
  attemptSchema,
  type Content,
  contentSchema,
  type ReactSession,
  reactSessionSchema,
  type ReactToolCall,
  reactToolCallSchema,
  type ReactTurn,
  reactTurnSchema,
  type Role,
  roleSchema,
  roleSchemaSchema,
  type Workflow,
  workflowSchema,
} from './built-in/workflow.ts';

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

export const typeNames: readonly TypeName[] = keysOf(schemas);

/** The hash of each built-in type, known without hashing anything. */
export const builtIn: Readonly<Record<TypeName, NodeHash>> = mapValues(schemas, ([hash]) => parseNodeHash(hash));

const nameByHash = new Map(typeNames.map((name) => [builtIn[name], name]));

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

export function builtInSchema(name: TypeName): JsonObject {
  return schemas[name][1];
}

export function encodeBuiltIn(name: TypeName): EncodedNode {
  return encodeNode(META_SCHEMA, builtInSchema(name));
}

/** Encodes the schema of every built-in type, the meta-schema first: what the folder `types/` of a start holds. */
export function encodeBuiltIns(): EncodedNode[] {
  return typeNames.map((name) => encodeBuiltIn(name));
}

/** What a node of each built-in type holds; schema nodes hold any JSON Schema. */
export type Payloads = {
  agent: AgentRecord;
  role: Role;
  workflow: Workflow;
  'thread-start': ThreadStart;
  'thread-step': ThreadStep;
  'thread-suspend': ThreadSuspend;
  'thread-resume': ThreadResume;
  'thread-end': ThreadEnd;
  content: Content;
  'react-session': ReactSession;
  'react-turn': ReactTurn;
  'react-tool-call': ReactToolCall;
  attempt: Attempt;
  artifact: Artifact;
};

/** A node is not of the type that a reader needs, or not of the form that its type has. */
export class UnexpectedNode extends UwfError {
  constructor(wanted: TypeName, { type, hash }: Node & { hash?: NodeHash }) {
    const is = typeNameOf(type) ?? `a node of type ${type}`;
    const why = is === wanted ? `does not have the form of a ${wanted} node` : `is ${is}, not ${wanted}`;
    super(`the node ${hash === undefined ? '' : `${hash} `}${why}`, {
      code: 'unexpected-node',
      kind: 'data',
      hint: "it was not written by uwf; run 'uwf thread verify <thread>' on its thread",
      facts: { wanted },
    });
  }
}

/**
 * Returns the payload of a node, after a check that it is of a built-in type and that its fields have the types of that
 * type's schema. Readers of nodes use this in place of a cast.
 *
 * Of what else the schema asks it checks times, because dates are made of them, object ids, because git is given them, and
 * constants. `assertValid` checks the rest, in verification.
 * @throws {UnexpectedNode}
 */
export function payloadOf<Name extends keyof Payloads>(node: Node & { hash?: NodeHash }, wanted: Name): Payloads[Name] {
  if (node.type !== builtIn[wanted] || !checkOf(builtInSchema(wanted))(node.payload)) {
    throw new UnexpectedNode(wanted, node);
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The schema of the type and this type of the payload name the same fields.
  return node.payload as unknown as Payloads[Name];
}

type Check = (value: JsonValue) => boolean;

/** Tests whether a value has a type of JSON Schema, by the name of the type. */
const types: ReadonlyMap<JsonValue, Check> = new Map<JsonValue, Check>([
  ['null', (value) => value === null],
  ['boolean', (value) => typeof value === 'boolean'],
  ['integer', (value) => Number.isInteger(value)],
  ['number', (value) => Number.isFinite(value)],
  ['string', (value) => typeof value === 'string'],
  ['array', (value) => Array.isArray(value)],
  ['object', isJsonObject],
]);

/** The checks of each part of a built-in schema. They are made once, because a list of many threads reads a million nodes. */
const checks = new WeakMap<JsonObject, Check>();

/** Returns a test of fields and types. It supports only the few keywords that the built-in schemas use. */
function checkOf(schema: JsonValue | undefined): Check {
  if (!isJsonObject(schema)) return () => schema !== false;
  const check = checks.get(schema) ?? makeCheck(schema);
  checks.set(schema, check);
  return check;
}

function makeCheck(schema: JsonObject): Check {
  const { type, enum: allowed, const: only, anyOf, format, properties = {} } = schema;
  const isOfType = type === undefined ? undefined : [type].flat().map((name) => types.get(name));
  const choices = Array.isArray(anyOf) ? anyOf.map(checkOf) : undefined;
  const required = Array.isArray(schema['required']) ? schema['required'].map(String) : [];
  const members = new Map(Object.entries(properties ?? {}).map(([name, member]) => [name, checkOf(member)]));
  const [ofItem, ofOther] = [checkOf(schema['items']), checkOf(schema['additionalProperties'])];
  return (value) => {
    // By identity: a number in a meta or a configuration is no time, whatever its name.
    if (schema === timeMs && Number(value) > LAST_TIME_MS) return false;
    if (schema === objectId && !(typeof value === 'string' && isObjectId(value))) return false;
    if (isOfType !== undefined && !isOfType.some((is) => is?.(value))) return false;
    if (only !== undefined && value !== only) return false;
    if (Array.isArray(allowed) && !allowed.some((one) => one === value)) return false;
    if (format === 'cas_ref' && typeof value === 'string' && !isNodeHash(value)) return false;
    if (choices !== undefined && !choices.some((check) => check(value))) return false;
    if (Array.isArray(value)) return value.every((item) => ofItem(item));
    if (!isJsonObject(value)) return true;
    if (!required.every((name) => Object.hasOwn(value, name))) return false;
    return Object.entries(value).every(([name, member]) => (members.get(name) ?? ofOther)(member));
  };
}
