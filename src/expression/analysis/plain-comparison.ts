import { NOTHING_SEEN, type StepsSeen } from './steps-seen.ts';

/** A comparison of one member of a value with a literal. */
export type PlainComparison = {
  /** The meta of the newest step, the thread's start, or the meta of the first or last step of a role. */
  readonly of: 'newest' | 'start' | 'first' | 'last';
  /** The role; '' for others. */
  readonly role: string;
  readonly member: string;
  readonly isNegated: boolean;
  readonly literal: string | number | boolean;
};

const text = /'([^'\\]*)'|"([^"\\]*)"/.source;
const subject = `(\\$steps\\[-1\\]\\.meta|\\$start)|\\$(first|last)\\((?:${text})\\)`;
/** Words that are no names in JSONata are left to it. */
const member = /(?!(?:and|or|in|true|false|null|function)\b)([A-Za-z_]\w*)|`([\w $.:/-]+)`/.source;
const literal = `(?:${text}|(0|[1-9]\\d{0,14})|(true|false))`;
const FORM = new RegExp(`^(?:${subject})\\.(?:${member}) *(!?=) *${literal}$`);

/** Longer expressions are rare, and too long ones are an error. */
const MAX_LENGTH = 1000;

/**
 * Recognises an expression such as `` $steps[-1].meta.`$status` = 'done' ``, `$start.depth = 2` or `$last('coder').tries != 3`, with
 * literals without escapes; `undefined` for any other.
 *
 * A role can have thousands of rules, and parsing each as JSONata takes a tenth of a millisecond and more.
 */
export function plainComparison(source: string): PlainComparison | undefined {
  const match = source.length > MAX_LENGTH ? null : FORM.exec(source);
  if (match === null) return undefined;
  const [, plain, end, role1, role2, name1, name2, operator, text1, text2, number, truth] = match;
  const word = text1 ?? text2 ?? (number === undefined ? truth === 'true' : Number(number));
  return {
    of: plain === undefined ? (end === 'first' ? 'first' : 'last') : plain === '$start' ? 'start' : 'newest',
    role: role1 ?? role2 ?? '',
    member: name1 ?? name2 ?? '',
    isNegated: operator === '!=',
    literal: word,
  };
}

/** What a plain comparison can see of the steps. */
export function seenByComparison({ of }: PlainComparison): StepsSeen {
  if (of === 'start') return NOTHING_SEEN;
  return of === 'newest' ? { ...NOTHING_SEEN, newest: 1 } : { ...NOTHING_SEEN, ends: true };
}
