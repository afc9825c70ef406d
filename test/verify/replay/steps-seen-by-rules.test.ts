import { expect, test } from 'vitest';
import { stepsSeenByRules } from '../../../src/verify/replay.ts';
import { ALL_SEEN, NOTHING_SEEN, type StepsSeen } from '../../../src/expression/analysis/steps-seen.ts';
import { renderTemplate } from '../../../src/expression/template/template.ts';

function seenBy(prompt: string): Promise<StepsSeen> {
  const moderator = [{ from: '__start__', to: '__end__', when: null, prompt }];
  return stepsSeenByRules({ name: 'flow', description: '', roles: {}, moderator });
}

const ONE = { threadId: 't', expr: 'steps.size == 1' };

test.each([
  '{{ steps.size }}',
  '{% assign x = steps | size %}{{ x }}',
  "{{ ['st\\u0065ps'].size }}",
  '{{ threadId | where_exp: "x", "st\\u0065ps.size == 1" | size }}',
  '{{ threadId | where_exp: "x", expr | size }}',
  '{{ threadId | reject_exp: "x", expr | size }}',
  '{{ threadId | has_exp: "x", expr }}',
  '{% assign x = threadId | find_exp: "x", expr %}{{ x }}',
  '{% assign x = threadId | find_index_exp: "x", expr %}{{ x }}',
  '{{ threadId | group_by_exp: "x", expr | map: "name" }}',
])('a template that can name the steps sees all of them: %s', async (template) => {
  const rendered = (count: number): Promise<string> =>
    renderTemplate(template, { ...ONE, steps: Array.from({ length: count }, () => 'a') });
  expect(await rendered(2)).not.toBe(await rendered(1));
  expect(await seenBy(template)).toEqual({ ...ALL_SEEN, newest: 1 });
});

test.each(['steps', '[x]', '{{ _body }} and {{ meta.ok | default: "none" }}'])(
  'another sees the newest alone: %s',
  async (template) => {
    expect(await seenBy(template)).toEqual({ ...NOTHING_SEEN, newest: 1 });
  },
);
