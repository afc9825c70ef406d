import type { NodeHash } from '../../cas/hash.ts';
import type { JsonObject } from '../../json.ts';
import { limitsSchema } from './limits.ts';
import type { Limits } from './limits.ts';
import { anyText, builtInObject, closedObject, count, DIALECT, isolation, ref, word } from './schema-parts.ts';
import type { Isolation } from './schema-parts.ts';

export const roleSchemaSchema: JsonObject = {
  $schema: DIALECT,
  title: 'role-schema',
  description: 'A JSON Schema (draft 2020-12) that the structured part of the replies of a role satisfies.',
  $ref: DIALECT,
};

/** What a schema cannot say of a reply: JSONata over `$meta`, `$steps`, `$start`; false makes the reply invalid. */
export type RoleCheck = { expression: string; message: string };

/** A role, all notations reduced to this. */
export type RoleDefinition = {
  /** For people and for the other roles. */
  description: string;
  /** What the agent in this role is told first. */
  systemPrompt: string;
  /** What is said of the meta that the reply has to report. */
  extractPrompt: string;
  /** JSON Schema 2020-12 of the reply's meta (front matter). */
  schema: JsonObject;
  check?: RoleCheck[];
  limits?: Limits;
  /** Further tries after a reply that does not validate; default 2. */
  retries?: number;
  /** Whether the work tree is kept with the step: never, always, or when it changed. */
  snapshot?: 'off' | 'on' | 'changed';
  /** Where the agent works, relative to the work tree's top. */
  cwd?: string;
  /** Whether it works in the thread's own work tree; default: as the workflow says. */
  isolation?: Isolation;
  /** Labels that a machine must have to take its turns unasked: sorted, each once. Absent: none. */
  needs?: string[];
};

/** One role of a stored workflow; its schema is a node of type `role-schema`. */
export type Role = Omit<RoleDefinition, 'schema'> & { name: string; schema: NodeHash };

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
    isolation,
    needs: { type: 'array', items: word, minItems: 1, uniqueItems: true },
  },
  ['check', 'limits', 'retries', 'snapshot', 'cwd', 'isolation', 'needs'],
);
