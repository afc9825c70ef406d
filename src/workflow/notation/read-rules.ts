import type { JsonValue } from '../../json.ts';
import type { Rule } from '../definition.ts';
import { END } from '../definition.ts';
import type { Report } from '../report.ts';
import type { Path, Target } from '../source/source-map.ts';
import { returnCodeBounds, ruleProperties } from './file-schema.ts';
import { field, readFields, readInteger, readText, reportMissing, reportType, type Fields } from './fields.ts';

/** Where to point when something of a rule is wrong. */
export type RulePlace = { path: Path; at?: Target };

/** A rule, and where its parts stand in the notation it was written in. */
export type SourceRule = {
  rule: Rule;
  /** How messages name it: `rule 3`, `the edge 'done' of 'writer'`. */
  name: string;
  whole: RulePlace;
  from: RulePlace;
  to: RulePlace;
  when: RulePlace;
  prompt: Path;
  location: Path;
  returnCode: Path;
  /** The `$status` it stands for, in the notation that routes by status. */
  status?: string;
  /** The condition as its author wrote it, at `when`; absent where there is none, or only a status. */
  condition?: string;
};

/** What a notation's rules amount to. `isComplete` is false when one could not be read: then nothing is said of what is missing. */
export type ReadRules = { rules: SourceRule[]; isComplete: boolean };

const instead = {
  condition: "it is called 'when'",
  if: "it is called 'when'",
  role: "the next role is 'to'",
  status: "write it as when: \"$steps[-1].meta.`$status` = '…'\", or use 'graph'",
};

/** Reads the ordered list of rules under `moderator`. */
export function readRules(report: Report, value: JsonValue, path: Path): ReadRules {
  if (!Array.isArray(value)) {
    reportType(report, path, "'moderator'", 'a list of rules', value);
    return { rules: [], isComplete: false };
  }
  const read = value.map((item, index) => readRule(report, item, [...path, index], `rule ${index + 1}`));
  const rules = read.filter((rule) => rule !== undefined);
  return { rules, isComplete: rules.length === read.length };
}

function readRule(report: Report, value: JsonValue, path: Path, name: string): SourceRule | undefined {
  const fields = readFields(report, value, path, name, Object.keys(ruleProperties), instead);
  if (fields === undefined) return undefined;
  const from = readText(report, fields, 'from');
  const to = readText(report, fields, 'to');
  const when = readWhen(report, fields);
  const on = readOn(report, fields);
  if (field(fields, 'from') === undefined) reportMissing(report, fields, 'from');
  if (field(fields, 'to') === undefined) reportMissing(report, fields, 'to');
  if (from === undefined || to === undefined || when === undefined || on === undefined) return undefined;
  const rest = readTarget(report, fields, to);
  return {
    rule: { from, to, when, ...on, ...rest },
    ...(when !== null && { condition: when }),
    name,
    whole: { path },
    from: { path: [...path, 'from'] },
    to: { path: [...path, 'to'] },
    when: { path: [...path, 'when'] },
    prompt: [...path, 'prompt'],
    location: [...path, 'location'],
    returnCode: [...path, 'returnCode'],
  };
}

/** Reads the condition of a rule or an edge: `null` where it always holds, `undefined` where it is (reported) something else. */
export function readWhen(report: Report, fields: Fields): string | null | undefined {
  const when = field(fields, 'when') ?? null;
  if (when === null || typeof when === 'string') return when;
  report.error(
    'wrong-type',
    [...fields.path, 'when'],
    `'when' of ${fields.name} must be a JSONata expression or null`,
    {
      hint: when === true ? "a rule that always holds has 'when: null'" : undefined,
    },
  );
  return undefined;
}

/** Reads `on: limit`; `undefined` where something else stands there, which is reported. */
export function readOn(report: Report, fields: Fields): Pick<Rule, 'on'> | undefined {
  const on = field(fields, 'on');
  if (on === undefined) return {};
  if (on === 'limit') return { on };
  reportType(report, [...fields.path, 'on'], `'on' of ${fields.name}`, "'limit'", on);
  return undefined;
}

/** Reads what every notation says of where a rule leads. */
export function readTarget(
  report: Report,
  fields: Fields,
  to: string,
): Pick<Rule, 'prompt' | 'location' | 'returnCode'> {
  const prompt = readText(report, fields, 'prompt');
  const location = readText(report, fields, 'location');
  const returnCode = readInteger(report, fields, 'returnCode', returnCodeBounds);
  if (prompt !== undefined && prompt.trim() === '') {
    report.error('empty-prompt', [...fields.path, 'prompt'], `the prompt of ${fields.name} is empty`, {
      hint: 'say what the next role is to do, or leave the key out',
    });
  }
  if (field(fields, 'returnCode') !== undefined && to !== END) {
    report.error(
      'misplaced-return-code',
      [...fields.path, 'returnCode'],
      `${fields.name} does not end the thread, so it has no returnCode`,
      {
        hint: 'only a rule to __end__ ($END in a graph) carries one',
        at: 'key',
      },
    );
  }
  return {
    ...(prompt !== undefined && { prompt }),
    ...(location !== undefined && { location }),
    ...(returnCode !== undefined && { returnCode }),
  };
}
