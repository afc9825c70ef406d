import { isJsonObject, type JsonValue } from '../../json.ts';
import type { WorkflowDefinition } from '../definition.ts';
import type { Report } from '../report.ts';
import type { Path } from '../source/source-map.ts';
import { field, readFields, readText, reportMissing, reportType, type Fields } from './fields.ts';
import { workflowProperties } from './file-schema.ts';
import { readConditions, type Condition } from './read-conditions.ts';
import { readGraph } from './read-graph.ts';
import { readLimits } from './read-limits.ts';
import { readRole, type ReadRole } from './read-role.ts';
import { readRules, type ReadRules, type SourceRule } from './read-rules.ts';

/** A role, and where it stands. */
export type SourceRole = ReadRole & { name: string; path: Path };

/** A workflow reduced to rules, with the way back to what its author wrote. */
export type Reduction = {
  /** Whatever could be read. Complete and right only if nothing was reported. */
  definition: WorkflowDefinition;
  roles: SourceRole[];
  /** As `definition.moderator`, in the same order. */
  rules: SourceRule[];
  /** Conditions that no edge asks for; they have to compile all the same. */
  unusedConditions: [string, Condition][];
  /** False when a rule or a role could not be read: then nothing can be said of what is missing. */
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
 * Never throws: what is wrong is reported, and the rest is read as far as it goes.
 */
export function reduceWorkflow(report: Report, value: JsonValue | undefined): Reduction {
  const fields = readFields(report, value, [], 'the workflow', Object.keys(workflowProperties), instead);
  if (fields === undefined) {
    const definition = { name: '', description: '', roles: {}, moderator: [] };
    return { definition, roles: [], rules: [], unusedConditions: [], isComplete: false };
  }
  checkVersion(report, fields);
  const name = readText(report, fields, 'name');
  if (name === '' || field(fields, 'name') === undefined) reportMissing(report, fields, 'name');
  const roles = readRoles(report, fields);
  const conditions = readConditions(report, field(fields, 'conditions'), ['conditions']);
  const read = readModerator(report, fields, (graph) => readGraph(report, graph, ['graph'], conditions));
  const limits = readLimits(report, field(fields, 'limits'), ['limits'], 'the workflow');
  const definition: WorkflowDefinition = {
    name: name ?? '',
    description: readText(report, fields, 'description') ?? '',
    roles: Object.fromEntries(roles.map((role) => [role.name, role.role])),
    moderator: read.rules.map((rule) => rule.rule),
    ...(limits && { limits }),
  };
  return {
    definition,
    roles,
    rules: read.rules,
    unusedConditions: conditions.unused(),
    isComplete: read.isComplete && isJsonObject(field(fields, 'roles')),
  };
}

function checkVersion(report: Report, fields: Fields): void {
  const version = field(fields, 'version');
  if (version === undefined || version === 1) return;
  report.error(
    'unknown-version',
    ['version'],
    `this uwf reads version 1 of the notation, not ${JSON.stringify(version)}`,
  );
}

function readRoles(report: Report, fields: Fields): SourceRole[] {
  const value = field(fields, 'roles');
  if (value === undefined) {
    reportMissing(report, fields, 'roles');
    return [];
  }
  if (!isJsonObject(value)) {
    reportType(report, ['roles'], "'roles'", 'a map from names to roles', value);
    return [];
  }
  const names = Object.keys(value);
  if (names.length === 0) report.error('no-roles', ['roles'], 'the workflow has no role', { at: 'key' });
  return names.map((name) => {
    const path = ['roles', name];
    return { name, path, ...readRole(report, name, value[name] ?? null, path) };
  });
}

function readModerator(report: Report, fields: Fields, read: (graph: JsonValue) => ReadRules): ReadRules {
  const moderator = field(fields, 'moderator');
  const graph = field(fields, 'graph');
  if (moderator !== undefined && graph !== undefined) {
    report.error('two-notations', ['graph'], "the workflow has both 'moderator' and 'graph'", {
      hint: 'they say the same in two ways; keep one',
      at: 'key',
    });
  }
  if (moderator === undefined && field(fields, 'conditions') !== undefined && graph === undefined) {
    reportMissing(report, fields, 'graph', "'conditions' are what its edges ask for");
    return { rules: [], isComplete: false };
  }
  if (moderator !== undefined) return readRules(report, moderator, ['moderator']);
  if (graph !== undefined) return read(graph);
  reportMissing(report, fields, 'moderator', "the rules that lead from role to role; or the short form 'graph'");
  return { rules: [], isComplete: false };
}
