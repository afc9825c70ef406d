import { isJsonObject, type JsonObject, type JsonValue } from '../../json.ts';
import { didYouMean } from '../../text/nearest-name.ts';
import { closedObject, type Isolation, limitNames } from '../../schema/built-in/schema-parts.ts';
import { faultsOf, nameOf, soundPart } from '../../schema/explain-errors.ts';
import {
  type BlockDefinition,
  type BranchDefinition,
  CONFLICT,
  type EachDefinition,
  END,
  FAILED,
  findRole,
  isExpression,
  JOINED,
  type Limits,
  RESUME,
  type RoleCheck,
  type RoleDefinition,
  type Rule,
  START,
  tasksOf,
  type ThreadLimits,
  type WorkflowDefinition,
} from '../definition.ts';
import type { DiagnosticTarget, Path, Report } from '../source/source-map.ts';
import { notationSchema } from './file-schema.ts';
import { errorsOfWorkflow } from './generated-check.ts';
import { statusCondition } from './status-condition.ts';

// Reads a workflow in any of the three notations. The generated check says what does not fit the schema of files; the reader gets the
// part that does, and turns it into rules.

/** A workflow reduced to rules, with the way back to what its author wrote. */
export type Reduction = {
  /** Whatever could be read. Complete and right only if nothing was reported. */
  definition: WorkflowDefinition;
  roles: SourceRole[];
  blocks: SourceBlock[];
  /** The possible targets of rules: the roles, and the blocks as roles. */
  places: SourceRole[];
  /** As `definition.moderator`, in the same order. */
  rules: SourceRule[];
  /** Conditions that no edge names; they have to compile all the same. */
  unusedConditions: [string, Condition][];
  /** False if a rule or a role could not be read: then missing ones are not reported. */
  isComplete: boolean;
};

/** A role, and where it and its parts stand that are checked later. */
export type SourceRole = {
  name: string;
  /** How messages name it: `role 'writer'`, `block 'reviews'`. */
  title: string;
  path: Path;
  role: RoleDefinition;
  schemaPath: Path;
  hasSchema: boolean;
  /** Where the expressions of `role.check` stand, in the same order. */
  checkPaths: Path[];
};

export type SourceBlock = { name: string; block: BlockDefinition; path: Path };

/** Where to point when something of a rule is wrong. */
type RulePlace = { path: Path; at?: DiagnosticTarget | undefined };

/** A rule, and where its parts stand in the notation it was written in. */
export type SourceRule = {
  rule: Rule;
  /** How messages name it: `rule 3`, `edge 'done' of writer`. */
  name: string;
  whole: RulePlace;
  from: RulePlace;
  to: RulePlace;
  when: RulePlace;
  /** The `$status` it stands for, in the notation that routes by status. */
  status?: string;
  /** The condition as its author wrote it, at `when`; absent where there is none, or only a status. */
  condition?: string;
};

/** A condition that edges name: its JSONata, and where that stands. */
type Condition = { expression: string; path: Path; isUsed: boolean };

/** The sound part of a file: what is at fault is left out, or `null` where it has a name or a place in a list. */
type WorkflowFile = {
  name?: string;
  description?: string;
  roles?: Record<string, RoleFile | null>;
  blocks?: Record<string, BlockFile | null>;
  moderator?: (Partial<Rule> | null)[];
  graph?: Record<string, Record<string, EdgeFile | (EdgeFile | null)[] | null> | (EdgeFile | null)[] | null>;
  conditions?: Record<string, string | { expression?: string } | null>;
  limits?: ThreadLimits;
  isolation?: Isolation;
};
type RoleFile = Omit<Partial<RoleDefinition>, 'check' | 'snapshot' | 'needs'> & {
  goal?: string;
  capabilities?: (string | null)[];
  procedure?: string;
  output?: string;
  frontmatter?: JsonObject;
  check?: Partial<RoleCheck> | (Partial<RoleCheck> | null)[];
  snapshot?: RoleDefinition['snapshot'] | boolean;
  needs?: (string | null)[];
};
type BranchFile = { workflow?: string; role?: string; prompt?: string };
type BlockFile = Partial<Omit<BlockDefinition, 'branches' | 'each'>> & {
  branches?: Record<string, BranchFile | null>;
  each?: BranchFile & Partial<Pick<EachDefinition, 'over' | 'as' | 'key' | 'atOnce'>>;
};
type EdgeFile = Partial<Omit<Rule, 'from' | 'to'>> & { role?: string; condition?: string };

