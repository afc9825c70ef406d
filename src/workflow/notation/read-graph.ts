import { isJsonObject, type JsonObject, type JsonValue } from '../../json.ts';
import { END, RESUME, START } from '../definition.ts';
import { didYouMean } from '../did-you-mean.ts';
import type { Report } from '../report.ts';
import type { Path } from '../source/source-map.ts';
import { conditionalEdgeProperties, edgeProperties, startProperties } from './file-schema.ts';
import { field, readFields, readText, reportMissing, reportType, type Fields } from './fields.ts';
import type { Conditions } from './read-conditions.ts';
import { readOn, readTarget, readWhen, type ReadRules, type RulePlace, type SourceRule } from './read-rules.ts';
import { statusCondition } from './status-condition.ts';

const suspendHint =
  "suspending is no edge: a role suspends the thread by replying with $status: '$SUSPEND' and a reason";

type Node = { name: string; value: JsonValue; path: Path };

/**
 * Reads the short form: for each role either a map from `$status` to where it leads, or a list of edges with conditions.
 * Where a status leads may be such a list too.
 *
 * `$START` has `new` and `resume`, or is a list like any other. Rules come out in file order: roles, then their statuses.
 * Source: the notation of United Workforce.
 */
export function readGraph(report: Report, value: JsonValue, path: Path, conditions: Conditions): ReadRules {
  if (!isJsonObject(value)) {
    reportType(report, path, "'graph'", 'a map from each role to where it leads', value);
    return { rules: [], isComplete: false };
  }
  const rules: SourceRule[] = [];
  let isComplete = true;
  for (const [name, node] of Object.entries(value)) {
    const read = readNode(report, { name, value: node, path: [...path, name] }, conditions);
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
      const rule = readEdge(report, node, one.value, { known: edgeProperties, ...one });
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
  const rules: SourceRule[] = [];
  for (const [index, value] of items.entries()) {
    const path = [...node.path, index];
    const name = `edge ${index + 1} of ${node.name}`;
    const edge = readEdge(report, node, value, { path, name, known: conditionalEdgeProperties });
    if (edge === undefined || !isJsonObject(value)) continue;
    const conditionPath = [...path, 'condition'];
    const condition = readText(report, { values: value, path, name }, 'condition');
    if (condition === undefined) {
      rules.push(edge);
      continue;
    }
    if (edge.condition !== undefined) {
      const hint = 'keep one; a condition of that name may say both';
      report.error('two-conditions', conditionPath, `${name} has both 'when' and 'condition'`, { hint, at: 'key' });
    }
    const known = conditions.get(condition);
    conditions.use(condition);
    if (known === undefined) {
      report.error(
        'unknown-condition',
        conditionPath,
        `${name} asks for the condition '${condition}', which is not defined`,
        {
          hint: didYouMean(condition, conditions.names()),
        },
      );
    } else {
      const { expression } = known;
      rules.push({
        ...edge,
        rule: { ...edge.rule, when: expression },
        condition: expression,
        when: { path: known.path },
      });
    }
  }
  return { rules, isComplete: rules.length === items.length };
}

type EdgeOptions = RulePlace & { name: string; known: JsonObject };

function readEdge(report: Report, node: Node, value: JsonValue, options: EdgeOptions): SourceRule | undefined {
  const { path, at, name, known } = options;
  const instead = { to: "the next role is 'role' in a graph", if: "it is called 'when'" };
  const fields = readFields(report, value, path, name, Object.keys(known), instead);
  if (fields === undefined) return undefined;
  const to = readNext(report, fields);
  const when = readWhen(report, fields);
  const on = readOn(report, fields);
  if (to === undefined || when === undefined || on === undefined) return undefined;
  const from = node.name === '$START' ? START : node.name;
  return {
    rule: { from, to, when, ...on, ...readTarget(report, fields, to) },
    ...(when !== null && { condition: when }),
    name,
    whole: { path, at: 'key' },
    from: { path: node.path, at: 'key' },
    to: { path: [...path, 'role'] },
    when: when === null ? { path, ...(at && { at }) } : { path: [...path, 'when'] },
    prompt: [...path, 'prompt'],
    location: [...path, 'location'],
    returnCode: [...path, 'returnCode'],
  };
}

function readNext(report: Report, fields: Fields): string | undefined {
  const role = readText(report, fields, 'role');
  if (role === '$SUSPEND') {
    report.error('reserved-name', [...fields.path, 'role'], `${fields.name} leads to $SUSPEND`, { hint: suspendHint });
    return undefined;
  }
  if (field(fields, 'role') === undefined) reportMissing(report, fields, 'role', "the next role, or '$END'");
  return role === '$END' ? END : role;
}
