import { isJsonObject, type JsonValue } from '../../json.ts';
import { isolations } from '../../schema/built-in/schema-parts.ts';
import { findRole, type WorkflowDefinition } from '../definition.ts';
import type { Report } from '../diagnostics/report.ts';
import type { Path } from '../source/source-map.ts';
import { readFields, reportType, type Fields } from './fields.ts';
import { workflowProperties } from './file-schema.ts';
import { readBlocks, type SourceBlock } from './read-blocks.ts';
import { readConditions, readGraph, type Condition, type Conditions } from './read-graph.ts';
import { readRole, type ReadRole, readThreadLimits } from './read-role.ts';
import { readRules, type ReadRules, type SourceRule } from './read-rules.ts';

/** A role, and where it stands. */
export type SourceRole = ReadRole & {
  name: string;
  /** How messages name it: `role 'writer'`, `block 'reviews'`. */
  title: string;
  path: Path;
};

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

const instead = {
  rules: "the rules are under 'moderator'",
  steps: "a workflow has 'roles' and the rules ('moderator' or 'graph') that lead from one to the next",
  agents: 'agents are bound in the configuration, never by a workflow',
  maxSteps: "it belongs under 'limits'",
  schema: 'every role has its own',
};

/**
 * Reduces a workflow in any of the three notations to one definition.
 *
 * Never throws: faults are reported, and the rest is read.
 */
export function reduceWorkflow(report: Report, value: JsonValue | undefined): Reduction {
  const fields = readFields(report, value, [], 'the workflow', Object.keys(workflowProperties), instead);
  if (fields === undefined) {
    const definition = { name: '', description: '', roles: {}, moderator: [] };
    return { definition, roles: [], blocks: [], places: [], rules: [], unusedConditions: [], isComplete: false };
  }
  const version = fields.get('version') ?? 1;
  if (version !== 1) {
    const message = `this uwf reads version 1 of the notation, not ${JSON.stringify(version)}`;
    fields.reportFault('unknown-version', 'version', message);
  }
  const name = fields.text('name');
  if (name === '') fields.reportMissing('name');
  fields.need('name');
  const roles = readRoles(report, fields);
  const { blocks, isComplete: haveBlocks } = readBlocks(report, fields);
  const conditions = readConditions(report, fields.get('conditions'));
  const read = readModerator(report, fields, conditions);
  const limits = readThreadLimits(report, fields);
  const isolation = fields.oneOf('isolation', isolations);
  const definition: WorkflowDefinition = {
    name: name ?? '',
    description: fields.text('description') ?? '',
    roles: Object.fromEntries(roles.map((role) => [role.name, role.role])),
    ...(blocks.length > 0 && { blocks: Object.fromEntries(blocks.map(({ name: key, block }) => [key, block])) }),
    moderator: read.rules.map((rule) => rule.rule),
    ...(limits && { limits }),
    ...(isolation && { isolation }),
  };
  return {
    definition,
    roles,
    blocks,
    places: [...roles, ...blocks.flatMap((block) => asRole(definition, block))],
    rules: read.rules,
    unusedConditions: [...conditions].filter(([, { isUsed }]) => !isUsed),
    isComplete:
      read.isComplete &&
      haveBlocks &&
      (fields.get('roles') === undefined ? blocks.length > 0 : isJsonObject(fields.get('roles'))),
  };
}

function asRole(definition: WorkflowDefinition, { name, path }: SourceBlock): SourceRole[] {
  const role = Object.hasOwn(definition.roles, name) ? undefined : findRole(definition, name);
  const title = `block '${name}'`;
  return role ? [{ name, title, path, role, schemaPath: [...path, 'join'], hasSchema: true, checkPaths: [] }] : [];
}

function readRoles(report: Report, fields: Fields): SourceRole[] {
  const value = fields.get('roles');
  // Branches of blocks can run other workflows alone.
  if (fields.get('blocks') === undefined) fields.need('roles');
  if (value === undefined) return [];
  if (!isJsonObject(value)) {
    reportType(report, ['roles'], "'roles'", 'a map from names to roles', value);
    return [];
  }
  const names = Object.keys(value);
  if (names.length === 0 && fields.get('blocks') === undefined)
    report.error('no-roles', ['roles'], 'the workflow has no role', { at: 'key' });
  return names.map((name) => {
    const path = ['roles', name];
    return { name, title: `role '${name}'`, path, ...readRole(report, name, value[name] ?? null, path) };
  });
}

function readModerator(report: Report, fields: Fields, conditions: Conditions): ReadRules {
  const moderator = fields.get('moderator');
  const graph = fields.get('graph');
  if (moderator !== undefined && graph !== undefined) {
    const options = { hint: 'they say the same in two ways; keep one', at: 'key' } as const;
    fields.reportFault('two-notations', 'graph', "the workflow has both 'moderator' and 'graph'", options);
  }
  if (moderator !== undefined) return readRules(report, moderator);
  if (graph !== undefined) return readGraph(report, graph, conditions);
  if (fields.get('conditions') !== undefined) {
    fields.reportMissing('graph', "'conditions' are what its edges ask for");
  } else {
    fields.reportMissing('moderator', "the rules that lead from role to role; or the short form 'graph'");
  }
  return { rules: [], isComplete: false };
}
