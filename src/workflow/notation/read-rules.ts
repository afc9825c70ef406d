import type { JsonValue } from '../../json.ts';
import { END, type Rule } from '../definition.ts';
import type { Report } from '../diagnostics/report.ts';
import type { DiagnosticTarget, Path } from '../source/source-map.ts';
import { returnCodeBounds, ruleProperties } from './file-schema.ts';
import { readFields, reportType, type Fields } from './fields.ts';

/** Where to point when something of a rule is wrong. */
export type RulePlace = { path: Path; at?: DiagnosticTarget | undefined };

/** A rule, and where its parts stand in the notation it was written in. */
export type SourceRule = {
  rule: Rule;
  /** How messages name it: `rule 3`, `the edge 'done' of 'writer'`. */
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

/** The rules of a notation. `isComplete` is false if one could not be read: then missing rules are not reported. */
export type ReadRules = { rules: SourceRule[]; isComplete: boolean };

const instead = {
  condition: "it is called 'when'",
  if: "it is called 'when'",
  role: "the next role is 'to'",
  status: "write it as when: \"$steps[-1].meta.`$status` = '…'\", or use 'graph'",
};

/** Reads the ordered list of rules under `moderator`. */
export function readRules(report: Report, value: JsonValue): ReadRules {
  if (!Array.isArray(value)) {
    reportType(report, ['moderator'], "'moderator'", 'a list of rules', value);
    return { rules: [], isComplete: false };
  }
  const read = value.map((item, index) => readRule(report, item, ['moderator', index], `rule ${index + 1}`));
  const rules = read.filter((rule) => rule !== undefined);
  return { rules, isComplete: rules.length === read.length };
}

function readRule(report: Report, value: JsonValue, path: Path, name: string): SourceRule | undefined {
  const fields = readFields(report, value, path, name, Object.keys(ruleProperties), instead);
  if (fields === undefined) return undefined;
  const from = fields.text('from');
  const to = fields.text('to');
  const condition = readCondition(fields);
  fields.need('from');
  fields.need('to');
  if (from === undefined || to === undefined || condition === undefined) return undefined;
  return {
    rule: { from, to, ...condition, ...readTarget(fields, to) },
    ...(condition.when !== null && { condition: condition.when }),
    name,
    whole: { path },
    from: { path: fields.pathOf('from') },
    to: { path: fields.pathOf('to') },
    when: { path: fields.pathOf('when') },
  };
}

/** Reads `when` and `on` of a rule or an edge; `undefined` where something else stands there, which is reported. */
export function readCondition(fields: Fields): Pick<Rule, 'when' | 'on'> | undefined {
  const when = fields.get('when') ?? null;
  const on = fields.get('on');
  const hasCondition = when === null || typeof when === 'string';
  if (!hasCondition) {
    const hint = when === true ? "a rule that always holds has 'when: null'" : undefined;
    const message = `'when' of ${fields.name} must be a JSONata expression or null`;
    fields.reportFault('wrong-type', 'when', message, { hint });
  }
  if (on !== undefined && on !== 'limit') fields.reportType('on', "'limit'");
  if (!hasCondition || (on !== undefined && on !== 'limit')) return undefined;
  return { when, ...(on && { on }) };
}

/** Reads the properties of a rule's target, the same in each notation. */
export function readTarget(fields: Fields, to: string): Pick<Rule, 'prompt' | 'location' | 'returnCode'> {
  const prompt = fields.text('prompt');
  const location = fields.text('location');
  const returnCode = fields.integer('returnCode', returnCodeBounds);
  if (prompt?.trim() === '') {
    const hint = 'say what the next role is to do, or leave the key out';
    fields.reportFault('empty-prompt', 'prompt', `the prompt of ${fields.name} is empty`, { hint });
  }
  if (fields.get('returnCode') !== undefined && to !== END) {
    const message = `${fields.name} does not end the thread, so it has no returnCode`;
    const hint = 'only a rule to __end__ ($END in a graph) carries one';
    fields.reportFault('misplaced-return-code', 'returnCode', message, { hint, at: 'key' });
  }
  return {
    ...(prompt !== undefined && { prompt }),
    ...(location !== undefined && { location }),
    ...(returnCode !== undefined && { returnCode }),
  };
}
