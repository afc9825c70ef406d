import { isJsonObject, type JsonObject, type JsonValue } from '../../json.ts';
import { END, RESUME, START } from '../definition.ts';
import { didYouMean, type Report } from '../diagnostics/report.ts';
import type { Path } from '../source/source-map.ts';
import { conditionalEdgeProperties, conditionProperties, edgeProperties, startProperties } from './file-schema.ts';
import { readFields, reportType, type Fields } from './fields.ts';
import { readCondition, readTarget, type ReadRules, type RulePlace, type SourceRule } from './read-rules.ts';
import { statusCondition } from './status-condition.ts';

const suspendHint =
  "suspending is no edge: a role suspends the thread by replying with $status: '$SUSPEND' and a reason";

/** A condition that edges name: its JSONata, and where that stands. */
export type Condition = { expression: string; path: Path; isUsed: boolean };

export type Conditions = Map<string, Condition>;

type Node = { name: string; value: JsonValue; path: Path };

/** Reads `conditions`: for each name an expression, or a map of `expression` and `description`. */
export function readConditions(report: Report, value: JsonValue | undefined): Conditions {
  const conditions: Conditions = new Map();
  if (value === undefined) return conditions;
  if (!isJsonObject(value)) {
    reportType(report, ['conditions'], "'conditions'", 'a map from names to expressions', value);
    return conditions;
  }
  for (const [name, item] of Object.entries(value)) {
    const path = ['conditions', name];
    if (typeof item === 'string') {
      conditions.set(name, { expression: item, path, isUsed: false });
      continue;
    }
    const fields = readFields(report, item, path, `condition '${name}'`, Object.keys(conditionProperties));
    fields?.text('description');
    const expression = fields?.text('expression');
    fields?.need('expression');
    if (expression !== undefined) conditions.set(name, { expression, path: [...path, 'expression'], isUsed: false });
  }
  return conditions;
}

/**
 * Reads the short form: for each role either a map from `$status` to where it leads, or a list of edges with conditions.
 * Where a status leads may be such a list too.
 *
 * `$START` has `new` and `resume`, or is a list like any other. Rules come out in file order: roles, then their statuses.
 * Source: the notation of United Workforce.
 */
export function readGraph(report: Report, value: JsonValue, conditions: Conditions): ReadRules {
  if (!isJsonObject(value)) {
    reportType(report, ['graph'], "'graph'", 'a map from each role to where it leads', value);
    return { rules: [], isComplete: false };
  }
  const rules: SourceRule[] = [];
  let isComplete = true;
  for (const [name, node] of Object.entries(value)) {
    const read = readNode(report, { name, value: node, path: ['graph', name] }, conditions);
    rules.push(...read.rules);
    isComplete &&= read.isComplete;
  }
  return { rules, isComplete };
}

function readNode(report: Report, node: Node, conditions: Conditions): ReadRules {
  if (node.name === '$END' || node.name === '$SUSPEND') {
    const hint = node.name === '$SUSPEND' ? suspendHint : 'remove it; what is over leads nowhere';
    report.error('reserved-name', node.path, `nothing leads on from ${node.name}`, { hint, at: 'key' });
    return { rules: [], isComplete: true };
  }
  if (Array.isArray(node.value)) return readConditional(report, node, node.value, conditions);
  if (isJsonObject(node.value)) return readByStatus(report, node, node.value);
  const wanted = 'a map from $status to where it leads, or a list of conditions';
  reportType(report, node.path, `'${node.name}' of the graph`, wanted, node.value);
  return { rules: [], isComplete: false };
}

