import type { JsonObject } from '../json.ts';
import type { Isolation, Limits, ThreadLimits } from '../schema/built-in/schema-parts.ts';
import type { RoleCheck, RoleDefinition, Rule } from '../schema/built-in/workflow.ts';

export type { Isolation, Limits, RoleCheck, RoleDefinition, Rule, ThreadLimits };

/** Tells whether turns or branches work in a work tree of their own. */
export function isIsolated(isolation: Isolation | undefined): boolean {
  return isolation === 'worktree' || isolation === 'strict';
}

/** What a branch of a block runs: another workflow, or a role of this one, with a prompt (a Liquid template). */
export type BranchDefinition = ({ workflow: string; role?: never } | { role: string; workflow?: never }) & {
  /** Default: the prompt of the rule that leads to the block, else the task. */
  prompt?: string;
};

/** A branch for each item of a list. */
export type EachDefinition = BranchDefinition & {
  /** JSONata, as in a rule; its value is the list. */
  over: string;
  /** The name of the item in `key` and in `prompt`. */
  as: string;
  /** JSONata over the item; its value, a text or a number, is the branch's key. */
  key: string;
  /** How many branches run at once; default 64. */
  atOnce?: number;
};

/** When the results of the branches are joined: once all, any, or some number of them have completed; else JSONata over `$branches`. */
export type JoinDefinition = 'all' | 'any' | { atLeast: number } | (string & {});

/** Tells whether an expression decides a join, not a number. */
export function isExpression(join: JoinDefinition): join is string {
  return typeof join === 'string' && join !== 'all' && join !== 'any';
}

/** Parallel branches in the place of a role. Each is a child thread; their results make one step. */
export type BlockDefinition = {
  /** The branches by their keys; this or `each`. */
  branches?: Record<string, BranchDefinition>;
  each?: EachDefinition;
  join: JoinDefinition;
  /** What happens to the running branches when so many have failed that the join cannot hold; default `wait`. */
  onFailure?: 'wait' | 'cancel';
  /** Where the branches work; default: as the caller does. */
  isolation?: Isolation;
  /** Merges the files of the completed branches, in the order of their keys or of their ends; absent: no merge. */
  merge?: { order: 'key' | 'end' };
  /** JSON Schema of the meta of the block's step; made by uwf. */
  schema: JsonObject;
};

/** A workflow as uwf stores and runs it, whatever notation it was written in. */
export type WorkflowDefinition = {
  /** `[a-z0-9][a-z0-9._-]{0,63}` */
  name: string;
  description: string;
  /** In file order. */
  roles: Record<string, RoleDefinition>;
  /** By names that no role has; absent where there are none. */
  blocks?: Record<string, BlockDefinition>;
  moderator: Rule[];
  limits?: ThreadLimits;
  /** Whether its roles work in a work tree of the thread's own; default: `none`, unless the run asks for it. */
  isolation?: Isolation;
};

/** A block has at most this many branches: their ends are parents of one commit, beside the step before and what the step recorded. */
export const MAX_BRANCHES = 1_900;

/** How the step of a block can end (its `$status`), where `join` does not name a status of its own. */
export const JOINED = 'joined';
export const FAILED = 'failed';
export const CONFLICT = 'conflict';

/** The names rules use beside roles. */
export const START = '__start__';
export const END = '__end__';
export const RESUME = '__resume__';

type RolesAndBlocks = Pick<WorkflowDefinition, 'roles' | 'blocks'>;

/** The role with a name. A block is returned as a role, because its step is recorded like a role's. */
export function findRole(definition: RolesAndBlocks, name: string): RoleDefinition | undefined {
  if (Object.hasOwn(definition.roles, name)) return definition.roles[name];
  const block = findBlock(definition, name);
  if (block === undefined) return undefined;
  const { schema, isolation } = block;
  // Branches with work trees of their own do not change the caller's; others work where the caller's roles do.
  const own = isolation === 'none' || isolation === 'shared' ? { isolation } : {};
  return { description: '', systemPrompt: '', extractPrompt: '', schema, retries: 0, snapshot: 'off', ...own };
}

/** The `needs` of a role; none for a block, because its branches are threads of their own. */
export function needsOf({ roles }: Pick<WorkflowDefinition, 'roles'>, name: string): readonly string[] {
  return Object.hasOwn(roles, name) ? (roles[name]?.needs ?? []) : [];
}

/** The definitions of the branches of a block with their keys, in the order of the file; that of an `each` has no key. */
export function tasksOf({
  branches = {},
  each,
}: Pick<BlockDefinition, 'branches' | 'each'>): [key: string | undefined, task: BranchDefinition][] {
  return each ? [[undefined, each]] : Object.entries(branches);
}

export function findBlock({ blocks }: Pick<WorkflowDefinition, 'blocks'>, name: string): BlockDefinition | undefined {
  return blocks !== undefined && Object.hasOwn(blocks, name) ? blocks[name] : undefined;
}

/** Expressions of one workflow together, in UTF-16 units: parsing alone takes a second for each 64 thousand. */
export const MAX_EXPRESSIONS = 262_144;

export function lengthOfExpressions(definition: WorkflowDefinition): number {
  return expressionsOf(definition).reduce((sum, source) => sum + source.length, 0);
}

/** The conditions and checks of a workflow, and the expressions of its blocks, each once. */
export function expressionsOf({ roles, blocks = {}, moderator }: WorkflowDefinition): string[] {
  const checks = Object.values(roles).flatMap(({ check }) => (check ?? []).map(({ expression }) => expression));
  const ofBlocks = Object.values(blocks).flatMap(({ each, join }) => [
    ...(each ? [each.over, each.key] : []),
    ...(isExpression(join) ? [join] : []),
  ]);
  return [...new Set([...moderator.flatMap(({ when }) => when ?? []), ...checks, ...ofBlocks])];
}