/**
 * Reduces a workflow in any of the three notations to one definition.
 *
 * Never throws: faults are reported, and the rest is read.
 */
export function reduceWorkflow(report: Report, value: JsonValue): Reduction {
  const errors = errorsOfWorkflow(value);
  const faults = errors.length === 0 ? [] : faultsOf(notationSchema, value, errors);
  for (const { code, path, message, hint, at } of faults) report.error(code, path, message, { hint, at });
  const given = isJsonObject(value) ? value : {};
  const sound = soundPart(notationSchema, given, faults);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The sound part of a file is what its schema accepts.
  const file = (isJsonObject(sound) ? sound : {}) as WorkflowFile;
  const faulty = new Set(faults.map(({ path }) => JSON.stringify(path)));
  const isFaulty = (...path: Path): boolean => faulty.has(JSON.stringify(path));

  const roles = Object.entries(file.roles ?? {}).map(([name, role]) => readRole(name, role ?? {}));
  const names = Object.keys(file.blocks ?? {});
  const blocks = Object.entries(file.blocks ?? {}).flatMap(([name, block]) => readBlock(name, block) ?? []);
  // Branches of blocks can run other workflows alone.
  if (isJsonObject(value) && (given['blocks'] ?? null) === null) {
    if ((given['roles'] ?? null) === null) report.error('missing-key', [], "the workflow lacks 'roles'", { at: 'key' });
    if (file.roles !== undefined && roles.length === 0)
      report.error('no-roles', ['roles'], 'the workflow has no role', { at: 'key' });
  }
  const conditions = readConditions(file.conditions ?? {});
  const reader = new RuleReader(report, conditions, isFaulty);
  if (file.moderator !== undefined) reader.readModerator(file.moderator);
  else reader.readGraph(file.graph);
  const { rules } = reader;
  const limits = limitsIn(file.limits);
  const definition: WorkflowDefinition = {
    name: file.name ?? '',
    description: file.description ?? '',
    roles: Object.fromEntries(roles.map(({ name, role }) => [name, role])),
    ...(blocks.length > 0 && { blocks: Object.fromEntries(blocks.map(({ name, block }) => [name, block])) }),
    moderator: rules.map(({ rule }) => rule),
    ...(limits && { limits }),
    ...(file.isolation && { isolation: file.isolation }),
  };
  return {
    definition,
    roles,
    blocks,
    places: [...roles, ...blocks.flatMap((block) => asRole(definition, block))],
    rules,
    unusedConditions: [...conditions].filter(([, { isUsed }]) => !isUsed),
    isComplete:
      reader.isComplete &&
      blocks.length === names.length &&
      !isFaulty('blocks') &&
      (file.roles !== undefined || ((given['roles'] ?? null) === null && blocks.length > 0)),
  };
}

/** Reads a role. Faulty parts are read as empty, so that the others can still be checked. */
function readRole(name: string, file: RoleFile): SourceRole {
  const path = ['roles', name];
  const { description = '', extractPrompt = '', retries, snapshot, cwd, isolation } = file;
  const schema = file.schema ?? file.frontmatter;
  const checks = readChecks(file.check, [...path, 'check']);
  const limits = limitsIn(file.limits);
  const needs = (file.needs ?? []).filter((label) => label !== null).toSorted();
  const role: RoleDefinition = {
    description,
    systemPrompt: joinPrompt(file),
    extractPrompt,
    schema: schema ?? {},
    ...(checks.length > 0 && { check: checks.map(({ check }) => check) }),
    ...(limits && { limits }),
    ...(retries !== undefined && { retries }),
    ...(snapshot !== undefined && { snapshot: snapshot === true ? 'on' : snapshot || 'off' }),
    ...(cwd !== undefined && { cwd }),
    ...(isolation && { isolation }),
    ...(needs.length > 0 && { needs }),
  };
  const schemaKey = file.schema === undefined && file.frontmatter !== undefined ? 'frontmatter' : 'schema';
  return {
    name,
    title: nameOf(notationSchema, path),
    path,
    role,
    schemaPath: [...path, schemaKey],
    hasSchema: schema !== undefined,
    checkPaths: checks.map((check) => check.path),
  };
}