function readByStatus(report: Report, node: Node, edges: JsonObject): ReadRules {
  const rules: SourceRule[] = [];
  let isComplete = true;
  for (const [status, value] of Object.entries(edges)) {
    const path = [...node.path, status];
    if (node.name === '$START' && !Object.hasOwn(startProperties, status)) {
      const hint = status === '_' ? "did you mean 'new'?" : didYouMean(status, Object.keys(startProperties));
      report.error('unknown-key', path, `$START has no edge '${status}'`, { hint, at: 'key' });
      isComplete = false;
      continue;
    }
    const place = { path, name: `edge '${status}' of ${node.name}`, at: 'key' } as const;
    const places = Array.isArray(value)
      ? value.map((item, index) => ({
          value: item,
          path: [...path, index],
          name: `edge ${index + 1} of '${status}' of ${node.name}`,
        }))
      : [{ value, ...place }];
    if (places.length === 0) {
      report.error('no-edge', path, `${place.name} leads nowhere`, { at: 'key' });
      isComplete = false;
    }
    for (const one of places) {
      const rule = readEdge(report, node, one.value, one);
      if (rule === undefined) isComplete = false;
      else rules.push(node.name === '$START' ? atStart(rule, status) : atStatus(rule, status));
    }
  }
  return { rules, isComplete };
}

function atStart(edge: SourceRule, status: string): SourceRule {
  return { ...edge, rule: { ...edge.rule, from: status === 'new' ? START : RESUME } };
}

function atStatus(edge: SourceRule, status: string): SourceRule {
  const { rule, condition } = edge;
  const asked = statusCondition(status);
  return { ...edge, rule: { ...rule, when: condition === undefined ? asked : `${asked} and (${condition})` }, status };
}

function readConditional(report: Report, node: Node, items: readonly JsonValue[], conditions: Conditions): ReadRules {
  const rules = items.flatMap((value, index) => {
    const place = { path: [...node.path, index], name: `edge ${index + 1} of ${node.name}` };
    return readEdge(report, node, value, place, conditions) ?? [];
  });
  return { rules, isComplete: rules.length === items.length };
}

/** @param conditions those that the edge may name; absent where edges are chosen by a status */
function readEdge(
  report: Report,
  node: Node,
  value: JsonValue,
  { path, at, name }: RulePlace & { name: string },
  conditions?: Conditions,
): SourceRule | undefined {
  const known = conditions === undefined ? edgeProperties : conditionalEdgeProperties;
  const instead = { to: "the next role is 'role' in a graph", if: "it is called 'when'" };
  const fields = readFields(report, value, path, name, Object.keys(known), instead);
  if (fields === undefined) return undefined;
  const to = readNext(fields);
  const condition = readCondition(fields);
  if (to === undefined || condition === undefined) return undefined;
  const { when } = condition;
  const edge: SourceRule = {
    rule: { from: node.name === '$START' ? START : node.name, to, ...condition, ...readTarget(fields, to) },
    ...(when !== null && { condition: when }),
    name,
    whole: { path, at: 'key' },
    from: { path: node.path, at: 'key' },
    to: { path: fields.pathOf('role') },
    when: when === null ? { path, at } : { path: fields.pathOf('when') },
  };
  return conditions === undefined ? edge : withCondition(edge, fields, conditions);
}

/** Puts the condition that an edge names in its place; `undefined` if there is none of that name. */
function withCondition(edge: SourceRule, fields: Fields, conditions: Conditions): SourceRule | undefined {
  const name = fields.text('condition');
  if (name === undefined) return edge;
  if (edge.condition !== undefined) {
    const hint = 'keep one; a condition of that name may say both';
    const message = `${edge.name} has both 'when' and 'condition'`;
    fields.reportFault('two-conditions', 'condition', message, { hint, at: 'key' });
  }
  const condition = conditions.get(name);
  if (condition === undefined) {
    const message = `${edge.name} asks for the condition '${name}', which is not defined`;
    fields.reportFault('unknown-condition', 'condition', message, { hint: didYouMean(name, conditions.keys()) });
    return undefined;
  }
  condition.isUsed = true;
  const { expression: when, path } = condition;
  return { ...edge, rule: { ...edge.rule, when }, condition: when, when: { path } };
}

function readNext(fields: Fields): string | undefined {
  const role = fields.text('role');
  if (role === '$SUSPEND') {
    fields.reportFault('reserved-name', 'role', `${fields.name} leads to $SUSPEND`, { hint: suspendHint });
    return undefined;
  }
  fields.need('role', "the next role, or '$END'");
  return role === '$END' ? END : role;
}
