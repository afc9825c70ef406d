import type { JsonObject } from '../json.ts';

/**
 * Stops for a role, a workflow or a whole configuration; an absent one does not limit.
 *
 * Where several name the same limit the smallest holds.
 */
export type Limits = {
  /** Steps of the thread, all roles together. Default of the engine: 10,000. */
  maxSteps?: number;
  /** Steps of one role. */
  maxVisits?: number;
  /** Wall time of one turn, in ms. */
  timeoutMs?: number;
  /** Time without a sign of life from the agent, in ms. */
  idleTimeoutMs?: number;
  /** Nesting of child threads. Default of the engine: 8. */
  maxDepth?: number;
};

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
};

/** One rule of the moderator. The first whose `from` is the last role and whose `when` holds decides. */
export type Rule = {
  /** A role, `__start__` or `__resume__`. */
  from: string;
  /** A role or `__end__`. */
  to: string;
  /** JSONata; null always holds. */
  when: string | null;
  /** Liquid; what the next role is told, or for `__end__` the summary. */
  prompt?: string;
  /** Liquid; a working directory for the next role (United Workforce). */
  location?: string;
  /** Only on rules to `__end__`; default 0, another means failed. */
  returnCode?: number;
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
};

/** The names rules use beside roles. */
export const START = '__start__';
export const END = '__end__';
export const RESUME = '__resume__';