function readChecks(check: RoleFile['check'], path: Path): { check: RoleCheck; path: Path }[] {
  const items = Array.isArray(check)
    ? check.map((item, at) => ({ item, path: [...path, at] }))
    : [{ item: check, path }];
  return items.flatMap(({ item, path: place }) => {
    const { expression, message = '' } = item ?? {};
    return expression === undefined ? [] : [{ check: { expression, message }, path: [...place, 'expression'] }];
  });
}

/** Joins the four parts of a prompt in the notation of United Workforce, each under its heading. */
function joinPrompt({ systemPrompt, goal, capabilities, procedure, output }: RoleFile): string {
  const parts = Object.entries({
    Goal: goal,
    Capabilities: capabilities?.map((item) => `- ${item}`).join('\n'),
    Procedure: procedure,
    Output: output,
  }).flatMap(([heading, text = '']) => (text.trim() === '' ? [] : [`## ${heading}\n\n${text.trim()}\n`]));
  if (parts.length === 0) return systemPrompt ?? '';
  return [...(systemPrompt === undefined ? [] : [`${systemPrompt.trim()}\n`]), ...parts].join('\n');
}

function limitsIn(file: ThreadLimits = {}): ThreadLimits | undefined {
  const { unknownUsage } = file;
  const limits: Limits = Object.fromEntries(
    limitNames.flatMap((name) => (file[name] === undefined ? [] : [[name, file[name]]])),
  );
  if (Object.keys(limits).length === 0 && unknownUsage === undefined) return undefined;
  return { ...limits, ...(unknownUsage && { unknownUsage }) };
}

/** A block as a role, because rules lead to it and its step is recorded like a role's. */
function asRole(definition: WorkflowDefinition, { name, path }: SourceBlock): SourceRole[] {
  const role = Object.hasOwn(definition.roles, name) ? undefined : findRole(definition, name);
  const title = nameOf(notationSchema, path);
  return role ? [{ name, title, path, role, schemaPath: [...path, 'join'], hasSchema: true, checkPaths: [] }] : [];
}

/** Reads a block; `undefined` if it cannot be read because of its faults. */
function readBlock(name: string, file: BlockFile | null): SourceBlock | undefined {
  const { branches: given, each, onFailure, isolation, merge } = file ?? {};
  if ((given === undefined) === (each === undefined)) return undefined;
  const tasks = Object.entries(given ?? {}).flatMap(([key, branch]) => {
    const task = taskOf(branch);
    return task ? [[key, task] as const] : [];
  });
  const task = taskOf(each ?? null);
  const { over, as, key, atOnce } = each ?? {};
  const isWhole = task !== undefined && over !== undefined && as !== undefined && key !== undefined;
  const of: Pick<BlockDefinition, 'branches' | 'each'> | undefined =
    given !== undefined
      ? tasks.length === Object.keys(given).length
        ? { branches: Object.fromEntries(tasks) }
        : undefined
      : isWhole
        ? { each: { ...task, over, as, key, ...(atOnce !== undefined && { atOnce }) } }
        : undefined;
  if (of === undefined) return undefined;
  // Without the block, each edge from and to it would be reported, too.
  const join =
    file?.join === undefined || (typeof file.join === 'object' && file.join.atLeast === undefined) ? 'all' : file.join;
  const joined = { ...of, join, ...(merge?.order && { merge: { order: merge.order } }) };
  const options = { ...(onFailure && { onFailure }), ...(isolation && { isolation }) };
  return {
    name,
    path: ['blocks', name],
    block: { ...joined, ...options, schema: file?.schema ?? blockSchema(joined) },
  };
}

