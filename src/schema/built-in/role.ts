import type { NodeHash } from '../../cas/hash.ts';
import type { JsonObject } from '../../json.ts';
import { limitsSchema } from './limits.ts';
import type { Limits } from './limits.ts';
import { builtInObject, closedObject, count, DIALECT, isolation, ref, reserved } from './schema-parts.ts';
import { successorOf, anyText, word, type Isolation, type Successor } from './schema-parts.ts';

export const roleSchemaSchema: JsonObject = {
  $schema: DIALECT,
  title: 'role-schema',
  description: 'A JSON Schema (draft 2020-12) that the structured part of the replies of a role satisfies.',
  $ref: DIALECT,
};

/** One role of a workflow. */
export type Role = {
  name: string;
  /** For people and for the other roles. */
  description: string;
  /** What the agent in this role is told first. */
  systemPrompt: string;
  /** What is said of the meta that the reply has to report. */
  extractPrompt: string;
  /** The schema of the reply's meta: a node of type `role-schema`. */
  schema: NodeHash;
  /** Conditions beyond the schema; a reply for which one is false counts as invalid, with its message. */
  check?: { expression: string; message: string }[];
  limits?: Limits;
  /** Further tries after a reply that does not validate. */
  retries?: number;
  /** Whether the work tree is kept with the step: never, always, or when it changed. */
  snapshot?: 'off' | 'on' | 'changed';
  /** Where the agent works, relative to the work tree's top. */
  cwd?: string;
  /** Whether it works in the thread's own work tree; absent: as the workflow says. */
  isolation?: Isolation;
  /** Labels that a machine must have to take its turns unasked: sorted, each once. Absent: none. */
  needs?: string[];
};

export const roleSchema: JsonObject = builtInObject(
  'role',
  'One role of a workflow: what its agent is told, and what its replies report.',
  {
    name: word,
    description: anyText,
    systemPrompt: anyText,
    extractPrompt: anyText,
    schema: ref('role-schema'),
    check: { type: 'array', items: closedObject({ expression: word, message: anyText }) },
    limits: limitsSchema,
    retries: count,
    snapshot: { enum: ['off', 'on', 'changed'] },
    cwd: word,
  },
  ['check', 'limits', 'retries', 'snapshot', 'cwd'],
);

export const roleSuccessor: Successor = successorOf(roleSchema, {
  isolation,
  needs: { type: 'array', items: word, minItems: 1, uniqueItems: true },
  outputs: reserved,
  memo: reserved,
});
