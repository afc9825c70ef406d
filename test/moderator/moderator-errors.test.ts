import { expect, test } from 'vitest';
import { UwfError } from '../../src/errors.ts';
import { CheckFailed, NoRuleMatches, RuleFailed } from '../../src/moderator/moderator-errors.ts';
import type { Rule } from '../../src/workflow/definition.ts';

const rule: Rule = { from: 'writer', to: 'checker', when: '$x' };
const cause = new UwfError('it broke', { code: 'x', kind: 'data', hint: 'mend it' });
const rules: Rule[] = [{ from: 'other', to: 'writer', when: null }, rule, { ...rule, to: 'writer', when: null }];

test.each<[UwfError, object]>([
  [
    new RuleFailed(2, rule, 'prompt', '{{ x }}', 'it renders to nothing', cause),
    {
      code: 'rule-failed',
      kind: 'data',
      message: 'rule 3 (writer -> checker) has a prompt that does not work: it renders to nothing',
      hint: 'mend it',
      cause,
      rule: 2,
      from: 'writer',
      to: 'checker',
      part: 'prompt',
      expression: '{{ x }}',
    },
  ],
  [new RuleFailed(0, rule, 'when', '$x', 'it failed'), { hint: undefined }],
  [new RuleFailed(0, rule, 'when', '$x', 'it failed', new Error('other')), { hint: undefined }],
  [
    new NoRuleMatches('writer', rules),
    {
      code: 'no-rule-matches',
      kind: 'data',
      message: [
        "no rule from 'writer' holds; tried were:",
        '  rule 2 (writer -> checker) when $x',
        '  rule 3 (writer -> writer) when always',
      ].join('\n'),
      hint: "add a rule from 'writer' with 'when: null' as the last of them",
      from: 'writer',
      tried: [1, 2],
    },
  ],
  [new NoRuleMatches('nobody', rules), { message: "there is no rule from 'nobody'", tried: [] }],
  [
    new CheckFailed(1, '$meta.x', cause),
    {
      code: 'check-failed',
      kind: 'data',
      message: 'check 2 of the role does not work: it broke',
      hint: 'mend it',
      cause,
      check: 1,
      expression: '$meta.x',
    },
  ],
])('%s', (error, properties) => {
  expect(error).toMatchObject(properties);
});