function taskOf(file: BranchFile | null): BranchDefinition | undefined {
  const { workflow, role, prompt } = file ?? {};
  const told = prompt === undefined ? {} : { prompt };
  if (workflow !== undefined && role === undefined) return { workflow, ...told };
  return role !== undefined && workflow === undefined ? { role, ...told } : undefined;
}

/** A branch of a block, or its `each`. */
type SourceBranch = {
  branch: BranchDefinition;
  /** Absent for an `each`. */
  key?: string;
  /** How messages name it. */
  title: string;
  path: Path;
};

/** In the order of the file. */
export function branchesOf({ block, path }: SourceBlock): SourceBranch[] {
  return tasksOf(block).map(([key, branch]) => {
    const own = key === undefined ? [...path, 'each'] : [...path, 'branches', key];
    return { branch, ...(key !== undefined && { key }), title: nameOf(notationSchema, own), path: own };
  });
}

/**
 * The schema of the meta of a block's step. It is stored with the workflow, so its text is part of the hash of every workflow
 * with a block: a changed schema is for new workflows only.
 */
export function blockSchema({ join, merge }: Pick<BlockDefinition, 'join' | 'merge'>): JsonObject {
  const isOpen = isExpression(join);
  const statuses = [JOINED, FAILED, ...(merge ? [CONFLICT] : [])];
  const conflicts: JsonObject = {
    type: 'array',
    items: closedObject({
      path: { type: 'string' },
      kind: { type: 'string' },
      keys: { type: 'array', items: { type: 'string' } },
    }),
  };
  return closedObject(
    {
      $status: isOpen ? { type: 'string', minLength: 1 } : { enum: statuses },
      order: { type: 'array', items: { type: 'string' }, uniqueItems: true },
      branches: {
        type: 'object',
        additionalProperties: closedObject({
          status: { type: ['string', 'null'] },
          meta: { type: ['object', 'null'] },
          end: closedObject({
            outcome: { enum: ['completed', 'failed', 'cancelled'] },
            returnCode: { type: 'integer' },
            summary: { type: 'string' },
          }),
        }),
      },
      ...(merge && { conflicts }),
    },
    ['conflicts'],
  );
}

/** Reads `conditions`: for each name an expression, or a map of `expression` and `description`. */
function readConditions(file: NonNullable<WorkflowFile['conditions']>): Map<string, Condition> {
  const conditions = new Map<string, Condition>();
  for (const [name, item] of Object.entries(file)) {
    const path = ['conditions', name];
    const isText = typeof item === 'string';
    const expression = isText ? item : item?.expression;
    if (expression !== undefined)
      conditions.set(name, { expression, path: isText ? path : [...path, 'expression'], isUsed: false });
  }
  return conditions;
}

/**
 * Reads rules in their order: the list under `moderator`; or the short form, in which each role has either a map from `$status` to where
 * it leads, or a list of edges with conditions. Where a status leads may be such a list too. `$START` has `new` and `resume`, or is a
 * list like any other.
 * Source of the short form: the notation of United Workforce.
 */
class RuleReader {
  readonly rules: SourceRule[] = [];
  /** False if one could not be read: then missing rules are not reported. */
  isComplete: boolean = true;
  readonly #report: Report;
  readonly #conditions: Map<string, Condition>;
  readonly #isFaulty: (...path: Path) => boolean;

  constructor(report: Report, conditions: Map<string, Condition>, isFaulty: (...path: Path) => boolean) {
    this.#report = report;
    this.#conditions = conditions;
    this.#isFaulty = isFaulty;
  }

