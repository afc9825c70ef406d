import { isNodeHash } from '../cas/hash.ts';
import type { NodeHash } from '../cas/hash.ts';
import type { Node } from '../cas/node.ts';
import { UwfError } from '../errors.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../json.ts';
import { LAST_TIME_MS, timeMs } from './built-in/schema-parts.ts';
import { builtInSchema, typeNameOf, type TypeName } from './built-in.ts';
import type {
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
} from './built-in.ts';

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
  readonly wanted: TypeName;
  constructor(wanted: TypeName, { type, hash }: Node & { hash?: NodeHash }) {
    const is = typeNameOf(type) ?? `a node of type ${type}`;
    const why = is === wanted ? `does not have the form of a ${wanted} node` : `is ${is}, not ${wanted}`;
    super(`the node ${hash === undefined ? '' : `${hash} `}${why}`, {
      code: 'unexpected-node',
      kind: 'data',
      hint: "it was not written by uwf; run 'uwf thread verify <thread>' on its thread",
    });
    this.wanted = wanted;
  }
}

/**
 * Returns what a node of a built-in type holds, after a check that it is of that type and has the fields of it, each of its
 * own type. Readers of nodes use this in place of a cast.
 *
 * Of bounds only that of times is checked, as dates are made of them; patterns are not: verification does that, with `assertValid`.
 * @throws {UnexpectedNode}
 */
export function payloadOf<Name extends keyof Payloads>(node: Node & { hash?: NodeHash }, wanted: Name): Payloads[Name] {
  if (typeNameOf(node.type) !== wanted || !hasForm(builtInSchema(node.type), node.payload)) {
    throw new UnexpectedNode(wanted, node);
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The schema of the type and this type of the payload name the same fields.
  return node.payload as unknown as Payloads[Name];
}

/** Tells whether a value has the fields and types that a built-in schema asks for: of all keywords these use a few. */
function hasForm(schema: JsonValue | undefined, value: JsonValue): boolean {
  if (!isJsonObject(schema)) return schema !== false;
  // By identity: a meta and a configuration may use any names and numbers.
  if (schema === timeMs && Number(value) > LAST_TIME_MS) return false;
  const { type, enum: allowed, anyOf, items, format } = schema;
  if (type !== undefined && ![type].flat().some((name) => isOfType(name, value))) return false;
  if (Array.isArray(allowed) && !allowed.some((one) => one === value)) return false;
  if (format === 'cas_ref' && typeof value === 'string' && !isNodeHash(value)) return false;
  if (Array.isArray(anyOf) && !anyOf.some((one) => hasForm(one, value))) return false;
  if (Array.isArray(value)) return value.every((item) => hasForm(items, item));
  return !isJsonObject(value) || hasMembers(schema, value);
}

function hasMembers({ properties = {}, required, additionalProperties }: JsonObject, value: JsonObject): boolean {
  const names: readonly JsonValue[] = Object.keys(value);
  if (Array.isArray(required) && !required.every((name) => names.includes(name))) return false;
  return Object.entries(value).every(([name, member]) => {
    const isNamed = isJsonObject(properties) && Object.hasOwn(properties, name);
    return hasForm(isNamed ? properties[name] : additionalProperties, member);
  });
}

function isOfType(name: JsonValue, value: JsonValue): boolean {
  switch (name) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isJsonObject(value);
    case 'integer':
      return Number.isInteger(value);
    default:
      return typeof value === name;
  }
}
