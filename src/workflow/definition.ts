import type { JsonObject } from '../json.ts';
import type { Limits } from '../schema/built-in/limits.ts';
import type { Isolation } from '../schema/built-in/schema-parts.ts';
import type { Rule } from '../schema/built-in/workflow.ts';

export type { Isolation, Limits, Rule };

/** What a schema cannot say of a reply: JSONata over `$meta`, `$steps`, `$start`; false makes the reply invalid. */
export type RoleCheck = { expression: string; message: string };

/** A role, all notations reduced to this. */
export type RoleDefinition = {
  description: string;
  systemPrompt: string;
  extractPrompt: string;
  /** JSON Schema 2020-12 of the reply's meta (front matter). */
  schema: JsonObject;
  check?: RoleCheck[];
  limits?: Limits;
  /** Further tries after a reply that does not validate; default 2. */
  retries?: number;
  snapshot?: 'off' | 'on' | 'changed';
  /** Where the agent works, relative to the work tree's top. */
  cwd?: string;
  /** Whether it works in the thread's own work tree; default: as the workflow says. */
  isolation?: Isolation;
};

/** A workflow as uwf stores and runs it, whatever notation it was written in. */
export type WorkflowDefinition = {
  /** `[a-z0-9][a-z0-9._-]{0,63}` */
  name: string;
  description: string;
  /** In file order. */
  roles: Record<string, RoleDefinition>;
  moderator: Rule[];
  limits?: Limits;
  /** Whether its roles work in a work tree of the thread's own; default: `none`, unless the run asks for it. */
  isolation?: Isolation;
};

/** The names rules use beside roles. */
export const START = '__start__';
export const END = '__end__';
export const RESUME = '__resume__';