  readModerator(file: NonNullable<WorkflowFile['moderator']>): void {
    for (const [at, item] of file.entries()) {
      const path = ['moderator', at];
      const { from, to } = item ?? {};
      this.#add(from, to, item, {
        whole: { path },
        from: { path: [...path, 'from'] },
        to: { path: [...path, 'to'] },
        when: { path: [...path, 'when'] },
      });
    }
  }

  readGraph(file: WorkflowFile['graph']): void {
    if (file === undefined || this.#isFaulty('graph', '$START')) this.isComplete = false;
    for (const [name, node] of Object.entries(file ?? {})) {
      const path = ['graph', name];
      if (name === '$END' || name === '$SUSPEND') continue;
      if (node === null) this.isComplete = false;
      else if (Array.isArray(node)) node.forEach((edge, at) => this.#readEdge(name, edge, [...path, at]));
      else {
        if (name === '$START' && node['new'] === undefined && node['resume'] === undefined) this.isComplete = false;
        for (const [status, edges] of Object.entries(node)) {
          const place = [...path, status];
          if (Array.isArray(edges)) edges.forEach((edge, at) => this.#readEdge(name, edge, [...place, at], status));
          else this.#readEdge(name, edges, place, status);
        }
      }
    }
  }

  /** @param status absent in a list of edges with conditions, which may name one */
  #readEdge(node: string, edge: EdgeFile | null, path: Path, status?: string): void {
    const from = node !== '$START' ? node : status === 'resume' ? RESUME : START;
    const to = edge?.role === '$END' ? END : edge?.role;
    const at = path.at(-1) === status ? 'key' : undefined;
    const given = edge?.when !== undefined && edge.when !== null;
    const added = this.#add(from, to, edge, {
      whole: { path, at: 'key' },
      from: { path: path.slice(0, 2), at: 'key' },
      to: { path: [...path, 'role'] },
      when: given ? { path: [...path, 'when'] } : { path, at },
    });
    if (added === undefined) return;
    if (status === undefined) this.#nameCondition(added, edge?.condition, [...path, 'condition']);
    else if (from === node) {
      const asked = statusCondition(status);
      added.rule.when = added.condition === undefined ? asked : `${asked} and (${added.condition})`;
      added.status = status;
    }
  }

  #add(
    from: string | undefined,
    to: string | undefined,
    file: Partial<Rule> | EdgeFile | null,
    places: Pick<SourceRule, 'whole' | 'from' | 'to' | 'when'>,
  ): SourceRule | undefined {
    const { path } = places.whole;
    const { when = null, on, prompt, location, returnCode } = file ?? {};
    if (from === undefined || to === undefined || this.#isFaulty(...path, 'when') || this.#isFaulty(...path, 'on')) {
      this.isComplete = false;
      return undefined;
    }
    const name = nameOf(notationSchema, path);
    if (returnCode !== undefined && to !== END) {
      const message = `${name} does not end the thread, so it has no returnCode`;
      const hint = 'only a rule to __end__ ($END in a graph) carries one';
      this.#report.error('misplaced-return-code', [...path, 'returnCode'], message, { hint, at: 'key' });
    }
    const rule: Rule = {
      from,
      to,
      when,
      ...(on && { on }),
      ...(prompt !== undefined && { prompt }),
      ...(location !== undefined && { location }),
      ...(returnCode !== undefined && { returnCode }),
    };
    const added = { rule, ...(when !== null && { condition: when }), name, ...places };
    this.rules.push(added);
    return added;
  }

  /** Puts the condition that an edge names in its place. An edge that names none that there is is not read. */
  #nameCondition(edge: SourceRule, name: string | undefined, path: Path): void {
    if (name === undefined) return;
    if (edge.condition !== undefined) {
      const hint = 'keep one; a condition of that name may say both';
      const message = `${edge.name} has both 'when' and 'condition'`;
      this.#report.error('two-conditions', path, message, { hint, at: 'key' });
    }
    const condition = this.#conditions.get(name);
    if (condition === undefined) {
      const message = `${edge.name} asks for the condition '${name}', which is not defined`;
      const hint = didYouMean(name, this.#conditions.keys());
      this.#report.error('unknown-condition', path, message, { hint });
      this.rules.pop();
      this.isComplete = false;
      return;
    }
    condition.isUsed = true;
    const { expression, path: place } = condition;
    edge.rule.when = expression;
    edge.condition = expression;
    edge.when = { path: place };
  }
}
